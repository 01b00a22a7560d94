import { expect, test } from "vitest";
import { changes, lines, near } from "./diff";

test("only what changed is told, with its place", () => {
  expect(changes({ a: 1, b: { c: [1, 2] }, d: 4 }, { a: 1, b: { c: [1, 3, 5] } })).toEqual([
    { path: "b.c.2", from: 2, to: 3 },
    { path: "b.c.3", from: undefined, to: 5 },
    { path: "d", from: 4, to: undefined },
  ]);
  expect(changes({ a: [1] }, { a: [1] })).toEqual([]);
});

test("lines that both share stay", () => {
  expect(lines("a\nb\nc", "a\nx\nc").map((it) => it.how + it.text)).toEqual([" a", "-b", "+x", " c"]);
});

test("very long texts are told whole, and soon", () => {
  const long = Array.from({ length: 5000 }, (_, n) => `line ${n}`).join("\n");
  expect(lines(long, `${long}\nmore`)).toHaveLength(10_001);
});

test("what is the same far from a change is folded", () => {
  const text = Array.from({ length: 20 }, (_, n) => `line ${n}`);
  const found = near(lines(text.join("\n"), text.with(10, "other").join("\n")), 1).map((it) => it.how + it.text);
  expect(found).toEqual(["…9 lines are the same", " line 9", "-line 10", "+other", " line 11", "…8 lines are the same"]);
});

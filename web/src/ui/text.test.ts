import { expect, test } from "vitest";
import { span } from "./time";
import { plain, short, visible } from "./text";
import { yaml } from "../workflows/yaml";

test("what is not seen is named", () => {
  expect(visible("a\u202eb\u200bc\u0007d\u{e0041}")).toBe("a⟨U+202E⟩b⟨U+200B⟩c⟨U+0007⟩d⟨U+E0041⟩");
  expect(visible("tab\tline\nünï 漢字 😀")).toBe("tab\tline\nünï 漢字 😀");
  expect(short("\n one\ntwo")).toBe("one");
});

test("how long things take", () => {
  expect([0.2, 12, 2400, 59_000, 200_000, 7_260_000, 187_200_000].map(span)).toEqual(["0 ms", "12 ms", "2.4 s", "59 s", "3 min 20 s", "2 h 1 min", "2 d 4 h"]);
});

test("a definition is written as people write it", () => {
  expect(yaml({ workflow: "a", n: 1, yes: "no", list: ["x: y", { b: [1], c: "one\ntwo" }], none: [], empty: {} })).toBe('workflow: a\nn: 1\n"yes": "no"\nlist:\n  - "x: y"\n  - b:\n      - 1\n    c: |\n      one\n      two\nnone: []\nempty: {}\n');
});

test("simple values are said in words, others as they are", () => {
  expect([plain({ venue: 1500, per_person: "no" }), plain(["tea", "fruit"]), plain("yes"), plain({ a: { b: 1 } }), plain({}), plain([])]).toEqual(["venue 1500, per person no", "tea, fruit", "yes", '{"a":{"b":1}}', "{}", "[]"]);
  expect(plain({ a: "x\u202ey" })).toBe("a x⟨U+202E⟩y");
});

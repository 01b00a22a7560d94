import { expect, test } from "vitest";
import { Journal, waited, worked, type Entry } from "./journal";
import { idle, scale } from "./scale";

let second = 0;
const entry = (seq: number, type: string, fields: object, at = (second += 1)): Entry => ({ seq, type, run: "run_1", at: new Date(at * 1000).toISOString(), ...fields });

function party(): Journal {
  second = 0;
  const journal = new Journal();
  const all: [string, object][] = [
    ["started", { workflow: "w", input: "hello", by: "ada" }],
    ["said", { message: { role: "user", parts: ["input"] } }],
    ["delivered", { activation: 1, to: "lead" }],
    ["delivered", { activation: 2, to: "venue", caller: { activation: 1, key: "v" } }],
    ["effect", { activation: 2, key: "m1", kind: "model", took: 400, outcome: { reply: { parts: [{ text: "hi" }, { tool_call: { id: "c", name: "find", arguments: {} } }], usage: { input: 10, output: 2, cost: 5 } } } }],
    ["effect", { activation: 2, key: "m1/c", kind: "tool", took: 100, outcome: { ok: { found: 1 } } }],
    ["asked", { activation: 2, request: 1, request_id: "req_1_1", body: { prompt: "?", kind: "input" } }],
    ["decided", { request: 1, by: "bob", decision: { decision: "respond", content: 1 } }],
    ["said", { activation: 2, message: { role: "assistant", author: "venue", parts: [{ effect: "m1" }, { effect: "m1/c" }] } }],
    ["completed", { activation: 2 }],
    ["delivered", { activation: 3, to: "venue", caller: { activation: 1, key: "v2" } }],
  ];
  all.forEach(([type, fields], n) => expect(journal.take(entry(n + 1, type, fields))).toBe(true));
  return journal;
}

test("entries are folded to steps, waits and words", () => {
  const journal = party();
  const venue = journal.step(2);
  if (!venue) throw new Error("there is no step 2");
  expect([journal.visits("venue"), journal.visits("lead"), journal.visits("other")]).toEqual([2, 1, 0]);
  expect([worked(venue), waited(venue, 0)]).toEqual([500, 1000]);
  expect(venue.usage).toEqual({ input: 10, output: 2, cost: 5 });
  expect([journal.standing("venue"), journal.standing("lead"), journal.standing("other")]).toEqual(["running", "calling", "idle"]);
  expect([...journal.ways.entries()]).toEqual([["lead\nvenue", 2]]);
  expect(journal.said[0]?.input).toBe("hello");
  expect(journal.said[1]?.parts).toEqual([{ text: "hi" }, { tool_call: { id: "c", name: "find", arguments: {} } }, { tool_result: { id: "c", content: { found: 1 }, is_error: false } }]);
});

test("an entry is taken once and in its order", () => {
  const journal = party();
  const before = journal.entries.length;
  expect(journal.take(entry(5, "completed", { activation: 1 }))).toBe(false);
  expect(journal.take(entry(13, "completed", { activation: 1 }))).toBe(false);
  expect(journal.take(entry(12, "run_completed", {}))).toBe(true);
  expect(journal.entries).toHaveLength(before + 1);
  expect(journal.standing("venue")).toBe("stopped");
});

test("waiting for a person is a state of its own", () => {
  const journal = party();
  journal.take(entry(12, "asked", { activation: 3, request: 2, request_id: "r", body: { prompt: "?", kind: "input" } }));
  expect(journal.standing("venue")).toBe("waiting");
});

test("time in which only people were waited for is folded", () => {
  const journal = party();
  const [only] = idle(journal, 20_000);
  expect(only).toEqual({ from: 7000, to: 8000 });
  const plain = scale(1000, 11_000, []);
  const folded = scale(1000, 11_000, only ? [only] : []);
  expect([plain(1000), plain(6000), plain(11_000)]).toEqual([0, 0.5, 1]);
  expect(folded(8000) - folded(7000)).toBeLessThan(0.04);
  expect(folded(11_000)).toBeCloseTo(1);
  let last = -1;
  for (let time = 1000; time <= 11_000; time += 50) {
    expect(folded(time)).toBeGreaterThanOrEqual(last);
    last = folded(time);
  }
});

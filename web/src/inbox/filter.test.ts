import { expect, test } from "vitest";
import type { Request } from "../api/types";
import { fits, fromQuery, isSet, NOTHING } from "./filter";

const request = { kind: "approval", workflow: "w", agent_path: ["lead", "budget"], risk: "high", run: "run_1", prompt: "May I spend Five dollars?", created_at: "2026-01-01T00:00:00Z", assignee: "ada" } as Request;
const at = Date.parse("2026-01-01T01:00:00Z");
const is = (filter: Partial<typeof NOTHING>, me = "ada") => fits(request, { ...NOTHING, ...filter }, me, at);

test("what a filter says holds for what comes later too", () => {
  expect([is({}), is({ kind: "approval" }), is({ kind: "input" }), is({ workflow: "w" }), is({ agent: "budget" }), is({ agent: "lead" })]).toEqual([true, true, false, true, true, false]);
  expect([is({ age: "30m" }), is({ age: "1h" }), is({ age: "2h" }), is({ risk: "high" }), is({ risk: "low" })]).toEqual([true, true, false, true, false]);
  expect([is({ assignee: "me" }), is({ assignee: "me" }, "bob"), is({ assignee: "none" }), is({ assignee: "ada" }, "bob")]).toEqual([true, false, false, true]);
  expect([false, true]).toEqual(["2026-01-01T02:00:00Z", "2026-01-01T00:30:00Z"].map((until) => fits({ ...request, deferred_until: until }, NOTHING, "ada", at)));
  expect([true, false]).toEqual(["2026-01-01T02:00:00Z", "2026-01-01T00:30:00Z"].map((until) => fits({ ...request, deferred_until: until }, { ...NOTHING, deferred: "true" }, "ada", at)));
  expect([is({ text: "five spend" }), is({ text: "six" }), is({ run: "run_2" })]).toEqual([true, false, false]);
});

test("it stands in the address", () => {
  const filter = fromQuery(new URLSearchParams("kind=input&text=a+b&other=1"));
  expect(filter).toEqual({ ...NOTHING, kind: "input", text: "a b" });
  expect([isSet(filter), isSet(NOTHING)]).toEqual([true, false]);
});

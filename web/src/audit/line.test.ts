import { expect, test } from "vitest";
import { decides, said } from "./line";

test("what was asked and what came of it is said in words", () => {
  expect(said({ decision: "requested", kind: "tool_call" })).toBe("asked for an approval of a call");
  expect(said({ decision: "executed", tool: "write_file", result: "ok" })).toBe("called write_file: done");
  expect(said({ decision: "executed", tool: "write_file", result: "error", error: "tool_timeout" })).toBe("called write_file: failed (tool_timeout)");
  expect(said({ decision: "notified", channel: "mail", to: ["ann", "bob"] })).toBe("told ann, bob of it by mail");
  expect(said({ decision: "deferred", until: "2026-11-16T09:00:00Z" })).toContain("put it off until");
  expect(said({ decision: "approve", note: "fine" })).toBe("approved (fine)");
  expect(said({ decision: "consumed", tool: "write_file" })).toBe("used an approval up for write_file");
});

test("decisions are told from what else there is", () => {
  for (const word of ["approve", "respond", "expired", "withdrawn", "deny", "consumed", "policy_set", "remembered"]) expect(decides({ decision: word }), word).toBe(true);
  expect(decides({ what: "voted", decision: "reject" })).toBe(true);
  for (const word of ["requested", "asked", "executed", "viewed", "notified", "commented", "run_paused"]) expect(decides({ decision: word }), word).toBe(false);
});

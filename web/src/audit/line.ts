// Lines of the record in words, and which of them are about what was decided.

import { ACTS, told } from "../request/decision";
import { brief, words } from "../ui/text";
import { date, ms } from "../ui/time";

type Fields = Record<string, unknown>;

/** What is asked for, by the kind of the request. */
const KINDS: Record<string, string> = {
  input: "an answer",
  selection: "a choice",
  approval: "an approval",
  plan_review: "a look at a plan",
  step_before: "an approval of a step",
  step_after: "a look at what a step did",
  step_error: "help with a step that failed",
  tool_call: "an approval of a call",
  in_doubt: "a word on whether something was done",
};

const RESULTS: Record<string, string> = { ok: "done", error: "failed", marked: "a person said what came of it" };

const because = (it: Fields) => (it.reason ? ` (${brief(it.reason, 200)})` : "");
const names = (it: unknown) => (Array.isArray(it) ? it.map((name) => brief(name, 60)).join(", ") : "");

/** What is no decision. */
const SAID: Record<string, (it: Fields) => string> = {
  requested: (it) => `asked for ${KINDS[String(it.kind)] ?? words(String(it.kind))}`,
  asked: (it) => `had people asked about ${brief(it.tool, 60)}`,
  executed: (it) => `called ${brief(it.tool, 60)}: ${RESULTS[String(it.result)] ?? words(String(it.result))}${it.error ? ` (${brief(it.error, 60)})` : ""}`,
  viewed: () => "opened it",
  notified: (it) => `told ${names(it.to) || "others"} of it by ${brief(it.channel, 60)}`,
  claimed: () => "looks after it",
  released: () => "looks after it no more",
  assigned: (it) => (it.to ? `gave it to ${brief(it.to, 60)}` : "gave it to nobody"),
  deferred: (it) => `put it off until ${date(ms(String(it.until)))}`,
  commented: () => "commented on it",
  escalated: () => "had others asked",
  withdrawn: (it) => `left no place for it${because(it)}`,
  run_cancelled: (it) => `cancelled the run${because(it)}`,
  run_paused: (it) => `paused the run${because(it)}`,
  run_resumed: () => "let the run go on",
  pruned: () => "removed the run",
  moved_out: () => "moved the run to another store",
  taken_in: () => "took the run in from another store",
};

/** `called write_file: done` */
export function said(decision: Fields): string {
  const say = SAID[String(decision.decision)];
  return say ? say(decision) : told(decision);
}

const DECIDED = new Set([...Object.keys(ACTS), "expired", "withdrawn", "allow", "deny", "consumed", "remembered", "forgotten", "policy_set"]);

/** Whether a line is about a decision: of people, of time, or of the rules; or about the rules themselves. */
export const decides = (decision: Fields) => DECIDED.has(String(decision.decision));

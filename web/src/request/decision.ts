// What a person did with a form, as a decision; and decisions in words.

import type { Decision, DecisionKind, Reach, Request } from "../api/types";
import { brief, plain } from "../ui/text";

export interface Filled {
  content?: unknown;
  value?: unknown;
  remark: string;
  stop: boolean;
  remember: "" | Reach;
}

/** The decision of this kind with what was filled in. */
export function decision(kind: DecisionKind, filled: Filled): Decision {
  const remark = filled.remark.trim() || undefined;
  const remember = filled.remember || undefined;
  switch (kind) {
    case "respond":
      return { decision: kind, content: filled.content };
    case "approve":
      return tidy({ decision: kind, note: remark, remember }) as Decision;
    case "edit":
      return tidy({ decision: kind, value: filled.value, note: remark }) as Decision;
    case "reject":
      return tidy({ decision: kind, reason: remark, then: filled.stop ? "stop" : undefined, remember }) as Decision;
    case "revise":
    case "redo":
    case "retry":
    case "rollback":
      return tidy({ decision: kind, feedback: remark }) as Decision;
    default:
      return tidy({ decision: kind, reason: remark }) as Decision;
  }
}

const tidy = (fields: Record<string, unknown>) => Object.fromEntries(Object.entries(fields).filter(([, it]) => it !== undefined));

/** What the buttons say. */
export const ACTS: Record<DecisionKind, string> = {
  respond: "Send answer",
  approve: "Approve",
  edit: "Approve with changes",
  reject: "Reject",
  revise: "Have it revised",
  redo: "Have it done again",
  retry: "Try again",
  skip: "Skip",
  rollback: "Undo and go back",
  abort: "Abort the run",
};

const DONE: Record<string, string> = {
  respond: "answered",
  approve: "approved",
  edit: "approved with changes",
  reject: "rejected",
  revise: "sent back to be revised",
  redo: "had it done again",
  retry: "had it tried again",
  skip: "skipped it",
  rollback: "had it undone",
  abort: "aborted the run",
  expired: "let it expire",
  reminded: "reminded people",
  consumed: "used an approval up",
  allow: "allowed it",
  deny: "denied it",
  remembered: "had it remembered",
  forgotten: "had it forgotten",
  policy_set: "changed the policy",
  linked: "made a link",
};

type Told = { decision?: unknown; tool?: unknown; what?: unknown; content?: unknown; value?: unknown; note?: unknown; reason?: unknown; feedback?: unknown };

/** `approved with changes: {…} (less, please)` */
export function told(taken: Told): string {
  const done = DONE[String(taken.decision)] ?? String(taken.decision ?? taken.what);
  const what = `${taken.what === "voted" ? "voted: " : ""}${done}${taken.tool ? ` for ${brief(taken.tool, 60)}` : ""}`;
  const value = taken.content ?? taken.value;
  const why = taken.note ?? taken.reason ?? taken.feedback;
  return `${what}${value === undefined ? "" : `: ${plain(value, 200)}`}${why ? ` (${brief(why, 200)})` : ""}`;
}

/** What an approval is about and an edit begins with. */
export function proposal(request: Request): unknown {
  return (request.context as Record<string, unknown> | null)?.proposal;
}

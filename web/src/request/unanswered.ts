// What follows if nobody decides in time, in words.
import type { Unanswered } from "../api/types";

export const unanswered: Record<Unanswered, string> = {
  deny: "denied",
  skip: "skipped",
  pause: "the run is paused",
  abort: "the run ends",
  escalate: "others are asked",
  approve: "approved",
  default: "a default answer counts",
  continue: "it goes on without an answer",
  fail: "it stays failed",
};

// Many decisions at once, in as many calls as the server wants. Each counts for itself.

import { post } from "../api/client";
import type { DecisionKind, Request } from "../api/types";

/** The most that the server takes in one call. */
const MOST = 200;

/** Whether so much can go wrong that it is not decided along with others unless that is meant. */
export const isRisky = (request: Request): boolean => request.risk === "high" || request.risk === "critical";

export interface Left {
  request: Request;
  why: string;
}

type Result = { error?: { message?: string } };

/** Decides all of them so, and says what was not taken. */
export async function decideAll(requests: Request[], kind: DecisionKind, remark: string): Promise<Left[]> {
  const why = remark ? { [kind === "approve" ? "note" : "reason"]: remark } : {};
  const left: Left[] = [];
  for (let from = 0; from < requests.length; from += MOST) {
    const part = requests.slice(from, from + MOST);
    const items = part.map((it) => ({ request: it.id, decision: kind, version: it.version, ...why }));
    const { results } = await post<{ results: Result[] }>("/v1/requests/decisions", { items });
    part.forEach((request, n) => {
      const error = results[n]?.error;
      if (error) left.push({ request, why: error.message ?? "" });
    });
  }
  return left;
}

/** Puts the caller's name on all of them, and says on which it could not. */
export async function claimAll(requests: Request[]): Promise<Left[]> {
  const left: Left[] = [];
  for (const request of requests) {
    try {
      await post(`/v1/requests/${request.id}/claim`);
    } catch (failure) {
      left.push({ request, why: failure instanceof Error ? failure.message : String(failure) });
    }
  }
  return left;
}

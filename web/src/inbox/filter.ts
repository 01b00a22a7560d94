// Which requests are shown. The server finds them; what changes later is held against the same words here.

import type { Request } from "../api/types";

export interface Filter {
  kind: string;
  workflow: string;
  agent: string;
  age: string;
  risk: string;
  assignee: string;
  text: string;
  run: string;
  deferred: string;
}

export const FIELDS = ["kind", "workflow", "agent", "age", "risk", "assignee", "text", "run", "deferred"] as const;
export const NOTHING: Filter = { kind: "", workflow: "", agent: "", age: "", risk: "", assignee: "", text: "", run: "", deferred: "" };

export const fromQuery = (query: URLSearchParams): Filter => Object.fromEntries(FIELDS.map((it) => [it, query.get(it) ?? ""])) as unknown as Filter;
export const isSet = (filter: Filter): boolean => FIELDS.some((it) => filter[it] !== "");

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function fits(request: Request, filter: Filter, me: string, now: number): boolean {
  const [, count = "0", unit = "s"] = /^(\d+)([smhd])$/.exec(filter.age) ?? [];
  const least = Number(count) * (UNITS[unit] ?? 0);
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const prompt = request.prompt.toLowerCase();
  return (
    // What somebody has put off is out of sight, and comes back by itself.
    Boolean(request.deferred_until && Date.parse(request.deferred_until) > now) === (filter.deferred === "true") &&
    (!filter.kind || request.kind === filter.kind) &&
    (!filter.workflow || request.workflow === filter.workflow) &&
    (!filter.agent || request.agent_path.at(-1) === filter.agent) &&
    (!filter.risk || request.risk === filter.risk) &&
    (!filter.run || request.run === filter.run) &&
    (!filter.assignee || (filter.assignee === "none" ? !request.assignee : request.assignee === (filter.assignee === "me" ? me : filter.assignee))) &&
    (!filter.age || now - Date.parse(request.created_at) >= least) &&
    words.every((it) => prompt.includes(it))
  );
}

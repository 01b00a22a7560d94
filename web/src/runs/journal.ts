// A journal, folded to what people look at: steps, what was said, who was asked. Entry by entry, so that a run that goes on
// costs no more than what is new.

import type { DecisionKind, Request } from "../api/types";

export interface Entry {
  seq: number;
  at: string;
  type: string;
  run: string;
  request_id?: string;
  [field: string]: unknown;
}

export interface Usage {
  input: number;
  output: number;
  cost?: number;
}

export interface ToolCall {
  id: string;
  name: string;
  arguments: unknown;
}
export interface ToolResult {
  id: string;
  content: unknown;
  is_error?: boolean;
}
export type Part = { text: string } | { tool_call: ToolCall } | { tool_result: ToolResult } | { effect: string } | "input";
type Outcome = { ok?: unknown; reply?: { parts: Part[]; usage?: Usage; by?: string }; err?: { code: string; message: string } };

export interface Effect {
  seq: number;
  at: number;
  took: number;
  kind: string;
  key: string;
  outcome: Outcome;
}

/** A question, from when it was asked until somebody answered. */
export interface Wait {
  no: number;
  id: string;
  activation: number;
  seq: number;
  asked: number;
  body: Pick<Request, "kind" | "prompt" | "allowed" | "response_schema" | "options" | "context">;
  over?: number;
  overSeq?: number;
  how?: "decided" | "expired" | "withdrawn";
  by?: string;
  decision?: { decision: DecisionKind | string; [field: string]: unknown };
}

export type StepState = "running" | "calling" | "waiting" | "done" | "failed" | "stopped";

/** One executor handling one message. */
export interface Step {
  id: number;
  executor: string;
  visit: number;
  seq: number;
  began: number;
  ended?: number;
  failed?: { code: string; message: string; hint?: string };
  caller?: number;
  from?: number;
  effects: Effect[];
  waits: Wait[];
  usage: Usage;
}

export interface Said {
  seq: number;
  at: number;
  role: string;
  author?: string;
  activation?: number;
  parts: Exclude<Part, { effect: string } | "input">[];
  input?: unknown;
}

const ms = Date.parse;
export const add = (to: Usage, more?: Usage) => {
  to.input += more?.input ?? 0;
  to.output += more?.output ?? 0;
  to.cost = (to.cost ?? 0) + (more?.cost ?? 0);
};

export class Journal {
  entries: Entry[] = [];
  steps = new Map<number, Step>();
  waits = new Map<number, Wait>();
  said: Said[] = [];
  usage: Usage = { input: 0, output: 0, cost: 0 };
  /** Ways that were taken, with how often. */
  ways = new Map<string, number>();
  started?: Entry;
  paused = false;
  end?: Entry;
  calendar = false;
  #visits = new Map<string, number>();
  /** How many steps a step waits for. */
  #called = new Map<number, number>();

  get head(): number {
    return this.entries.at(-1)?.seq ?? 0;
  }

  /** Takes the next entry; one that is known already, or comes too early, is not taken. */
  take(entry: Entry): boolean {
    if (entry.seq !== this.head + 1) return false;
    this.entries.push(entry);
    this.#fold(entry);
    return true;
  }

  step(id: unknown): Step | undefined {
    return this.steps.get(id as number);
  }

  state(step: Step): StepState {
    if (step.failed) return "failed";
    if (step.ended !== undefined) return "done";
    if (this.end) return "stopped";
    if (step.waits.some((it) => it.over === undefined)) return "waiting";
    return this.#called.get(step.id) ? "calling" : "running";
  }

  visits(executor: string): number {
    return this.#visits.get(executor) ?? 0;
  }

  /** Where an executor stands: what is most urgent of its steps. */
  standing(executor: string): StepState | "idle" {
    const states = [...this.steps.values()].filter((it) => it.executor === executor).map((it) => this.state(it));
    for (const state of ["waiting", "running", "calling", "failed", "stopped", "done"] as const) if (states.includes(state)) return state;
    return "idle";
  }

  #open(id: number, executor: string, entry: Entry, more: Partial<Step>) {
    const visit = this.visits(executor) + 1;
    this.#visits.set(executor, visit);
    this.steps.set(id, { id, executor, visit, seq: entry.seq, began: ms(entry.at), effects: [], waits: [], usage: { input: 0, output: 0, cost: 0 }, ...more });
    if (more.caller !== undefined) this.#called.set(more.caller, (this.#called.get(more.caller) ?? 0) + 1);
    const before = this.step(more.caller ?? more.from);
    if (before) {
      const way = `${before.executor}\n${executor}`;
      this.ways.set(way, (this.ways.get(way) ?? 0) + 1);
    }
  }

  #fold(entry: Entry) {
    const at = ms(entry.at);
    const step = this.step(entry.activation);
    switch (entry.type) {
      case "started":
        this.started = entry;
        break;
      case "delivered": {
        const caller = (entry.caller as { activation: number } | undefined)?.activation;
        this.#open(entry.activation as number, String(entry.to), entry, { caller, from: entry.from as number | undefined });
        break;
      }
      case "effect": {
        const outcome = entry.outcome as Outcome;
        const effect: Effect = { seq: entry.seq, at, took: Number(entry.took ?? 0), kind: String(entry.kind), key: String(entry.key), outcome };
        step?.effects.push(effect);
        add(this.usage, outcome.reply?.usage);
        if (step) add(step.usage, outcome.reply?.usage);
        const told = outcome.ok as { uid?: unknown; calendar?: unknown; start?: unknown } | null | undefined;
        if (effect.kind === "tool" && told && typeof told === "object" && told.uid && told.calendar && told.start) this.calendar = true;
        break;
      }
      case "asked": {
        const wait: Wait = { no: entry.request as number, id: entry.request_id ?? "", activation: entry.activation as number, seq: entry.seq, asked: at, body: entry.body as Wait["body"] };
        this.waits.set(wait.no, wait);
        step?.waits.push(wait);
        break;
      }
      case "decided":
      case "expired":
      case "withdrawn": {
        const wait = this.waits.get(entry.request as number);
        if (!wait) break;
        Object.assign(wait, { over: at, overSeq: entry.seq, how: entry.type, by: entry.by, decision: entry.decision });
        break;
      }
      case "said":
        this.#say(entry, at);
        break;
      case "completed":
        if (step) this.#over(step, at);
        for (const next of (entry.next as { activation: number; to: string }[] | undefined) ?? []) this.#open(next.activation, next.to, entry, { from: step?.id });
        break;
      case "failed":
        if (step) this.#over(Object.assign(step, { failed: entry.error }), at);
        break;
      case "paused":
        this.paused = true;
        break;
      case "resumed":
        this.paused = false;
        break;
      case "run_completed":
      case "run_failed":
      case "run_cancelled":
        this.end = entry;
        break;
      default:
        break;
    }
  }

  #over(step: Step, at: number) {
    step.ended = at;
    if (step.caller !== undefined) this.#called.set(step.caller, (this.#called.get(step.caller) ?? 1) - 1);
  }

  #say(entry: Entry, at: number) {
    const message = entry.message as { role: string; author?: string; parts: Part[] };
    const step = this.step(entry.activation);
    const said: Said = { seq: entry.seq, at, role: message.role, author: message.author, activation: entry.activation as number | undefined, parts: [] };
    for (const part of message.parts) {
      if (part === "input") said.input = this.started?.input;
      else if ("effect" in part) {
        const effect = step?.effects.findLast((it) => it.key === part.effect);
        if (effect?.outcome.reply) said.parts.push(...(effect.outcome.reply.parts as Said["parts"]));
        else if (effect) said.parts.push({ tool_result: { id: effect.key.split("/").pop() ?? effect.key, content: effect.outcome.ok ?? effect.outcome.err, is_error: effect.outcome.err !== undefined } });
      } else said.parts.push(part);
    }
    this.said.push(said);
  }
}

/** How long an effect, or all of a step's, took. */
export const worked = (step: Step): number => step.effects.reduce((sum, it) => sum + it.took, 0);
/** How long people took. */
export const waited = (step: Step, now: number): number => step.waits.reduce((sum, it) => sum + ((it.over ?? now) - it.asked), 0);
/** Of a step that is over, from its beginning to its end. */
export const lasted = (step: Step, now: number): number => (step.ended ?? now) - step.began;

export const money = (usage: Usage): string => (usage.cost ? (usage.cost / 1e9).toLocaleString("en", { maximumSignificantDigits: 3 }) : "");

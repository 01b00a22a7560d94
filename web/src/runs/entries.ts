// An entry in one line.

import { told } from "../request/decision";
import { brief, short } from "../ui/text";
import type { Entry, Journal } from "./journal";

type Fields = Record<string, never>;

export function summary(entry: Entry, journal: Journal): string {
  const who = journal.step(entry.activation)?.executor ?? "";
  switch (entry.type) {
    case "started":
      return `${String(entry.workflow)} by ${String(entry.by)}: ${brief(entry.input, 120)}`;
    case "delivered":
      return `to ${String(entry.to)}`;
    case "said": {
      const message = entry.message as { author?: string; role: string; parts: unknown[] };
      const text = message.parts.map((it) => (it as { text?: string }).text ?? "").join(" ");
      return `${message.author ?? message.role}${text.trim() ? `: ${short(text, 140)}` : ""}`;
    }
    case "effect": {
      const outcome = entry.outcome as { ok?: unknown; reply?: { parts: { text?: string; tool_call?: { name: string } }[] }; err?: { message: string } };
      const reply = outcome.reply?.parts.map((it) => it.text ?? (it.tool_call ? `calls ${it.tool_call.name}` : "")).join(" ");
      return `${who}, ${String(entry.kind)}: ${outcome.err ? `failed: ${outcome.err.message}` : short(reply ?? brief(outcome.ok), 140)}`;
    }
    case "asked":
      return `${who}: ${short((entry.body as { prompt: string }).prompt, 140)}`;
    case "decided":
      return `${String(entry.by)} ${told(entry.decision as Fields)}`;
    case "gated":
      return `${String(entry.tool)}: ${String(entry.outcome)}`;
    case "entered":
      return `${String(entry.phase)}${entry.step ? `, step ${String(entry.step)}: ${String(entry.title ?? "")}` : ""}`;
    case "failed":
    case "run_failed":
      return `${who} ${(entry.error as { message?: string } | undefined)?.message ?? ""}`;
    case "completed":
      return who;
    case "paused":
    case "run_cancelled":
      return `by ${String(entry.by)}${entry.reason ? `: ${String(entry.reason)}` : ""}`;
    default:
      return brief(Object.fromEntries(Object.entries(entry).filter(([name]) => !["seq", "at", "type", "run", "activation"].includes(name))), 140).replace(/^\{\}$/, "");
  }
}

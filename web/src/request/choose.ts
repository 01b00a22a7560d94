// Choosing among the answers that a request names.

import type { Request } from "../api/types";
import { choices, kind, resolve, same, type Schema } from "./schema";

export type Option = NonNullable<Request["options"]>[number];

/** More than these are no cards any more. */
const CARDS = 12;

/** The answers to choose from: those of the request, or those that its schema names. */
export function offered(options: Option[] | null | undefined, schema: Schema): Option[] {
  if (options?.length) return options;
  const how = kind(schema, schema);
  const named = how === "choice" ? choices(schema) : how === "choices" ? choices(resolve(schema.items ?? {}, schema)) : undefined;
  return named && named.length <= CARDS ? named : [];
}

/** Whether several of them may be chosen. */
export const choosesSeveral = (options: Option[], schema: Schema): boolean => options.length > 0 && schema.type === "array";

/** The answer once this option was pressed. */
export function chosen(option: Option, several: boolean, content: unknown): unknown {
  if (!several) return option.value;
  const had = Array.isArray(content) ? (content as unknown[]) : [];
  return had.some((it) => same(it, option.value)) ? had.filter((it) => !same(it, option.value)) : [...had, option.value];
}

/** What is wrong with what was chosen. */
export function unchosen(several: boolean, schema: Schema, content: unknown): string | undefined {
  if (!several) return content === undefined ? "choose one" : undefined;
  const count = Array.isArray(content) ? content.length : 0;
  const least = schema.minItems ?? 0;
  if (count < least) return least === 1 ? "choose at least one" : `choose at least ${least}`;
  if (schema.maxItems !== undefined && count > schema.maxItems) return `choose at most ${schema.maxItems}`;
  return undefined;
}

// What a JSON Schema says about a form. The server checks every answer again; this is so that people see it sooner.

export interface Schema {
  [word: string]: unknown;
  $ref?: string;
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
}

export type Kind = "choice" | "choices" | "boolean" | "number" | "text" | "object" | "array" | "json";
export interface Choice {
  value: unknown;
  label: string;
  description?: string;
}

/** The schema itself, where another place of `root` is meant. */
export function resolve(schema: Schema, root: Schema, depth = 0): Schema {
  if (!schema.$ref?.startsWith("#") || depth > 8) return schema;
  let found: unknown = root;
  for (const part of schema.$ref.slice(1).split("/").filter(Boolean)) {
    found = (found as Record<string, unknown> | undefined)?.[decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return found ? resolve({ ...(found as Schema), ...without(schema, "$ref") }, root, depth + 1) : schema;
}

const without = (schema: Schema, word: string) => Object.fromEntries(Object.entries(schema).filter(([name]) => name !== word));

/** The type, without null. */
export const plainType = (schema: Schema): string | undefined => {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((it) => it && it !== "null");
  return types.length === 1 ? types[0] : undefined;
};

export const mayBeNull = (schema: Schema): boolean => Array.isArray(schema.type) && schema.type.includes("null");

/** The answers it names, if it does. */
export function choices(schema: Schema): Choice[] | undefined {
  const label = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  if (schema.enum) return schema.enum.map((value) => ({ value, label: label(value) }));
  const any = schema.oneOf ?? schema.anyOf;
  if (any?.length && any.every((it) => "const" in it)) {
    return any.map((it) => ({ value: it.const, label: it.title ?? label(it.const), description: it.description }));
  }
  return undefined;
}

export function kind(schema: Schema, root: Schema): Kind {
  if (choices(schema)) return "choice";
  const type = plainType(schema) ?? (schema.properties ? "object" : undefined);
  if (type === "boolean") return "boolean";
  if (type === "number" || type === "integer") return "number";
  if (type === "string") return "text";
  if (type === "object" && schema.properties) return "object";
  if (type === "array" && schema.items) return choices(resolve(schema.items, root)) ? "choices" : "array";
  return "json";
}

/** What a form begins with. */
export function initial(schema: Schema, root: Schema): unknown {
  const known = resolve(schema, root);
  if (known.default !== undefined) return structuredClone(known.default);
  if (known.const !== undefined) return known.const;
  switch (kind(known, root)) {
    case "object": {
      const fields = Object.entries(known.properties ?? {}).map(([name, field]) => [name, initial(field, root)] as const);
      return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
    }
    case "choices":
      return [];
    case "array":
      return Array.from({ length: Math.min(known.minItems ?? 0, 20) }, () => initial(known.items ?? {}, root) ?? "");
    case "boolean":
      return false;
    default:
      return undefined;
  }
}

export type Problems = Record<string, string>;

/** What is wrong with a value, by place. */
export function problems(schema: Schema, value: unknown, root = schema, path = "", found: Problems = {}): Problems {
  const known = resolve(schema, root);
  const wrong = (text: string) => (found[path] ??= text);
  const named = choices(known);
  if (named) {
    if (!named.some((it) => same(it.value, value))) wrong("choose one");
    return found;
  }
  if (value === null && mayBeNull(known)) return found;
  switch (kind(known, root)) {
    case "number": {
      const number = value as number;
      if (typeof value !== "number" || Number.isNaN(value)) wrong(value === undefined ? "a number is needed" : "this is not a number");
      else if (plainType(known) === "integer" && !Number.isInteger(number)) wrong("a whole number is needed");
      else if (known.minimum !== undefined && number < known.minimum) wrong(`at least ${known.minimum}`);
      else if (known.maximum !== undefined && number > known.maximum) wrong(`at most ${known.maximum}`);
      else if (known.exclusiveMinimum !== undefined && number <= known.exclusiveMinimum) wrong(`more than ${known.exclusiveMinimum}`);
      else if (known.exclusiveMaximum !== undefined && number >= known.exclusiveMaximum) wrong(`less than ${known.exclusiveMaximum}`);
      break;
    }
    case "text": {
      const text = value;
      if (typeof text !== "string") wrong("an answer is needed");
      else if (known.minLength && [...text].length < known.minLength) wrong(known.minLength === 1 ? "an answer is needed" : `at least ${known.minLength} characters`);
      else if (known.maxLength !== undefined && [...text].length > known.maxLength) wrong(`at most ${known.maxLength} characters`);
      else if (known.pattern && !matches(known.pattern, text)) wrong(`must look like ${known.pattern}`);
      break;
    }
    case "object": {
      const fields = (value ?? {}) as Record<string, unknown>;
      for (const [name, field] of Object.entries(known.properties ?? {})) {
        const missing = fields[name] === undefined;
        if (missing && !known.required?.includes(name)) continue;
        problems(field, fields[name], root, `${path}/${pointer(name)}`, found);
      }
      break;
    }
    case "choices":
    case "array": {
      const items = Array.isArray(value) ? value : [];
      if (items.length < (known.minItems ?? 0)) wrong(`at least ${known.minItems}`);
      if (known.maxItems !== undefined && items.length > known.maxItems) wrong(`at most ${known.maxItems}`);
      items.forEach((item, n) => problems(known.items ?? {}, item, root, `${path}/${n}`, found));
      break;
    }
    default:
      break;
  }
  return found;
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    // The server knows patterns that browsers do not.
    return true;
  }
}

export const pointer = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

export const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** What the server said, by place: `/total: 3 is less than 5`, or `"total" is a required property`. */
export function refused(list: unknown): Problems {
  const found: Problems = {};
  for (const item of Array.isArray(list) ? list : []) {
    const text = String(item);
    const placed = /^(\/[^\s:]*): ([\s\S]*)$/.exec(text);
    const message = placed?.[2] ?? text;
    const missing = /^"([^"]+)" is a required property$/.exec(message);
    const place = (placed?.[1] ?? "") + (missing?.[1] ? `/${pointer(missing[1])}` : "");
    found[place] ??= missing ? "this is needed" : message;
  }
  return found;
}

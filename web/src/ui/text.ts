// Text from agents, tools and files as it may be shown: what is not seen, or turns what is seen around, is named. The
// server does this to what it asks people; here it is done to everything else.

// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

export const visible = (text: string): string =>
  text.replace(HIDDEN, (c) => `⟨U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** The first line, not too long. */
export function short(text: string, most = 120): string {
  const line = visible(text).trim().split("\n")[0] ?? "";
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** A value in a few words. */
export const brief = (value: unknown, most = 120): string => short(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), most);

/** A value as people say it, if it is simple: `venue 1500, catering 900`. */
export function plain(value: unknown, most = 120): string {
  const simple = (it: unknown) => it === null || typeof it !== "object";
  const list = Array.isArray(value) && value.every(simple) ? value.map(String) : undefined;
  const fields = !list && typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every(simple) ? Object.entries(value).map(([name, it]) => `${words(name).toLowerCase()} ${String(it)}`) : undefined;
  const said = list ?? fields;
  return said?.length ? short(said.join(", "), most) : brief(value, most);
}

export const pretty = (value: unknown): string => visible(typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? ""));

/** `plan_review` as people read it. */
export const words = (name: string): string => {
  const text = name.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
};

export const many = (count: number, one: string, several = `${one}s`): string => `${count.toLocaleString("en")} ${count === 1 ? one : several}`;

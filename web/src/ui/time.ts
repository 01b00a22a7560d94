// Times and how long things take, in few characters.

export const ms = (time: string): number => Date.parse(time);

/** `2.4 s`, `3 min 20 s`, `2 d 4 h`. */
export function span(time: number): string {
  if (time < 1) return "0 ms";
  if (time < 1000) return `${Math.round(time)} ms`;
  if (time < 10_000) return `${(time / 1000).toFixed(1)} s`;
  const seconds = Math.round(time / 1000);
  if (seconds < 60) return `${seconds} s`;
  const parts: [number, string][] = [
    [86_400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const at = parts.findIndex(([length]) => seconds >= length);
  const [length, unit] = parts[at] ?? [1, "s"];
  const [smaller, unit2] = parts[at + 1] ?? [1, ""];
  const rest = Math.floor((seconds % length) / smaller);
  return `${Math.floor(seconds / length)} ${unit}${rest && unit2 ? ` ${rest} ${unit2}` : ""}`;
}

/** How long ago, or in how long. */
export const ago = (time: number, now: number): string => (now - time < 5000 && now >= time ? "just now" : now >= time ? `${coarse(now - time)} ago` : `in ${coarse(time - now)}`);

function coarse(time: number): string {
  const minutes = Math.round(time / 60_000);
  if (time < 60_000) return `${Math.round(time / 1000)} s`;
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h`;
  return `${Math.round(minutes / 1440)} d`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

export const hour = (time: number): string => clock.format(time);
export const date = (time: number): string => day.format(time);

// Times to put a request off to.

export interface Later {
  name: string;
  until: number;
}

const HOUR = 3_600_000;
const MORNING = 9;

/** The next morning that is so many days away or more and on this day of the week, if one is said. */
function morning(now: number, days: number, weekday?: number): number {
  const day = new Date(now);
  day.setDate(day.getDate() + days);
  while (weekday !== undefined && day.getDay() !== weekday) day.setDate(day.getDate() + 1);
  day.setHours(MORNING, 0, 0, 0);
  return day.getTime();
}

/** What is offered now; nothing at which nobody could answer any more. */
export function laters(now: number, expires?: number): Later[] {
  const all = [
    { name: "30 minutes", until: now + HOUR / 2 },
    { name: "2 hours", until: now + 2 * HOUR },
    { name: "Tomorrow morning", until: morning(now, 1) },
    { name: "Monday morning", until: morning(now, 1, 1) },
    { name: "A week", until: now + 7 * 24 * HOUR },
  ];
  return all.filter((it, n) => (expires === undefined || it.until < expires) && all.findIndex((other) => other.until === it.until) === n);
}

/** As a field for date and time has it: local, without a zone. */
export function field(time: number): string {
  const at = new Date(time);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

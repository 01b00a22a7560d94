import { expect, test } from "vitest";
import { field, laters } from "./later";

const at = (text: string) => new Date(text).getTime();
const names = (now: string, expires?: string) => laters(at(now), expires === undefined ? undefined : at(expires)).map((it) => `${it.name} ${field(it.until)}`);

test("mornings are at nine, here, and Monday is the next one", () => {
  expect(names("2026-11-14T22:30:00")).toEqual(["30 minutes 2026-11-14T23:00", "2 hours 2026-11-15T00:30", "Tomorrow morning 2026-11-15T09:00", "Monday morning 2026-11-16T09:00", "A week 2026-11-21T22:30"]);
});

test("a time is offered once: on a Sunday tomorrow is Monday", () => {
  expect(names("2026-11-15T12:00:00").filter((it) => it.includes("2026-11-16"))).toEqual(["Tomorrow morning 2026-11-16T09:00"]);
  expect(names("2026-11-16T08:00:00")).toContain("Monday morning 2026-11-23T09:00");
});

test("nothing is offered at which nobody could answer any more", () => {
  expect(names("2026-11-14T22:30:00", "2026-11-14T23:30:00")).toEqual(["30 minutes 2026-11-14T23:00"]);
  expect(names("2026-11-14T22:30:00", "2026-11-14T23:00:00")).toEqual([]);
});

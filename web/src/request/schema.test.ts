import { describe, expect, test } from "vitest";
import { choices, initial, kind, problems, refused, resolve, type Schema } from "./schema";

const trip: Schema = {
  type: "object",
  required: ["where", "people"],
  properties: {
    where: { type: "string", minLength: 2, maxLength: 20 },
    people: { type: "integer", minimum: 1, maximum: 9, default: 2 },
    how: { enum: ["train", "boat"] },
    stops: { type: "array", maxItems: 2, items: { $ref: "#/$defs/stop" } },
    likes: { type: "array", items: { enum: ["sun", "snow"] } },
    note: { type: ["string", "null"] },
  },
  $defs: { stop: { type: "object", required: ["name"], properties: { name: { type: "string", pattern: "^[A-Z]" } } } },
} as Schema;

describe("a form from a schema", () => {
  test("each field is asked for in its own way", () => {
    const of = (name: string) => kind(resolve(trip.properties?.[name] ?? {}, trip), trip);
    expect(["where", "people", "how", "stops", "likes", "note"].map(of)).toEqual(["text", "number", "choice", "array", "choices", "text"]);
    expect(kind({}, {})).toBe("json");
    expect(kind({ type: "boolean" }, {})).toBe("boolean");
  });

  test("it begins with what the schema says", () => {
    expect(initial(trip, trip)).toEqual({ people: 2, stops: [], likes: [] });
    expect(initial({ type: "array", minItems: 1, items: { type: "string" } }, {})).toEqual([""]);
  });

  test("what is wrong is said at its place", () => {
    const value = { where: "A", people: 10, how: "plane", stops: [{ name: "Oslo" }, { name: "bern" }, {}], note: null };
    expect(problems(trip, value)).toEqual({
      "/where": "at least 2 characters",
      "/people": "at most 9",
      "/how": "choose one",
      "/stops": "at most 2",
      "/stops/1/name": "must look like ^[A-Z]",
      "/stops/2/name": "an answer is needed",
    });
    expect(problems(trip, { where: "Rome", people: 1 })).toEqual({});
    expect(problems({ type: "integer" }, 1.5)).toEqual({ "": "a whole number is needed" });
  });

  test("choices may have names of their own", () => {
    expect(choices({ oneOf: [{ const: 1, title: "one" }, { const: 2 }] })).toEqual([
      { value: 1, label: "one", description: undefined },
      { value: 2, label: "2", description: undefined },
    ]);
    expect(choices({ oneOf: [{ type: "string" }] })).toBeUndefined();
  });

  test("what the server refuses is shown at the field", () => {
    expect(refused(['"av" is a required property', '/venue: "x" is not of type "number"', '/stops/0: "name" is a required property', "too large"])).toEqual({
      "/av": "this is needed",
      "/venue": '"x" is not of type "number"',
      "/stops/0/name": "this is needed",
      "": "too large",
    });
  });

  test("a schema that refers to itself does not hang", () => {
    const endless: Schema = { $ref: "#" };
    expect(resolve(endless, endless)).toBeDefined();
  });
});

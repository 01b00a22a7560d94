import { expect, test } from "vitest";
import { draw, HEIGHT, ways, WIDTH } from "./layout";

const nodes = (...names: string[]) => names.map((name) => ({ name, kind: "agent" }));
const edge = (from: string, ...to: string[]) => ({ from: [from], to });

test("a lead that calls others is drawn with a way to each", () => {
  const graph = { start: "lead", executors: nodes("lead", "a", "b", "c", "d"), edges: [] };
  const found = ways(graph, ["a\nlead", "nobody\na"]);
  expect(found.map((it) => `${it.from}>${it.to}`)).toEqual(["lead>a", "lead>b", "lead>c", "lead>d", "a>lead"]);
  const drawing = draw(graph, found);
  expect(drawing.nodes.filter((it) => it.x === 0).map((it) => it.name)).toEqual(["lead"]);
});

test("nothing stands on something else, also in loops", () => {
  const graph = { start: "a", executors: nodes("a", "b", "c", "d", "e"), edges: [edge("a", "b", "c"), edge("b", "d"), edge("c", "d"), edge("d", "a"), edge("d", "d"), edge("d", "e")] };
  const { nodes: placed, width, height, edges } = draw(graph, ways(graph));
  expect(edges.every((it) => it.path.startsWith("M"))).toBe(true);
  for (const one of placed) {
    expect(one.x + WIDTH <= width && one.y + HEIGHT <= height).toBe(true);
    for (const other of placed) if (one !== other) expect(Math.abs(one.x - other.x) >= WIDTH || Math.abs(one.y - other.y) >= HEIGHT).toBe(true);
  }
});

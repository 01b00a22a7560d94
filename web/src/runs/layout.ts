// Where executors stand in a drawing: in layers from the start on; back edges do not count.

export interface Node {
  name: string;
  kind: string;
}
export interface Edge {
  from: string;
  to: string;
}
export interface Placed extends Node {
  x: number;
  y: number;
}
export interface Drawing {
  nodes: Placed[];
  edges: (Edge & { path: string })[];
  width: number;
  height: number;
}

export const WIDTH = 200;
export const HEIGHT = 52;
const GAP = 26;
const LAYER = 66;

interface Graph {
  start: string;
  executors: Node[];
  edges: { from: string[]; to: string[] }[];
}

/** The ways of a graph; a pattern whose lead calls the others has a way to each. */
export function ways(graph: Graph, taken: Iterable<string> = []): Edge[] {
  const known = new Set(graph.executors.map((it) => it.name));
  const found = new Map<string, Edge>();
  const put = (from: string, to: string) => known.has(from) && known.has(to) && found.set(`${from}\n${to}`, { from, to });
  for (const edge of graph.edges) for (const from of edge.from) for (const to of edge.to) put(from, to);
  if (graph.edges.length === 0) for (const { name } of graph.executors) if (name !== graph.start) put(graph.start, name);
  for (const way of taken) {
    const [from = "", to = ""] = way.split("\n");
    put(from, to);
  }
  return [...found.values()];
}

export function draw(graph: Graph, edges: Edge[]): Drawing {
  const layer = new Map<string, number>([[graph.start, 0]]);
  // The longest way from the start, without going round.
  const visit = (name: string, path: ReadonlySet<string>) => {
    for (const { to } of edges.filter((it) => it.from === name && !path.has(it.to))) {
      const depth = (layer.get(name) ?? 0) + 1;
      if ((layer.get(to) ?? -1) >= depth || depth > graph.executors.length) continue;
      layer.set(to, depth);
      visit(to, new Set([...path, to]));
    }
  };
  visit(graph.start, new Set([graph.start]));
  for (const { name } of graph.executors) if (!layer.has(name)) layer.set(name, Math.max(...layer.values()) + 1);
  const layers: Node[][] = [];
  for (const node of graph.executors) (layers[layer.get(node.name) ?? 0] ??= []).push(node);
  const rows = layers.filter(Boolean);
  const most = Math.max(...rows.map((it) => it.length));
  const sideways = most > rows.length || most > 3;
  const [along, across] = sideways ? [WIDTH + LAYER, HEIGHT + GAP] : [HEIGHT + LAYER, WIDTH + GAP];
  const nodes = rows.flatMap((row, n) =>
    row.map((node, m) => {
      const [main, cross] = [n * along, (m + (most - row.length) / 2) * across];
      return sideways ? { ...node, x: main, y: cross } : { ...node, x: cross, y: main };
    }),
  );
  const at = new Map(nodes.map((it) => [it.name, it]));
  const path = ({ from, to }: Edge): string => {
    const [a, b] = [at.get(from), at.get(to)];
    if (!a || !b) return "";
    if (a === b) return `M${a.x + WIDTH - 20} ${a.y} c 6 -26 34 -10 20 ${HEIGHT / 2}`;
    if (sideways) {
      const [x, u] = a.x < b.x ? [a.x + WIDTH, b.x] : a.x > b.x ? [a.x, b.x + WIDTH] : [a.x + WIDTH, b.x + WIDTH];
      const bend = a.x === b.x ? 40 : (u - x) / 2;
      return `M${x} ${a.y + HEIGHT / 2} C${x + bend} ${a.y + HEIGHT / 2} ${u - (a.x === b.x ? -40 : bend)} ${b.y + HEIGHT / 2} ${u} ${b.y + HEIGHT / 2}`;
    }
    const back = a.y >= b.y;
    const [y, v] = back ? [a.y, b.y + HEIGHT] : [a.y + HEIGHT, b.y];
    const aside = back ? WIDTH / 2 - 14 : 0;
    const [x, u] = [a.x + WIDTH / 2 + aside, b.x + WIDTH / 2 + aside];
    const bend = (v - y) / 2;
    return `M${x} ${y} C${x + aside} ${y + bend} ${u + aside} ${v - bend} ${u} ${v}`;
  };
  return {
    nodes,
    edges: edges.map((edge) => ({ ...edge, path: path(edge) })),
    width: Math.max(...nodes.map((it) => it.x)) + WIDTH,
    height: Math.max(...nodes.map((it) => it.y)) + HEIGHT,
  };
}

// What was changed, field by field and line by line.

export interface Change {
  path: string;
  from: unknown;
  to: unknown;
}

const isMap = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

export function changes(from: unknown, to: unknown, path = ""): Change[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return [];
  const step = (name: string) => (path ? `${path}.${name}` : name);
  if (isMap(from) && isMap(to)) {
    return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((name) => changes(from[name], to[name], step(name)));
  }
  if (Array.isArray(from) && Array.isArray(to)) {
    return Array.from({ length: Math.max(from.length, to.length) }, (_, n) => n).flatMap((n) => changes(from[n], to[n], step(String(n + 1))));
  }
  return [{ path, from, to }];
}

export interface Line {
  how: " " | "+" | "-" | "…";
  text: string;
}

const MOST = 400;

/** The lines of two texts, what they share in between. */
export function lines(from: string, to: string): Line[] {
  const [a, b] = [from.split("\n"), to.split("\n")];
  if (a.length > MOST || b.length > MOST) return [...a.map((text) => ({ how: "-", text }) as Line), ...b.map((text) => ({ how: "+", text }) as Line)];
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => longest[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const row = longest[i];
      if (row) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push({ how: " ", text: a[i] ?? "" });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      found.push({ how: "-", text: a[i] ?? "" });
      i += 1;
    } else {
      found.push({ how: "+", text: b[j] ?? "" });
      j += 1;
    }
  }
  return found;
}

/** Only what changed, and a few lines around it. */
export function near(all: Line[], around = 2): Line[] {
  const shown = all.map((_, n) => all.slice(Math.max(0, n - around), n + around + 1).some((it) => it.how !== " "));
  const found: Line[] = [];
  let left = 0;
  const fold = () => {
    if (left) found.push({ how: "…", text: left === 1 ? "1 line is the same" : `${left} lines are the same` });
    left = 0;
  };
  all.forEach((line, n) => {
    if (!shown[n]) left += 1;
    else {
      fold();
      found.push(line);
    }
  });
  fold();
  return found;
}

// The time axis of a run. Stretches in which it only waits for people can be folded, so that what took milliseconds is seen
// beside what took a night.

import type { Journal } from "./journal";

export interface Stretch {
  from: number;
  to: number;
}

const union = (all: Stretch[]): Stretch[] => {
  const sorted = all.filter((it) => it.to > it.from).sort((a, b) => a.from - b.from);
  const found: Stretch[] = [];
  for (const it of sorted) {
    const last = found.at(-1);
    if (last && it.from <= last.to) last.to = Math.max(last.to, it.to);
    else found.push({ ...it });
  }
  return found;
};

const minus = (from: Stretch[], what: Stretch[]): Stretch[] =>
  what.reduce(
    (left, cut) =>
      left.flatMap((it) =>
        cut.to <= it.from || cut.from >= it.to
          ? [it]
          : [
              { from: it.from, to: Math.max(it.from, cut.from) },
              { from: Math.min(it.to, cut.to), to: it.to },
            ].filter((part) => part.to > part.from),
      ),
    from,
  );

/** When the run did nothing but wait for people. */
export function idle(journal: Journal, now: number): Stretch[] {
  const end = journal.end ? Date.parse(journal.end.at) : now;
  const waits = union([...journal.waits.values()].map((it) => ({ from: it.asked, to: Math.min(it.over ?? end, end) })));
  const busy = union([...journal.steps.values()].flatMap((step) => step.effects.map((it) => ({ from: it.at - it.took, to: it.at }))));
  return minus(waits, busy).filter((it) => it.to - it.from > 20);
}

/** Where a moment stands, from 0 to 1; each folded stretch takes a little. */
export function scale(from: number, to: number, folded: Stretch[]): (time: number) => number {
  const FOLD = 0.035;
  const gone = folded.reduce((sum, it) => sum + (it.to - it.from), 0);
  const rest = Math.max(1, to - from - gone);
  const room = Math.max(0.3, 1 - folded.length * FOLD);
  const each = folded.length ? (1 - room) / folded.length : 0;
  return (time) => {
    const at = Math.min(Math.max(time, from), to);
    let worked = at - from;
    let folds = 0;
    for (const it of folded) {
      if (at >= it.to) {
        worked -= it.to - it.from;
        folds += 1;
      } else if (at > it.from) {
        worked -= at - it.from;
        folds += (at - it.from) / (it.to - it.from);
      }
    }
    return (worked / rest) * room + folds * each;
  };
}

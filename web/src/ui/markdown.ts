// Markdown is made HTML by the server, which lets nothing through that could act. Texts are gathered for a moment and asked for together.

import { post } from "../api/client";

const MOST = 400_000;
const KEPT = 2000;
const known = new Map<string, Promise<string>>();
let waiting: { text: string; done: (html: string) => void; failed: (error: unknown) => void }[] = [];

function ask() {
  const all = waiting;
  waiting = [];
  for (let from = 0; from < all.length; ) {
    let size = 0;
    let to = from;
    while (to < all.length && to - from < 200 && (size += all[to]?.text.length ?? 0) < MOST) to += 1;
    const part = all.slice(from, Math.max(to, from + 1));
    from += part.length;
    post<{ html: string[] }>("/v1/markdown", { texts: part.map((it) => it.text) }).then(
      ({ html }) => part.forEach((it, n) => it.done(html[n] ?? "")),
      (error: unknown) => part.forEach((it) => it.failed(error)),
    );
  }
}

export function render(text: string): Promise<string> {
  const had = known.get(text);
  if (had) return had;
  const html = new Promise<string>((done, failed) => {
    if (waiting.push({ text, done, failed }) === 1) setTimeout(ask, 5);
  });
  html.catch(() => known.delete(text));
  if (known.size > KEPT) known.clear();
  known.set(text, html);
  return html;
}

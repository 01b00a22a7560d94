// What somebody has written and not sent. Kept by the browser, so that neither a reload nor a restart of the server loses it.

const PREFIX = "signoff.draft.";
const MOST = 200;

export interface Draft {
  content?: unknown;
  value?: unknown;
  remark?: string;
  editing?: boolean;
}

export function kept(request: string): Draft {
  try {
    return (JSON.parse(localStorage.getItem(PREFIX + request) ?? "{}") as { draft?: Draft }).draft ?? {};
  } catch {
    return {};
  }
}

export function keep(request: string, draft: Draft) {
  const empty = Object.values(draft).every((it) => it === undefined || it === "" || it === false);
  if (empty) return forget(request);
  try {
    localStorage.setItem(PREFIX + request, JSON.stringify({ at: Date.now(), draft }));
    tidy();
  } catch {
    // The browser keeps no more. What is on the page stays there.
  }
}

export const forget = (request: string) => localStorage.removeItem(PREFIX + request);

function tidy() {
  const keys = Object.keys(localStorage).filter((it) => it.startsWith(PREFIX));
  if (keys.length <= MOST) return;
  const age = (key: string) => (JSON.parse(localStorage.getItem(key) ?? "{}") as { at?: number }).at ?? 0;
  const oldest = keys.sort((a, b) => age(a) - age(b))[0];
  if (oldest) localStorage.removeItem(oldest);
}

// Where the page is: each run, step and request has an address. `crates/server/src/web/mod.rs` has the same list.

export type Place =
  | { page: "inbox"; request?: string }
  | { page: "runs" }
  | { page: "run"; run: string; step?: number; entry?: number }
  | { page: "compare"; run: string; other: string }
  | { page: "workflows" }
  | { page: "workflow"; workflow: string }
  | { page: "audit" }
  | { page: "policy" }
  | { page: "nowhere" };

export function place(path: string): Place {
  const [first = "", second, third, fourth] = path.split("/").slice(1).map(decodeURIComponent);
  if (path === "/") return { page: "inbox" };
  if (first === "requests" && second) return { page: "inbox", request: second };
  if (first === "runs" && !second) return { page: "runs" };
  if (first === "runs" && second && third === "steps") return { page: "run", run: second, step: Number(fourth) };
  if (first === "runs" && second && third === "entries") return { page: "run", run: second, entry: Number(fourth) };
  if (first === "runs" && second) return { page: "run", run: second };
  if (first === "compare" && second && third) return { page: "compare", run: second, other: third };
  if (first === "workflows") return second ? { page: "workflow", workflow: second } : { page: "workflows" };
  if (first === "audit") return { page: "audit" };
  if (first === "policy") return { page: "policy" };
  return { page: "nowhere" };
}

class Route {
  path = $state(location.pathname);
  search = $state(location.search);
  readonly at = $derived(place(this.path));
  readonly query = $derived(new URLSearchParams(this.search));

  constructor() {
    addEventListener("popstate", () => this.#read());
  }

  #read() {
    this.path = location.pathname;
    this.search = location.search;
  }

  /** Goes to an address of this page. */
  go(href: string, replace = false) {
    const to = new URL(href, location.href);
    if (to.href === location.href) return;
    const moved = to.pathname !== location.pathname;
    history[replace ? "replaceState" : "pushState"](null, "", to);
    this.#read();
    if (moved) scrollTo(0, 0);
  }

  /** Changes one word of the query and nothing else. */
  set(name: string, value: string | undefined) {
    const query = new URLSearchParams(location.search);
    if (value) query.set(name, value);
    else query.delete(name);
    const text = query.toString();
    this.go(location.pathname + (text ? `?${text}` : ""), true);
  }

  /** Lets links within the page be followed without loading it again. */
  follow(event: MouseEvent) {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.("a");
    const href = link?.getAttribute("href");
    if (!link || !href?.startsWith("/") || link.getAttribute("target") || link.hasAttribute("download")) return;
    event.preventDefault();
    this.go(href);
  }
}

export const route = new Route();

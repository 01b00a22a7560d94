// What waits for people, kept as it changes. One for the whole page.

import { get, query } from "../api/client";
import { listen, type Listening } from "../api/stream";
import type { Request, RequestList } from "../api/types";
import { session } from "../session.svelte";
import { fits, NOTHING, type Filter } from "./filter";

export interface Change {
  change: "asked" | "decided" | "expired" | "cancelled" | "claimed" | "released" | "assigned" | "commented" | "voted" | "reminded" | "deferred" | "reopened";
  request: Request;
}

type Hears = (change: Change) => void;
const FIRST = 100;
const PAGE = 500;

class Inbox {
  /** Those that fit the filter, oldest first. */
  items = $state.raw<Request[]>([]);
  /** How many wait in all. */
  pending = $state(0);
  /** How many are put off. */
  putOff = $state(0);
  loading = $state(true);
  /** How far it has been read, of how many. */
  complete = $state(false);
  live = $state(false);
  error = $state.raw<unknown>();

  #filter: Filter = NOTHING;
  #reading: AbortController | undefined;
  #stream: Listening | undefined;
  #hearing = new Set<Hears>();
  #back = new Set<() => void>();
  #waiting: Change[] = [];
  #gone = new Set<string>();

  /** Begins to listen. */
  open() {
    if (this.#stream) return;
    this.#stream = listen(
      () => "/v1/requests/events",
      {
        request: (data) => this.#hear(data as Change),
        missed: () => void this.read(),
        bye: () => (this.live = false),
      },
      (live) => {
        const back = live && !this.live;
        this.live = live;
        // A stream does not say why it is refused; a question does, if the token is not good any more.
        if (!live) void this.#count();
        if (!back) return;
        // Begin to listen, then read: nothing is missed.
        void this.read();
        for (const told of this.#back) told();
      },
    );
  }

  close() {
    this.#stream?.close();
    this.#stream = undefined;
    this.live = false;
  }

  /** Tells every change, until the returned function is called. */
  hear(hears: Hears): () => void {
    this.#hearing.add(hears);
    return () => this.#hearing.delete(hears);
  }

  /** Tells when the server is back. */
  again(told: () => void): () => void {
    this.#back.add(told);
    return () => this.#back.delete(told);
  }

  show(filter: Filter) {
    this.#filter = filter;
    if (this.live) void this.read();
  }

  /** Reads everything that waits and fits, page by page. */
  async read() {
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    const { signal } = reading;
    const filter = this.#filter;
    this.#gone.clear();
    this.complete = false;
    let cursor: string | undefined;
    let all: Request[] = [];
    try {
      void this.#count();
      do {
        const path = query("/v1/requests", { ...filter, status: "pending", limit: cursor ? PAGE : FIRST, cursor });
        const page = await get<RequestList>(path, signal);
        all = all.concat(page.data);
        const found = all;
        cursor = page.next_cursor ?? undefined;
        // While pages come in, others decide.
        this.items = found.filter((it) => !this.#gone.has(it.id));
        this.loading = false;
        this.error = undefined;
        await new Promise((done) => setTimeout(done, 0));
      } while (cursor && !signal.aborted);
      if (!signal.aborted) this.complete = true;
    } catch (error) {
      if (signal.aborted) return;
      this.loading = false;
      this.error = error;
    }
  }

  async #count() {
    try {
      const count = async (more = "") => (await get<{ count: number }>(`/v1/requests/count?status=pending${more}`)).count;
      [this.pending, this.putOff] = await Promise.all([count(), count("&deferred=true")]);
    } catch {
      // The list says what is wrong.
    }
  }

  /** Takes out what is decided. */
  gone(id: string) {
    this.#gone.add(id);
    if (this.items.some((it) => it.id === id)) this.items = this.items.filter((it) => it.id !== id);
  }

  #hear(change: Change) {
    for (const hears of this.#hearing) hears(change);
    // Many at once are shown together.
    if (this.#waiting.push(change) === 1) setTimeout(() => this.#apply(), 30);
  }

  #apply() {
    const changes = this.#waiting;
    this.#waiting = [];
    let items = this.items;
    const at = new Map(items.map((it, n) => [it.id, n]));
    const out = new Set<string>();
    const added: Request[] = [];
    let copied = false;
    for (const { change, request } of changes) {
      const open = request.status === "pending";
      if (change === "asked") this.pending += 1;
      else if (!open) this.pending = Math.max(0, this.pending - 1);
      const n = at.get(request.id);
      if (!open || !fits(request, this.#filter, session.actor, Date.now())) {
        out.add(request.id);
        if (!open) this.#gone.add(request.id);
      } else if (n !== undefined) {
        if (!copied) items = [...items];
        copied = true;
        items[n] = request;
      } else if (change === "asked" || change === "reopened" || this.complete) {
        added.push(request);
        at.set(request.id, -1);
      }
    }
    if (added.length) items = items.concat(added.filter((it) => !items.some((had) => had.id === it.id)));
    if (out.size) items = items.filter((it) => !out.has(it.id));
    this.items = items;
    void this.#count();
  }
}

export const inbox = new Inbox();

// A run as it goes on: its journal is read, then followed. Entries are numbered, so none is shown twice and none is left out.

import { Refused, get } from "../api/client";
import { listen, type Listening } from "../api/stream";
import type { Run, Workflow } from "../api/types";
import { Journal, type Entry } from "./journal";

const PAGE = 500;

export class Watch {
  readonly id: string;
  readonly journal = new Journal();
  run = $state.raw<Run>();
  workflow = $state.raw<Workflow>();
  /** Changes whenever the journal has grown; read it to be told. */
  version = $state(0);
  error = $state.raw<unknown>();
  live = $state(false);
  /** What models are saying, by agent. */
  saying = $state.raw<Record<string, string>>({});

  #stream: Listening | undefined;
  #later: ReturnType<typeof setTimeout> | undefined;
  #next: Entry[] = [];
  #text = new Map<string, string>();
  #closed = false;

  constructor(id: string) {
    this.id = id;
  }

  async open() {
    try {
      const [run, workflow] = await Promise.all([get<Run>(`/v1/runs/${this.id}`), get<Workflow>(`/v1/runs/${this.id}/workflow`).catch(() => undefined)]);
      this.run = run;
      this.workflow = workflow;
      this.error = undefined;
      await this.#read(run.head);
      // The journal may have grown while it was read, to its end perhaps: then the run is not as it was.
      if (this.journal.head !== run.head) void this.refresh();
      this.#follow();
    } catch (error) {
      this.error = error;
      if (error instanceof Refused && error.status === 0 && !this.#closed) setTimeout(() => void this.open(), 1500);
    }
  }

  close() {
    this.#closed = true;
    this.#stream?.close();
    clearTimeout(this.#later);
  }

  async #read(head: number) {
    while (this.journal.head < head && !this.#closed) {
      const page = await get<{ data: Entry[] }>(`/v1/runs/${this.id}/journal?after=${this.journal.head}&limit=${PAGE}`);
      if (!page.data.length) return;
      for (const entry of page.data) this.journal.take(entry);
      this.version += 1;
    }
  }

  #follow() {
    if (this.journal.end || this.#closed) return;
    this.#stream = listen(
      () => `/v1/runs/${this.id}/events?after=${this.journal.head}`,
      {
        entry: (data) => this.#hear(data as Entry),
        delta: (data) => this.#say(data as { agent: string; text: string }),
        restart: (data) => {
          this.#text.delete((data as { agent: string }).agent);
          this.#soon();
        },
      },
      (live) => (this.live = live),
      () => !this.journal.end,
    );
  }

  #hear(entry: Entry) {
    this.#next.push(entry);
    this.#soon();
  }

  #say({ agent, text }: { agent: string; text: string }) {
    this.#text.set(agent, (this.#text.get(agent) ?? "") + text);
    this.#soon();
  }

  // What comes within a moment is shown together.
  #soon() {
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      const entries = this.#next;
      this.#next = [];
      let grown = false;
      for (const entry of entries) {
        if (!this.journal.take(entry)) continue;
        grown = true;
        const author = (entry.message as { author?: string } | undefined)?.author;
        if (entry.type === "said" && author) this.#text.delete(author);
        if (entry.type === "effect" && entry.kind === "model") this.#text.delete(this.journal.step(entry.activation)?.executor ?? "");
      }
      if (this.journal.end) this.#text.clear();
      this.saying = Object.fromEntries(this.#text);
      if (!grown) return;
      this.version += 1;
      void this.refresh();
    }, 40);
  }

  #asking = false;
  #stale = false;
  /** The run as the server tells it: status, what waits, what it cost. */
  async refresh() {
    if (this.#asking) {
      this.#stale = true;
      return;
    }
    this.#asking = true;
    try {
      do {
        this.#stale = false;
        this.run = await get<Run>(`/v1/runs/${this.id}`);
      } while (this.#stale && !this.#closed);
    } catch {
      // The stream comes back by itself, and then so does this.
    }
    this.#asking = false;
  }
}

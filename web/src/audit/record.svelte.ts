// The record of decisions, from the newest line back. Older ones are read when somebody comes near them or looks for
// something; a record of any length can be looked through.

import { get, query } from "../api/client";
import type { Audit, AuditList } from "../api/types";

const PAGE = 500;

export class Record {
  /** The newest first. */
  lines = $state.raw<Audit[]>([]);
  chain = $state.raw<{ intact: boolean; broken_at?: number | null }>();
  /** Whether the first line was read. */
  complete = $state(false);
  reading = $state(false);
  error = $state.raw<unknown>();

  #cursor: string | undefined;
  #closed = false;

  async open() {
    await this.more();
    try {
      this.chain = await get("/v1/audit/verify");
    } catch (failure) {
      this.error = failure;
    }
  }

  close() {
    this.#closed = true;
  }

  /** Reads the next older lines. */
  async more() {
    if (this.reading || this.complete || this.#closed) return;
    this.reading = true;
    this.error = undefined;
    try {
      const page = await get<AuditList>(query("/v1/audit", { order: "newest", limit: PAGE, cursor: this.#cursor }));
      this.lines = this.lines.concat(page.data);
      this.#cursor = page.next_cursor ?? undefined;
      this.complete = !this.#cursor;
    } catch (failure) {
      this.error = failure;
    }
    this.reading = false;
  }

  /** Reads everything, as long as `wanted` says so. */
  async all(wanted: () => boolean) {
    while (!this.complete && !this.error && !this.#closed && wanted()) {
      await this.more();
      // Others have their turn in between.
      await new Promise((done) => setTimeout(done, 0));
    }
  }
}

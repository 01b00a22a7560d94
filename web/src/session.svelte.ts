// Who sits here.

import { call, get, whenSignedOut } from "./api/client";
import type { Session as Who } from "./api/types";

class Session {
  who = $state<Who>();
  /** Whether somebody must sign in first. */
  needed = $state(false);

  constructor() {
    whenSignedOut(() => (this.needed = true));
  }

  async look() {
    try {
      this.who = await get<Who>("/v1/session");
      this.needed = false;
    } catch (error) {
      if ((error as { status?: number }).status === 401) this.needed = true;
      else setTimeout(() => void this.look(), 1500);
    }
  }

  async signIn(token: string) {
    this.who = await call<Who>("POST", "/v1/session", { token });
    this.needed = false;
  }

  async signOut() {
    await call("DELETE", "/v1/session");
    location.assign("/");
  }

  get actor() {
    return this.who?.actor ?? "";
  }

  /** Whether this one may only look. */
  get looksOnly() {
    return this.who?.roles.includes("viewer") ?? false;
  }

  has(role: string) {
    return this.who?.roles.some((it) => it === role || it === "*") ?? false;
  }
}

export const session = new Session();

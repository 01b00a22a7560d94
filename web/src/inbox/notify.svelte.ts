// Says that something waits, also to people who look elsewhere: in the title, in the icon, and on the desktop if they wish.

import { route } from "../route.svelte";
import { short } from "../ui/text";
import { inbox } from "./inbox.svelte";

const KEY = "signoff.notify";

class Notify {
  on = $state(localStorage.getItem(KEY) === "on" && "Notification" in window && Notification.permission === "granted");
  /** Whether the browser was asked and does not let the page. */
  blocked = $state(false);

  async toggle() {
    if (this.on || !("Notification" in window)) this.on = false;
    else this.on = (await Notification.requestPermission()) === "granted";
    this.blocked = "Notification" in window && Notification.permission === "denied";
    localStorage.setItem(KEY, this.on ? "on" : "off");
  }

  /** What its button says. */
  get says() {
    return this.on ? "Notifies you" : this.blocked ? "Blocked by the browser" : "Notify me";
  }

  /** Tells of what is asked, until the returned function is called. */
  watch(): () => void {
    return inbox.hear(({ change, request }) => {
      if (!this.on || change !== "asked") return;
      const said = new Notification(`${request.agent_path.at(-1) ?? request.workflow} asks`, { body: short(request.prompt, 200), tag: request.id });
      said.onclick = () => {
        focus();
        route.go(`/requests/${request.id}`);
        said.close();
      };
    });
  }
}

export const notify = new Notify();

/** The icon with a number. */
export function mark(count: number) {
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (!link) return;
  const text = count > 99 ? "99+" : String(count);
  const badge = count ? `<circle cx="22" cy="22" r="10" fill="#c2410c"/><text x="22" y="26.5" font-family="sans-serif" font-weight="700" font-size="${text.length > 2 ? 9 : 13}" text-anchor="middle" fill="#fff">${text}</text>` : "";
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2f5fd0"/><path d="M8 17l5.5 5.5L24.5 10" fill="none" stroke="#fff" stroke-width="3.6" stroke-linecap="round" stroke-linejoin="round"/>${badge}</svg>`;
  link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

// Dark, light, or as the system has it.

export type Theme = "system" | "light" | "dark";
const KEY = "signoff.theme";
export const THEMES: Theme[] = ["system", "light", "dark"];

class Look {
  theme = $state<Theme>((localStorage.getItem(KEY) as Theme | null) ?? "system");

  constructor() {
    this.#show();
  }

  set(theme: Theme) {
    this.theme = theme;
    localStorage.setItem(KEY, theme);
    this.#show();
  }

  next() {
    this.set(THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length] ?? "system");
  }

  #show() {
    document.documentElement.dataset.theme = this.theme;
  }
}

export const look = new Look();

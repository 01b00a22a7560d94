// People in front of the page: with a desk or a phone, in light or dark.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { here, TIMEOUT } from "./server.mjs";

let running;
async function browser() {
  const known = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  const places = (process.env.PATH ?? "").split(":").flatMap((at) => known.map((name) => join(at, name)));
  running ??= chromium.launch({ executablePath: process.env.CHROMIUM ?? places.find((it) => existsSync(it)), args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
  return running;
}
export const closeBrowser = async () => (await running)?.close();

export const DESKTOP = { width: 1360, height: 860 };
export const PHONE = { width: 390, height: 844 };
const LOOKS = {
  "desktop light": { size: DESKTOP, theme: "light" },
  "desktop dark": { size: DESKTOP, theme: "dark" },
  "phone light": { size: PHONE, theme: "light" },
  "phone dark": { size: PHONE, theme: "dark" },
};
/** How the tests are looked at: both sizes and both colours. `LOOKS="phone light,desktop dark"` takes others. */
const USUAL = process.env.LOOKS?.split(",") ?? ["desktop light", "phone dark"];
export const DESK = ["desktop light"];
let look = LOOKS["desktop light"];

/** A test for each look; `open` opens pages that look so. */
export function each(name, act, looks = USUAL) {
  for (const it of looks) {
    test(`${name} [${it}]`, async () => {
      look = LOOKS[it];
      await act(look);
    });
  }
}

/** Goes to a page by its link, as a person does; on a phone some are below "More". */
export async function go(page, name) {
  await page.getByRole("navigation").waitFor();
  const link = page.getByRole("navigation").getByRole("link", { name, exact: true });
  if (await link.isVisible()) return link.click();
  await page.getByRole("button", { name: "More" }).click();
  return page.getByRole("group", { name: "More" }).getByRole("link", { name, exact: true }).click();
}

/** Something that is set beside the pages; on a phone below "More". */
export async function setting(page, name) {
  await page.getByRole("navigation").waitFor();
  const button = page.getByRole("button", { name }).filter({ visible: true });
  if (!(await button.count())) await page.getByRole("button", { name: "More" }).click();
  return button.first();
}

/** A filter of the inbox; on a phone they are folded. */
export async function filter(page, label, value) {
  const toggle = page.getByRole("button", { name: /^Filters/ });
  if ((await toggle.isVisible()) && (await toggle.getAttribute("aria-expanded")) === "false") await toggle.click();
  if (label === "Clear") return page.getByRole("button", { name: "Clear" }).click();
  return page.getByLabel(label, { exact: true }).selectOption(value);
}

/** Signs in with a token. */
export async function signIn(page, token) {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** A page in a browser of its own, as another person has it. Whatever the browser complains about fails the test. */
export async function open(server, path = "/", { size = look.size, theme = look.theme, permissions = [], allow = [], ...more } = {}) {
  const context = await (await browser()).newContext({ viewport: size, colorScheme: theme, hasTouch: size.width < 500, isMobile: size.width < 500, permissions, acceptDownloads: true, ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT);
  page.complaints = [];
  const complain = (text) => allow.some((it) => it.test(text)) || page.complaints.push(text);
  page.on("console", (it) => ["error", "warning"].includes(it.type()) && complain(it.text()));
  page.on("pageerror", (error) => complain(String(error)));
  page.on("request", (it) => new URL(it.url()).host !== server.address && !/^(data|blob):/.test(it.url()) && complain(`asks elsewhere: ${it.url()}`));
  // While the page is being written: the files of `web/dist` instead of those in the binary.
  if (process.env.WEB_DIST) {
    const file = (name) => readFileSync(join(here, "../dist", name));
    for (const [name, contentType] of [["app.js", "text/javascript"], ["app.css", "text/css"]]) await page.route(`**/${name}`, (it) => it.fulfill({ contentType, body: file(name) }));
    await page.route("**/*", async (it) => {
      if (it.request().resourceType() !== "document") return it.fallback();
      const response = await it.fetch();
      return response.headers()["content-type"]?.startsWith("text/html") ? it.fulfill({ response, body: file("index.html") }) : it.fulfill({ response });
    });
  }
  await page.goto(server.url + path);
  return page;
}

export async function done(page) {
  assert.deepEqual(page.complaints, [], "what the browser complained about");
  await page.context().close();
}


/** A picture for the documentation, or to look at. */
export async function picture(page, name) {
  const folder = process.env.PICTURES;
  if (!folder) return;
  const phone = page.viewportSize().width === PHONE.width && !name.includes("phone");
  await page.screenshot({ path: join(folder, `${name}${phone ? "-phone" : ""}.png`) });
}

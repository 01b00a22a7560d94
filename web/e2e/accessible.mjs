// What is shown shuts nobody out and fits.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { PHONE } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function violations(session) {
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] }).then((it) => JSON.stringify(it.violations.map((v) => ({ id: v.id, nodes: v.nodes.map((n) => n.html.slice(0, 160) + " :: " + (n.any[0]?.message ?? n.all[0]?.message ?? "")) }))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  return JSON.parse(result.value);
}

/** As it stands now, at the size it has, in both colours: no violation of WCAG A or AA, and nothing beyond the edge. */
export async function accessible(page, what) {
  const { width } = page.viewportSize();
  const theme = await page.evaluate(() => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  // The page's own policy lets no foreign script in; a debugger may.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  for (const colorScheme of [theme === "dark" ? "light" : "dark", theme]) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    // At the end nothing lies below what sticks to the edge.
    await page.evaluate((narrow) => scrollTo(0, narrow ? document.documentElement.scrollHeight : 0), width === PHONE.width);
    const where = `${what}, ${width} px, ${colorScheme}`;
    assert.deepEqual(await violations(session), [], `${where}: violations`);
    await fits(page, where);
  }
  await session.detach();
}

/** Nothing reaches beyond the edge. */
export async function fits(page, what) {
  const { inner, scroll } = await page.evaluate(() => ({ inner: innerWidth, scroll: document.documentElement.scrollWidth }));
  assert(scroll <= inner, `${what}: ${scroll} px in a window of ${inner} px`);
}

// What models, tools and files say is shown, and does nothing.
import assert from "node:assert/strict";
import { after } from "node:test";
import * as flows from "./flows.mjs";
import { closeBrowser, done, each, open, until, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "evil.yaml": flows.evil, "evil.script.yaml": flows.evilScript, "given.yaml": flows.given };
const hacked = (page) => page.evaluate(() => window.hacked);

async function harmless(page, what) {
  await until(async () => (await page.locator(".md.plain").count()) === 0, `${what}: everything is rendered`);
  assert.equal(await hacked(page), undefined, what);
  const bad = await page.evaluate(() => document.querySelectorAll("main script, main img, main iframe, main [onerror], main [onclick], main a[href^='javascript'], main style").length);
  assert.equal(bad, 0, what);
  const text = await page.locator("main").innerText();
  assert(!/[\u202a-\u202e\u2066-\u2069\u0000-\u0008]/.test(text), `${what}: nothing turns text around`);
  return text;
}

each("HTML, scripts, links that act, and characters that hide are text, wherever they are shown", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("evil", "<script>window.hacked=1</script>\u202e");
    const gate = await server.asks(run);
    const page = await open(server, `/requests/${gate}`);
    await page.getByLabel("Change of a file").waitFor();
    const shown = await harmless(page, "a tool call");
    for (const part of ["<img src=x onerror=", "⟨U+202E⟩", "a<img"]) assert(shown.includes(part), `${part}: ${shown}`);
    await page.getByText("Conversation so far").click();
    await page.locator(".message").first().waitFor();
    await harmless(page, "the conversation");
    await server.decide(gate, { decision: "approve" });
    const choice = await server.asks(run);
    await page.goto(`${server.url}/requests/${choice}`);
    await page.getByRole("radio").first().waitFor();
    assert((await harmless(page, "a selection")).includes("<script>"));
    await page.getByRole("radio").first().check();
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.getByText("The run goes on.").waitFor();
    await harmless(page, "the answer");
    assert.equal((await server.rests(run)).status, "completed");
    for (const path of ["/", "/runs", `/runs/${run}`, `/runs/${run}?tab=conversation`, `/runs/${run}?tab=events`, `/runs/${run}?tab=decisions`, `/runs/${run}?tab=timeline`, `/runs/${run}/steps/1`, `/runs/${run}/entries/6`, "/workflows", "/workflows/evil", "/audit"]) {
      await page.goto(server.url + path);
      await page.locator("main h1").first().waitFor({ state: "attached" });
      await page.waitForTimeout(150);
      await page.evaluate(() => document.querySelectorAll("main details").forEach((it) => (it.open = true)));
      await page.waitForTimeout(150);
      await harmless(page, path);
    }
    await done(page);
  });
});

each("whoever asks may have written the form: its words are text as well", async () => {
  await withServer(files, async (server) => {
    const evil = flows.EVIL;
    const schema = { type: "object", required: ["how", "some"], properties: { how: { type: "string", title: `How ${evil}`, description: evil, enum: [evil, "b"] }, some: { type: "array", title: `Some ${evil}`, items: { oneOf: [{ const: evil, title: evil }] } } } };
    const request = await server.asks(await server.start("given", { prompt: `Given ${evil}`, context: { note: evil }, schema }));
    const page = await open(server, `/requests/${request}`);
    await page.locator(".decide select").waitFor();
    const shown = await harmless(page, "a form");
    for (const part of ["How <img", "⟨U+202E⟩", "Some <img"]) assert(shown.includes(part), `${part}: ${shown}`);
    await page.locator(".decide select").selectOption("0");
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.getByText("The run goes on.").waitFor();
    await harmless(page, "the answer");
    // What people say to each other as well, and why they did something.
    const run = await server.start("given", { prompt: "Well?" });
    const other = await server.asks(run);
    await server.call("POST", `/v1/requests/${other}/comment`, { text: evil });
    await server.call("POST", `/v1/requests/${other}/defer`, { for: "1h", note: evil });
    await page.goto(`${server.url}/requests/${other}`);
    await page.getByText("Put off until").waitFor();
    assert((await harmless(page, "notes")).includes("⟨U+202E⟩"));
    await server.call("POST", `/v1/runs/${run}/cancel`, { reason: evil });
    const { value: again } = await server.call("POST", `/v1/runs/${run}/retry`, { reason: evil });
    await page.goto(`${server.url}/runs/${again.id}`);
    await page.getByText("because:").waitFor();
    await harmless(page, "a reason");
    await page.goto(`${server.url}/audit?show=all`);
    await page.locator(".line").filter({ hasText: "cancelled the run" }).waitFor();
    await harmless(page, "the record");
    await done(page);
  });
});

// The journal and what it gave: events, cut connections, killed servers, copy and download. (F15, F22, F24)
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after } from "node:test";
import * as flows from "./flows.mjs";
import { accessible, closeBrowser, done, each, open, PARTY, picture, Place, until, wire, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "relay.yaml": flows.relay, "relay.script.yaml": flows.relayScript };
const tab = (page, name) => page.getByRole("tab", { name }).click();

each("F15: events with filter, raw JSON, copy and download", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("event_planner", PARTY);
    await server.party(run);
    const page = await open(server, `/runs/${run}?tab=events`, { permissions: ["clipboard-read", "clipboard-write"] });
    const journal = await server.journal(run);
    await page.getByText(`${journal.length} events`).waitFor();
    await page.getByLabel("Type", { exact: true }).selectOption("decided");
    await page.getByText("3 events").waitFor();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
    const kept = readFileSync(await file.path(), "utf8").trim().split("\n").map(JSON.parse);
    assert.deepEqual(kept, journal.filter((it) => it.type === "decided"));
    await page.getByLabel("Type", { exact: true }).selectOption("");
    await page.getByLabel("Search in events").fill("green fork");
    await until(async () => (await page.locator(".event").count()) < 15, "fewer events");
    await page.locator(".event").first().click();
    await page.getByRole("heading", { name: /^Entry \d+/ }).waitFor();
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
    assert.deepEqual(copied, journal.find((it) => it.seq === copied.seq));
    await accessible(page, "events");
    await picture(page, "events");
    await done(page);
  });
});

each("F22: a connection that is cut in mid-run loses and doubles nothing on the page", async () => {
  await withServer(files, async (server) => {
    const cable = await wire(server);
    const party = await server.start("event_planner", PARTY);
    await server.asks(party);
    const run = await server.start("relay", "go");
    const page = await open(cable, `/runs/${run}?tab=events`, { allow: [/ERR_/, /Failed to load/] });
    await page.getByRole("link", { name: /started/ }).waitFor();
    for (let n = 0; n < 5; n += 1) {
      await new Promise((go) => setTimeout(go, 250));
      cable.cut();
    }
    await page.getByRole("link", { name: /run_completed/ }).waitFor();
    const whole = (await server.journal(run)).map((it) => it.seq);
    const seen = async () => (await page.locator(".event .no").allInnerTexts()).map(Number);
    assert.deepEqual(await seen(), whole, "each entry once, in order");
    await tab(page, "Conversation");
    await until(async () => (await page.getByText("eleven twelve").count()) === 1, "what was said is there once");
    // While nothing gets through, somebody else goes on.
    await page.goto(`${cable.url}/runs/${party}?tab=events`);
    await page.getByRole("link", { name: /asked/ }).waitFor();
    cable.shut();
    await server.decide(await server.asks(party), { decision: "respond", content: "Union Hall" });
    await server.asks(party);
    cable.restore();
    await until(async () => (await seen()).length === (await server.journal(party)).length, "it catches up");
    assert.deepEqual(await seen(), (await server.journal(party)).map((it) => it.seq));
    cable.close();
    await done(page);
  });
});

each("F22: a server that is killed in mid-run and started again loses and doubles nothing on the page", async () => {
  const place = new Place(files);
  let server = await place.serve();
  try {
    const run = await server.start("relay", "go");
    const page = await open(server, `/runs/${run}?tab=events`, { allow: [/ERR_/, /Failed to load/] });
    await page.getByRole("link", { name: /started/ }).waitFor();
    await server.kill();
    await page.getByText("The server cannot be reached.").waitFor();
    await accessible(page, "a run without a server");
    server = await server.again();
    await page.getByRole("link", { name: /run_completed/ }).waitFor();
    const whole = (await server.journal(run)).map((it) => it.seq);
    const seen = (await page.locator(".event .no").allInnerTexts()).map(Number);
    assert.deepEqual(seen, whole, "each entry once, in order");
    await tab(page, "Conversation");
    await until(async () => (await page.getByText("eleven twelve").count()) === 1, "what was said is there once");
    await done(page);
  } finally {
    server.child.kill("SIGKILL");
    place.remove();
  }
});

each("F24: the plan is rendered, copied, and kept as .md and .ics", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("event_planner", PARTY);
    const over = await server.party(run);
    const page = await open(server, `/runs/${run}`, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.getByRole("heading", { name: "Executive summary" }).waitFor();
    await page.getByRole("cell", { name: "$750" }).waitFor();
    await accessible(page, "an output");
    await picture(page, "run");
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), over.output);
    const [md] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download .md" }).click()]);
    assert.equal(md.suggestedFilename(), "event_planner.md");
    assert.equal(readFileSync(await md.path(), "utf8"), over.output);
    const [ics] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download .ics" }).click()]);
    assert.equal(ics.suggestedFilename(), "events.ics");
    const calendar = readFileSync(await ics.path(), "utf8");
    assert.match(calendar, /BEGIN:VEVENT[\s\S]*SUMMARY:Party for 30 people[\s\S]*END:VEVENT/);
    await done(page);
  });
});

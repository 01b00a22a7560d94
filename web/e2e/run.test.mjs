// Runs as they go on: addresses, graph, what is said, timeline, tokens and cost. (F2, F3, F4, F14)
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after } from "node:test";
import { join } from "node:path";
import * as flows from "./flows.mjs";
import { accessible, closeBrowser, done, each, open, PARTY, picture, Place, root, until, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "ask.yaml": flows.approval, "relay.yaml": flows.relay, "relay.script.yaml": flows.relayScript };
const tab = (page, name) => page.getByRole("tab", { name }).click();
const node = (page, name) => page.getByLabel("Graph").getByRole("link", { name });

each("F2: every run, step, entry and request has an address that opens it", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("event_planner", PARTY);
    const request = await server.asks(run);
    const page = await open(server, `/runs/${run}`, { allow: [/404/] });
    await node(page, /Venue specialist/).click();
    await page.waitForURL(/\/runs\/[^/]+\/steps\/2$/);
    const step = page.url();
    await tab(page, "Events");
    await page.getByRole("link", { name: /asked/ }).click();
    await page.waitForURL(/\/entries\/10/);
    const entry = page.url();
    for (const [url, shows] of [
      [step, page.getByRole("heading", { name: "venue" })],
      [entry, page.getByRole("heading", { name: "Entry 10: asked" })],
      [`${server.url}/runs/${run}`, page.getByRole("heading", { name: PARTY })],
      [`${server.url}/requests/${request}`, page.getByRole("radio", { name: /Union Hall/ })],
      [`${server.url}/workflows/event_planner`, page.getByRole("heading", { name: "event_planner" })],
    ]) {
      await page.goto("about:blank");
      await page.goto(url);
      await shows.waitFor();
    }
    await page.goBack();
    await page.goto(`${server.url}/runs/run_nope`);
    await page.getByText("there is no run `run_nope`").waitFor();
    await accessible(page, "a run that is not there");
    // What is no address of the page is an error in JSON, as before.
    for (const path of ["/nope", "/runs/a/b", "/v1/nope", "/app.map"]) {
      const { status, value } = await server.call("GET", path);
      assert.deepEqual([path, status, value.error.code], [path, 404, "unknown_route"]);
    }
    await done(page);
  });
});

each("F3: the graph lives: working, waiting for a person, done, how often", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("event_planner", PARTY);
    await server.asks(run);
    const page = await open(server, `/runs/${run}`);
    await node(page, "Venue specialist waiting for a person, 1 visit").waitFor();
    await page.getByLabel("Budget analyst not yet").waitFor();
    await accessible(page, "a run that waits");
    await picture(page, "run-waiting");
    await page.getByRole("link", { name: /venue waits for you/ }).click();
    await page.getByRole("radio", { name: /Union Hall/ }).check();
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.getByRole("link", { name: "Watch the run" }).click();
    await node(page, "Venue specialist done, 1 visit").waitFor();
    await node(page, "Budget analyst waiting for a person, 1 visit").waitFor();
    // The same in words, for those who do not see the graph.
    await page.getByRole("row", { name: /budget Waiting for a person/ }).waitFor();
    await server.decide(await server.asks(run), { decision: "approve" });
    await node(page, "Catering coordinator waiting for a person, 1 visit").waitFor();
    const research = await server.start("research_task", "Analyse the sales data and report");
    await page.goto(`${server.url}/runs/${research}`);
    for (let n = 0; n < 4; n += 1) await server.decide(await server.asks(research), { decision: "approve" });
    await page.getByRole("link", { name: /^Controller done, ×2, 2 visits$|^control done, ×2, 2 visits$/i }).waitFor();
    await done(page);
  });
});

each("what a model says is seen as it comes, and once", async () => {
  await withServer(files, async (server) => {
    // Started from the page, so that it is looking from the beginning.
    const page = await open(server, "/workflows/relay");
    await page.getByRole("button", { name: "go", exact: true }).click();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("slow is saying").waitFor();
    const partly = await page.locator(".live .md").innerText();
    assert(partly.length > 0 && !partly.includes("twelve"), partly);
    await page.getByText(/eleven twelve/).waitFor();
    await until(async () => (await page.getByText("is saying").count()) === 0, "it was said");
    await page.getByText("Completed").first().waitFor();
    await tab(page, "Conversation");
    await until(async () => (await page.getByText(/eleven twelve/).count()) === 1, "it is there once");
    await done(page);
  });
});

each("F4, F14: true durations, people's apart and foldable; tokens and cost for each step", async () => {
  const place = new Place(files);
  place.write("../planner.yaml", readFileSync(join(root, "examples/workflows/event_planner/script.yaml"), "utf8"));
  place.write("../signoff.toml", '[models.default]\nprovider = "scripted"\nscript = "planner.yaml"\nprices = { input = 3.0, output = 15.0 }\n');
  let server;
  try {
    server = await place.serve();
    const run = await server.start("event_planner", PARTY);
    await server.asks(run);
    await new Promise((go) => setTimeout(go, 1200));
    await server.party(run);
    const journal = await server.journal(run);
    const page = await open(server, `/runs/${run}?tab=timeline`);
    const line = page.getByLabel("Timeline");
    const venue = await line.getByRole("img", { name: /^venue,/ }).getAttribute("aria-label");
    const took = journal.filter((it) => it.type === "effect" && it.activation === 2).reduce((sum, it) => sum + (it.took ?? 0), 0);
    const [asked, decided] = ["asked", "decided"].map((type) => Date.parse(journal.find((it) => it.type === type).at));
    assert(venue.includes(`${took < 1 ? "0" : took} ms of work`), `${venue}: ${took}`);
    const people = Number(/([\d.]+) s waiting for people/.exec(venue)[1]);
    assert(Math.abs(people - (decided - asked) / 1000) < 0.06, `${venue}: ${decided - asked}`);
    const width = async () => (await line.locator(".bar.human").first().boundingBox()).width;
    const folded = await width();
    await accessible(page, "a timeline");
    await page.getByLabel("Fold time in which only people were waited for").uncheck();
    await until(async () => (await width()) > folded * 5, "people's time is drawn as long as it was");
    await picture(page, "timeline");
    // Tokens and cost: of each step, of each call, of the run.
    const usage = (await server.get(`/v1/runs/${run}`)).usage;
    await page.getByText(`${(usage.input + usage.output).toLocaleString("en")} tokens`).waitFor();
    const cost = usage.cost ?? 0;
    if (cost) await page.getByText(`cost ${(cost / 1e9).toLocaleString("en", { maximumSignificantDigits: 3 })}`).waitFor();
    const mine = journal.filter((it) => it.activation === 2 && it.outcome?.reply).map((it) => it.outcome.reply.usage);
    const sum = (name) => mine.reduce((all, it) => all + it[name], 0).toLocaleString("en");
    await page.getByRole("row", { name: new RegExp(`venue.*${sum("input")} \\+ ${sum("output")}`) }).waitFor();
    const table = page.locator(".scrolls").filter({ has: page.getByText("Steps of the run") });
    const [has, needs] = await table.evaluate((it) => [it.clientWidth, it.scrollWidth]);
    assert(needs <= has, `all columns are seen at once: ${needs} of ${has}`);
    await picture(page, "cost");
    await page.getByRole("row", { name: /venue/ }).getByRole("link").click();
    await page.getByText(`${mine[0].input.toLocaleString("en")} + ${mine[0].output.toLocaleString("en")} tokens`).waitFor();
    await accessible(page, "a step");
    assert(cost > 0, "the model has a price");
    await done(page);
  } finally {
    server?.child.kill("SIGKILL");
    place.remove();
  }
});

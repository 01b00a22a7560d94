// What people do with runs: start, fork and compare, pause, resume, cancel, try again; and the record of it. (F13, F16, F23)
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after } from "node:test";
import * as flows from "./flows.mjs";
import { accessible, closeBrowser, done, each, go, open, PARTY, picture, until, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "ask.yaml": flows.approval, "fails.yaml": flows.fails };
const tab = (page, name) => page.getByRole("tab", { name }).click();

each("F13: an earlier answer is changed in a fork, and the branches stand side by side", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("event_planner", PARTY);
    await server.party(run);
    const page = await open(server, `/runs/${run}?tab=decisions`);
    await accessible(page, "decisions");
    await page.locator(".card", { hasText: "Which one do you prefer?" }).getByRole("button", { name: "Fork with another answer…" }).click();
    await page.getByRole("radio", { name: "Union Hall" }).check();
    await accessible(page, "a fork");
    await page.getByRole("button", { name: "Fork and compare" }).click();
    await page.waitForURL(/\/compare\//);
    const fork = page.url().split("/").pop();
    for (const answer of [{ decision: "approve" }, { decision: "respond", content: "vegan" }]) await server.decide(await server.asks(fork), answer);
    await page.getByRole("row", { name: /Which one do you prefer.*The Glasshouse.*Union Hall/ }).waitFor();
    await page.getByText("Both share their first 10 entries").waitFor();
    await page.getByLabel("Output of the fork").getByText("Union Hall").first().waitFor();
    await page.getByLabel("What differs in the outputs").getByText(/Union Hall/).first().waitFor();
    await accessible(page, "a comparison");
    await picture(page, "compare");
    // The old run is as it was, and knows of its fork.
    assert.match((await server.get(`/v1/runs/${run}`)).output, /The Glasshouse/);
    await page.goto(`${server.url}/runs/${run}`);
    await page.getByRole("link", { name: "fork at entry 10" }).click();
    await page.getByRole("link", { name: "fork at entry 10: compare" }).waitFor();
    // From the journal too: where something was decided, it can be decided otherwise.
    await page.goto(`${server.url}/runs/${run}/entries/11`);
    await page.getByRole("heading", { name: "Entry 11: decided" }).waitFor();
    await page.getByRole("button", { name: "Fork with another answer…" }).click();
    await page.getByRole("dialog").getByRole("radio", { name: "Grand Meridian Ballroom" }).check();
    await page.getByRole("button", { name: "Fork and compare" }).click();
    await page.waitForURL(/\/compare\//);
    await page.getByRole("row", { name: /Which one do you prefer.*The Glasshouse.*Grand Meridian Ballroom/ }).waitFor();
    // Any place of the journal is one to go on from.
    await page.goto(`${server.url}/runs/${run}/entries/25`);
    await page.getByRole("button", { name: "Fork from here" }).click();
    await page.waitForURL((url) => !url.pathname.includes(run));
    await page.getByRole("link", { name: "fork at entry 25: compare" }).waitFor();
    await page.getByRole("link", { name: /catering waits for you/ }).waitFor();
    await done(page);
  });
});

each("F16: pause and cancel with a reason, resume, retry; the record says who, when and what", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("ask");
    const request = await server.asks(run);
    const page = await open(server, `/runs/${run}`);
    await page.getByRole("button", { name: "Pause" }).click();
    await accessible(page, "asking why");
    await page.getByLabel("Why?").fill("lunch");
    await page.getByRole("button", { name: "Pause the run" }).click();
    await page.getByText("Paused", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("Waiting for a person").first().waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByLabel("Why?").fill("not needed");
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await page.getByText("Cancelled").first().waitFor();
    await tab(page, "Events");
    await page.getByRole("link", { name: /paused by local: lunch/ }).waitFor();
    await page.getByRole("link", { name: /run_cancelled by local: not needed/ }).waitFor();
    // Tried again, it asks again; nothing of the old one changes.
    await page.getByRole("button", { name: "Retry" }).click();
    await accessible(page, "why it is tried again");
    await page.getByLabel("Why?").fill("it is needed <b>after</b> all");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.waitForURL((url) => url.pathname.startsWith("/runs/") && !url.pathname.endsWith(run));
    await page.getByText("because: it is needed <b>after</b> all").waitFor();
    await page.getByRole("link", { name: /waits for you: Well\?/ }).click();
    await page.getByLabel("Remark").fill("now it is");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("The run goes on.").waitFor();
    assert.equal((await server.get(`/v1/requests/${request}`)).status, "cancelled");
    await go(page, "Audit");
    await page.getByText("The chain holds.").waitFor();
    const line = page.getByRole("listitem").filter({ hasText: "approved (now it is)" });
    await line.getByText("local").waitFor();
    await accessible(page, "the audit");
    await line.getByRole("button").click();
    await page.getByRole("dialog", { name: /^Line \d+$/ }).getByText('"hash"').waitFor();
    await accessible(page, "a line of the audit");
    await page.keyboard.press("Escape");
    // The newest first; who looks for something finds it, whatever else there is.
    const numbers = (await page.locator(".line .number").allInnerTexts()).map(Number);
    assert.deepEqual(numbers, numbers.toSorted((a, b) => b - a));
    await page.getByLabel("Search in the record").fill("now it is");
    await page.getByText("1 line", { exact: true }).waitFor();
    await page.getByLabel("Search in the record").fill("nobody said this");
    await page.getByText("No line says that.").waitFor();
    await page.getByLabel("Search in the record").fill("");
    // What was asked, and what people did besides deciding, is there for those who want it.
    const asked = page.getByRole("listitem").filter({ hasText: "asked for an approval" });
    assert.equal(await asked.count(), 0);
    await page.getByLabel("Which lines").selectOption("Everything");
    await page.waitForURL((url) => url.searchParams.get("show") === "all");
    await asked.first().getByText("system").waitFor();
    await page.getByRole("listitem").filter({ hasText: "cancelled the run (not needed)" }).waitFor();
    await accessible(page, "all of the audit");
    await page.reload();
    await asked.first().waitFor();
    await page.getByLabel("Which lines").selectOption("Decisions");
    await line.waitFor();
    assert.equal(await asked.count(), 0);
    const [kept] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
    const lines = readFileSync(await kept.path(), "utf8").trim().split("\n").map(JSON.parse);
    assert.deepEqual(lines, (await server.get("/v1/audit?limit=500")).data);
    await picture(page, "audit");
    await done(page);
  });
});

each("F23: a run is started from a form, from a sample, and again with changes", async () => {
  await withServer(files, async (server) => {
    const page = await open(server, "/workflows");
    await page.getByRole("link", { name: "fails" }).waitFor();
    await accessible(page, "workflows");
    await picture(page, "workflows");
    await page.getByRole("link", { name: "fails" }).click();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("a number is needed").waitFor();
    await accessible(page, "a workflow");
    await page.getByRole("button", { name: '{"size":3}' }).click();
    assert.equal(await page.getByLabel("Size").inputValue(), "3");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL(/\/runs\/run_/);
    await page.getByText("Failed").first().waitFor();
    await tab(page, "Output");
    await page.getByRole("link", { name: /^What .* means$/ }).waitFor();
    await accessible(page, "a run that failed");
    await page.getByRole("link", { name: "Run again…" }).click();
    await page.waitForURL(/from=run_/);
    await until(async () => (await page.getByLabel("Size").inputValue()) === "3", "what it was given is there");
    await page.getByLabel("Size").fill("5");
    await page.getByLabel("Size").press("Control+Enter");
    await page.waitForURL(/\/runs\/run_/);
    await page.getByText("Completed").first().waitFor();
    await go(page, "Workflows");
    await page.getByRole("link", { name: "event_planner" }).click();
    await page.getByLabel("Source").getByText("workflow: event_planner").first().waitFor();
    await picture(page, "workflow");
    await done(page);
  });
});

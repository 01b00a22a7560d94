// Every decision that a request may allow: what its button does, and what comes of it. (F7, F9)
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { after } from "node:test";
import { join } from "node:path";
import * as flows from "./flows.mjs";
import { accessible, closeBrowser, done, each, open, picture, Place, until, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "ask.yaml": flows.approval };
const TASK = "Analyse the sales data and report";
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const names = async (page) => (await page.locator(".decide .acts button").allInnerTexts()).map((it) => it.trim());

/** Opens what waits in a run, which must be of this kind. */
async function look(server, page, run, kind) {
  const request = await server.asks(run);
  assert.equal((await server.get(`/v1/requests/${request}`)).kind, kind);
  await page.goto(`${server.url}/requests/${request}`);
  await page.locator(".decide").waitFor();
  return { request, decided: async () => (await server.get(`/v1/requests/${request}`)).decision };
}

each("a plan is sent back with a remark, changed in its steps with a diff, and approved", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("research_task", TASK);
    const page = await open(server);
    let asked = await look(server, page, run, "plan_review");
    assert.deepEqual(await names(page), ["Approve", "Edit…", "Reject", "Have it revised"]);
    await page.getByLabel("Remark").fill("Mind the holidays");
    await press(page, "Have it revised");
    await page.getByText("You sent back to be revised (Mind the holidays)").waitFor();
    assert.equal((await asked.decided()).feedback, "Mind the holidays");
    asked = await look(server, page, run, "plan_review");
    await page.getByText("Check the result").first().waitFor();
    await press(page, "Edit…");
    await page.getByLabel("Title").first().fill("Fetch the sales data");
    await page.getByRole("button", { name: /^Remove Steps 4/ }).click();
    const changes = page.getByLabel("Changes against the proposal");
    await changes.getByText("Fetch the sales data").waitFor();
    await accessible(page, "a plan that is changed");
    await picture(page, "plan-edit");
    await press(page, "Approve with changes");
    await page.getByText(/You approved with changes/).waitFor();
    const { steps } = (await asked.decided()).value;
    assert.deepEqual([steps.length, steps[0].title], [3, "Fetch the sales data"]);
    await done(page);
  });
});

each("a step is undone, done again, and a run aborted only at the second press", async () => {
  const place = new Place({ "work.yaml": flows.work, "work.script.yaml": flows.workScript });
  place.write("../signoff.toml", flows.workConfig);
  mkdirSync(join(place.folder, "workspace"));
  const file = join(place.folder, "workspace/note.txt");
  let server;
  try {
    server = await place.serve();
    const run = await server.start("work", "go");
    const page = await open(server);
    await look(server, page, run, "plan_review");
    await press(page, "Approve");
    await page.getByText("You approved").waitFor();
    let asked = await look(server, page, run, "step_after");
    assert.equal(readFileSync(file, "utf8"), "first");
    assert.deepEqual(await names(page), ["Approve", "Have it done again", "Have it revised", "Undo and go back", "Abort the run"]);
    await page.getByLabel("Remark").fill("not so");
    await press(page, "Undo and go back");
    await page.getByText("You had it undone (not so)").waitFor();
    assert.deepEqual([(await asked.decided()).decision, (await asked.decided()).feedback], ["rollback", "not so"]);
    asked = await look(server, page, run, "step_after");
    assert.equal(existsSync(file), false, "what the step did is undone");
    assert.deepEqual(await names(page), ["Have it done again", "Have it revised", "Skip", "Abort the run"]);
    await accessible(page, "a step that was undone");
    await page.getByLabel("Remark").fill("once more");
    await press(page, "Have it done again");
    await page.getByText("You had it done again (once more)").waitFor();
    await look(server, page, run, "step_after");
    assert.equal(readFileSync(file, "utf8"), "second");
    await press(page, "Abort the run");
    await page.getByRole("button", { name: "Yes, abort the run" }).waitFor();
    assert.equal((await server.get(`/v1/runs/${run}`)).status, "waiting", "one press decides nothing");
    await accessible(page, "before a run is aborted");
    await press(page, "Yes, abort the run");
    await page.getByText("You aborted the run").waitFor();
    assert.notEqual((await server.rests(run)).status, "completed");
    await done(page);
  } finally {
    server?.child.kill("SIGKILL");
    place.remove();
  }
});

each("what failed is tried again with a remark, or skipped; a tool call is answered in its place", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("research_task", TASK);
    for (let n = 0; n < 2; n += 1) await server.decide(await server.asks(run), { decision: "approve" });
    const page = await open(server);
    let asked = await look(server, page, run, "tool_call");
    await page.getByLabel("Remark").fill("not there");
    await press(page, "Reject");
    await page.getByText("You rejected (not there)").waitFor();
    asked = await look(server, page, run, "step_error");
    assert.deepEqual(await names(page), ["Try again", "Skip", "Abort the run"]);
    await accessible(page, "a step that failed");
    await picture(page, "step-error");
    await page.getByLabel("Remark").fill("take another name");
    await press(page, "Try again");
    await page.getByText("You had it tried again (take another name)").waitFor();
    assert.equal((await asked.decided()).feedback, "take another name");
    // Instead of letting the tool act, somebody says what came of it.
    asked = await look(server, page, run, "tool_call");
    await press(page, "Answer in its place…");
    await page.getByLabel("The result in its place").fill('{"path":"elsewhere.csv","written":12}');
    await accessible(page, "a result in its place");
    await press(page, "Send answer");
    await page.getByText(/^You answered: /).waitFor();
    assert.deepEqual((await asked.decided()).content, { path: "elsewhere.csv", written: 12 });
    await until(async () => ["step_after", "step_error"].includes((await server.get(`/v1/requests/${await server.asks(run)}`)).kind), "the step is over");
    await done(page);
  });
});

each("what failed is skipped", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("research_task", TASK);
    for (const decision of [{ decision: "approve" }, { decision: "approve" }, { decision: "reject", reason: "no", then: "continue" }]) await server.decide(await server.asks(run), decision);
    const page = await open(server);
    const asked = await look(server, page, run, "step_error");
    await page.getByLabel("Remark").fill("we know them");
    await press(page, "Skip");
    await page.getByText("You skipped it (we know them)").waitFor();
    assert.deepEqual([(await asked.decided()).decision, (await asked.decided()).reason], ["skip", "we know them"]);
    await done(page);
  });
});

// The inbox: what waits, over all runs, as it changes. (F5, F6, F10, F18)
import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as flows from "./flows.mjs";
import { accessible, closeBrowser, done, open, PARTY, picture, until, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "ask.yaml": flows.approval, "free.yaml": flows.free, "late.yaml": flows.late, "hours.yaml": flows.hours, "three.yaml": flows.three };
const rows = (page) => page.locator(".rows li");
const count = (page, wanted) => until(async () => (await rows(page).count()) === wanted, `${wanted} rows`);

test("F5: all requests of all runs are there, live, counted, filtered and found", async () => {
  await withServer(files, async (server) => {
    const page = await open(server);
    await page.getByText("Nothing waits for you").waitFor();
    assert.equal(await page.title(), "Inbox · Signoff");
    await accessible(page, "an empty inbox");
    const party = await server.start("event_planner", PARTY);
    await server.start("ask");
    await server.start("free");
    // It comes by itself, and is counted in the title, the icon and beside the inbox.
    await count(page, 3);
    await until(async () => (await page.title()) === "(3) Inbox · Signoff", "the title counts");
    assert.match(await page.locator("nav .count").first().innerText(), /^3/);
    assert.match(decodeURIComponent(await page.locator("link[rel=icon]").getAttribute("href")), />3<\/text>/);
    await page.getByLabel("Any kind").selectOption("selection");
    await count(page, 1);
    assert.match(page.url(), /kind=selection/);
    await page.reload();
    await count(page, 1);
    await page.getByRole("button", { name: "Clear" }).click();
    await count(page, 3);
    await page.getByLabel("Any workflow").selectOption("free");
    await count(page, 1);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Any agent").selectOption("venue");
    await count(page, 1);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Any age", { exact: true }).selectOption("1h");
    await page.getByText("Nothing fits").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Search in questions").fill("what think");
    await count(page, 1);
    // A filter holds for what comes later.
    await server.start("ask");
    await server.start("free");
    await count(page, 2);
    await page.goto(`${server.url}/?run=${party}`);
    await count(page, 1);
    // What is decided elsewhere goes away by itself.
    await page.goto(server.url);
    await count(page, 5);
    await server.decide(await server.asks(party), { decision: "respond", content: "Union Hall" });
    await until(async () => (await page.getByText("No budget was given").count()) > 0, "the next question");
    await count(page, 5);
    await picture(page, "inbox");
    await done(page);
  });
});

test("F5: risk and mine", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("research_task", "Analyse the sales data and report");
    for (let n = 0; n < 2; n += 1) await server.decide(await server.asks(run), { decision: "approve" });
    const gated = await server.asks(run);
    await server.start("ask");
    const page = await open(server);
    await count(page, 2);
    await page.getByLabel("Any risk").selectOption("high");
    await count(page, 1);
    await rows(page).first().getByText("high").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Anybody's").selectOption("me");
    await page.getByText("Nothing fits").waitFor();
    await server.call("POST", `/v1/requests/${gated}/claim`, {});
    await count(page, 1);
    await done(page);
  });
});

test("F6: claim, give away, comment, deadline and what follows it", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("hours");
    const request = await server.asks(run);
    const [page, other] = [await open(server, `/requests/${request}`), await open(server)];
    await page.getByText(/1 h 59 min left|2 h left/).waitFor();
    await page.getByText("People", { exact: true }).click();
    await page.getByRole("button", { name: "Claim" }).click();
    await page.getByText("Looked after by").waitFor();
    await other.getByText("mine", { exact: true }).waitFor();
    await page.getByText("Give it to somebody").click();
    await page.getByLabel("Name of a person; empty for nobody").fill("bob");
    await page.getByRole("button", { name: "Give", exact: true }).click();
    await other.locator(".rows").getByText("bob").waitFor();
    await page.getByLabel("Comment for others").fill("Ask <b>Eve</b> first");
    await page.getByRole("button", { name: "Comment" }).click();
    await page.getByText("Ask <b>Eve</b> first").waitFor();
    await accessible(page, "a request with people");
    const late = await server.asks(await server.start("late"));
    await page.goto(`${server.url}/requests/${late}`);
    await page.getByText(/\d s left/).waitFor();
    await page.getByText("Nobody answered in time.").waitFor();
    await page.waitForFunction(() => !document.querySelector(".decide"));
    await accessible(page, "an expired request");
    await done(page);
    await done(other);
  });
});

test("F10: one of several open requests is answered alone", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("three");
    await until(async () => (await server.get(`/v1/runs/${run}`)).pending.length === 3, "three wait");
    const page = await open(server);
    await count(page, 3);
    await page.getByText("Second?").click();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("The run goes on.").waitFor();
    await count(page, 2);
    assert.equal((await server.get(`/v1/runs/${run}`)).pending.length, 2);
    await page.getByRole("button", { name: "Next request" }).click();
    await page.locator(".decide").waitFor();
    await done(page);
  });
});

test("several are decided at once, and what was not taken is said", async () => {
  await withServer(files, async (server) => {
    const runs = [];
    for (let n = 0; n < 4; n += 1) runs.push(await server.start("ask"));
    const first = await server.asks(runs[0]);
    const page = await open(server);
    await count(page, 4);
    await page.getByRole("button", { name: "Choose several" }).click();
    for (const box of await page.locator(".rows input[type=checkbox]").all()) await box.check();
    await page.getByText("4 requests chosen").waitFor();
    await accessible(page, "choosing several");
    await page.getByLabel("Remark for all").fill("all fine");
    await page.getByRole("button", { name: "Approve 4" }).click();
    await page.getByText("Nothing waits for you").waitFor();
    const decided = await server.get(`/v1/requests/${first}`);
    assert.equal(decided.decision.note, "all fine");
    for (const run of runs) assert.equal((await server.rests(run)).status, "completed");
    await done(page);
  });
});

test("F18: the desktop is told, if wished", async () => {
  await withServer(files, async (server) => {
    const page = await open(server, "/", { permissions: ["notifications"] });
    await page.evaluate(() => {
      window.told = [];
      window.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor(title, options) {
          window.told.push([title, options.body]);
          window.last = this;
        }
        close() {}
      };
    });
    await server.start("ask");
    await count(page, 1);
    assert.deepEqual(await page.evaluate(() => window.told), []);
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByRole("button", { name: "Notifies you" }).waitFor();
    const run = await server.start("free");
    await until(async () => (await page.evaluate(() => window.told.length)) === 1, "it is told once");
    assert.deepEqual(await page.evaluate(() => window.told), [["ask asks", "What do you think?"]]);
    await page.evaluate(() => window.last.onclick());
    const request = await server.asks(run);
    await page.waitForURL(`**/requests/${request}`);
    await done(page);
  });
});

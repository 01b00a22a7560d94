// The inbox: what waits, over all runs, as it changes. (F5, F6, F10, F18)
import assert from "node:assert/strict";
import { after } from "node:test";
import * as flows from "./flows.mjs";
import { accessible, closeBrowser, done, each, filter, open, PARTY, picture, setting, until, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "ask.yaml": flows.approval, "free.yaml": flows.free, "late.yaml": flows.late, "hours.yaml": flows.hours, "three.yaml": flows.three };
const rows = (page) => page.locator(".rows li");
const count = (page, wanted) => until(async () => (await rows(page).count()) === wanted, `${wanted} rows`);

each("F5: all requests of all runs are there, live, counted, filtered and found", async () => {
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
    await filter(page, "Any kind", "selection");
    await count(page, 1);
    assert.match(page.url(), /kind=selection/);
    await page.reload();
    await count(page, 1);
    await filter(page, "Clear");
    await count(page, 3);
    await filter(page, "Any workflow", "free");
    await count(page, 1);
    await filter(page, "Clear");
    await filter(page, "Any agent", "venue");
    await count(page, 1);
    await filter(page, "Clear");
    await filter(page, "Any age", "1h");
    await page.getByText("Nothing fits").waitFor();
    await filter(page, "Clear");
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

each("F5: risk and mine", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("research_task", "Analyse the sales data and report");
    for (let n = 0; n < 2; n += 1) await server.decide(await server.asks(run), { decision: "approve" });
    const gated = await server.asks(run);
    await server.start("ask");
    const page = await open(server);
    await count(page, 2);
    await filter(page, "Any risk", "high");
    await count(page, 1);
    await rows(page).first().getByText("high").waitFor();
    await filter(page, "Clear");
    await filter(page, "Anybody's", "me");
    await page.getByText("Nothing fits").waitFor();
    await server.call("POST", `/v1/requests/${gated}/claim`, {});
    await count(page, 1);
    await done(page);
  });
});

each("F6: claim, give away, comment, deadline and what follows it", async () => {
  const cautious = { "cautious.yaml": flows.cautious, "cautious.script.yaml": flows.cautiousScript, "../signoff.toml": '[tools.files]\nroot = "flows"\n' };
  await withServer({ ...files, ...cautious }, async (server) => {
    const run = await server.start("hours");
    const request = await server.asks(run);
    const [page, other] = [await open(server, `/requests/${request}`), await open(server)];
    await page.getByText(/1 h 59 min left|2 h left/).waitFor();
    await page.getByText("If nobody decides by then: it goes on without an answer").waitFor();
    const edit = await server.asks(await server.start("cautious"));
    await other.goto(`${server.url}/requests/${edit}`);
    await other.getByText("If nobody decides by then: denied").waitFor();
    await accessible(other, "a request with a default");
    await picture(other, "default");
    await other.goto(`${server.url}/`);
    await page.getByText("People", { exact: true }).click();
    await page.getByRole("button", { name: "Claim" }).click();
    await page.getByText("Looked after by").waitFor();
    await other.getByText("mine", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Release" }).click();
    await page.getByText("Nobody looks after it yet").waitFor();
    await until(async () => (await other.getByText("mine", { exact: true }).count()) === 0, "it is nobody's");
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
    await page.getByText(/Nobody answered in time.*What followed: it goes on without an answer/).waitFor();
    await page.waitForFunction(() => !document.querySelector(".decide"));
    await accessible(page, "an expired request");
    await done(page);
    await done(other);
  });
});

each("F10: one of several open requests is answered alone", async () => {
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

each("several are decided at once after a look at them, and what was not taken is said", async () => {
  await withServer(files, async (server) => {
    const runs = [];
    for (let n = 0; n < 4; n += 1) runs.push(await server.start("ask"));
    const asked = [];
    for (const run of runs) asked.push(await server.asks(run));
    const page = await open(server);
    await count(page, 4);
    await page.getByRole("button", { name: "Choose several" }).click();
    await page.getByText("0 requests chosen").waitFor();
    await page.getByRole("button", { name: "Choose all 4" }).click();
    await page.getByText("4 requests chosen").waitFor();
    await page.locator(".rows input[type=checkbox]").last().uncheck();
    await page.getByText("3 requests chosen").waitFor();
    await accessible(page, "choosing several");
    await page.getByRole("button", { name: "Approve 3…" }).click();
    const preview = page.getByRole("dialog", { name: "Approve 3 requests?" });
    assert.equal(await preview.getByRole("listitem").count(), 3);
    await accessible(page, "what would be decided");
    await picture(page, "batch");
    await preview.getByLabel("Remark for all").fill("all fine");
    // Somebody else is faster with one of them; the page hears of it, and the one who approves does not see it.
    await page.route("**/v1/requests/decisions", async (it) => {
      await server.decide(asked[1], { decision: "reject", reason: "mine" });
      await it.continue();
    });
    await preview.getByRole("button", { name: "Approve 3", exact: true }).click();
    await page.getByRole("alert").getByText("1 was not taken").waitFor();
    await page.getByRole("alert").getByText(/Well\?: .*decided/).waitFor();
    await accessible(page, "one was not taken");
    await count(page, 1);
    const decided = await server.get(`/v1/requests/${asked[0]}`);
    assert.deepEqual([decided.decision.decision, decided.decision.note], ["approve", "all fine"]);
    assert.equal((await server.get(`/v1/requests/${asked[1]}`)).decision.decision, "reject");
    assert.equal((await server.get(`/v1/requests/${asked[3]}`)).status, "pending");
    await done(page);
  });
});

each("choosing all leaves out what is of high risk, and says how much; each can be chosen by hand", async () => {
  const priced = `${flows.cautious}costs: { write_file: { amount: 0.5, unit: EUR } }\n`;
  await withServer({ ...files, "cautious.yaml": priced, "cautious.script.yaml": flows.cautiousScript }, async (server) => {
    for (let n = 0; n < 2; n += 1) await server.asks(await server.start("ask"));
    const gated = await server.asks(await server.start("cautious"));
    const page = await open(server);
    await count(page, 3);
    await page.getByRole("button", { name: "Choose several" }).click();
    await page.getByText("1 request of high risk left out: choose it by hand.").waitFor();
    await page.getByRole("button", { name: "Choose all 2" }).click();
    await page.getByText("2 requests chosen").waitFor();
    await page.getByText("1 request of high risk left out").waitFor();
    assert.equal(await page.getByRole("button", { name: /^Choose all/ }).count(), 0);
    const box = page.getByRole("checkbox", { name: "Choose: clerk wants to call write_file." });
    assert.equal(await box.isChecked(), false);
    await accessible(page, "one is left out");
    await box.check();
    await page.getByText("3 requests chosen").waitFor();
    assert.equal(await page.getByText("left out").count(), 0);
    await page.getByRole("button", { name: "Approve 3…" }).click();
    const meant = page.getByRole("dialog", { name: "Approve 3 requests?" });
    await meant.getByText("1 of them is of high risk.").waitFor();
    await meant.getByRole("button", { name: "Leave it" }).click();
    await box.uncheck();
    await page.getByRole("button", { name: "Approve 2…" }).click();
    await page.getByRole("dialog", { name: "Approve 2 requests?" }).getByRole("button", { name: "Approve 2", exact: true }).click();
    await count(page, 1);
    assert.equal((await server.get(`/v1/requests/${gated}`)).status, "pending");
    // What it costs is shown with what would happen.
    await page.goto(`${server.url}/requests/${gated}`);
    await page.getByText("0.5 EUR").waitFor();
    await accessible(page, "what a call costs");
    await done(page);
  });
});

each("several are claimed at once", async () => {
  await withServer(files, async (server) => {
    for (let n = 0; n < 3; n += 1) await server.asks(await server.start("ask"));
    const page = await open(server);
    await count(page, 3);
    await page.getByRole("button", { name: "Choose several" }).click();
    await page.getByRole("button", { name: "Choose all 3" }).click();
    await page.getByRole("button", { name: "Claim 3" }).click();
    await until(async () => (await rows(page).getByText("mine", { exact: true }).count()) === 3, "all are mine");
    await done(page);
  });
});

each("a request is put off, listed as that, changed, and comes back by itself", async () => {
  await withServer(files, async (server) => {
    const request = await server.asks(await server.start("hours"));
    const other = await server.asks(await server.start("ask"));
    const page = await open(server, `/requests/${request}`);
    await page.getByRole("button", { name: "Put off…" }).click();
    const dialog = page.getByRole("dialog", { name: "Put it off" });
    // It expires in two hours: nothing later is offered.
    assert.deepEqual(await dialog.getByRole("listitem").locator("strong").allInnerTexts(), ["30 minutes"]);
    await accessible(page, "putting off");
    await picture(page, "put-off");
    await dialog.getByLabel("Why?").fill("after <b>lunch</b>");
    await dialog.getByRole("button", { name: /30 minutes/ }).click();
    await page.getByText(/Put off until .* by you: after <b>lunch<\/b>/).waitFor();
    await accessible(page, "put off");
    await page.getByRole("button", { name: "Next request" }).click();
    await page.waitForURL(`**/requests/${other}`);
    await page.goto(server.url);
    await count(page, 1);
    await page.getByText("1 request put off").waitFor();
    await page.getByRole("link", { name: "Show it" }).click();
    await page.getByText("Put off until later").waitFor();
    await page.getByText("Shall we?").waitFor();
    await count(page, 1);
    await accessible(page, "what is put off");
    await page.getByText("Shall we?").click();
    // Another time takes the place of the first.
    await page.getByRole("button", { name: "Another time…" }).click();
    await server.call("POST", `/v1/requests/${other}/defer`, { for: "2s" });
    await dialog.getByLabel("Another time").fill("2020-01-01T00:00");
    assert.equal(await dialog.getByLabel("Another time").evaluate((it) => it.checkValidity()), false, "not in the past");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("You approved").waitFor();
    await page.goto(server.url);
    await page.getByText("Well?").waitFor();
    const { notes } = await server.get(`/v1/requests/${other}`);
    assert.deepEqual(notes.map((it) => it.what), ["deferred", "reopened"]);
    await page.goto(`${server.url}/?deferred=true`);
    await page.getByText("Nothing is put off").waitFor();
    await accessible(page, "nothing is put off");
    await done(page);
  });
});

each("F18: the desktop is told, if wished and allowed", async () => {
  await withServer(files, async (server) => {
    // Whoever has not said yes is not told, and the page says why not.
    const refused = await open(server);
    await (await setting(refused, "Notify me")).click();
    await refused.getByRole("button", { name: "Blocked by the browser" }).waitFor();
    await accessible(refused, "notifications are blocked");
    await done(refused);
    const page = await open(server, "/", { permissions: ["notifications"] });
    // The browser's own notifications, listened to.
    await page.evaluate(() => {
      window.told = [];
      const own = window.Notification;
      window.Notification = class extends own {
        constructor(title, options) {
          super(title, options);
          this.addEventListener("show", () => window.told.push([this.title, this.body]));
          window.last = this;
        }
      };
    });
    await server.start("ask");
    await count(page, 1);
    assert.deepEqual(await page.evaluate(() => window.told), []);
    await (await setting(page, "Notify me")).click();
    await page.getByRole("button", { name: "Notifies you" }).waitFor();
    const run = await server.start("free");
    await until(async () => (await page.evaluate(() => window.told.length)) === 1, "it is shown once");
    assert.deepEqual(await page.evaluate(() => window.told), [["ask asks", "What do you think?"]]);
    await page.evaluate(() => window.last.dispatchEvent(new Event("click")));
    const request = await server.asks(run);
    await page.waitForURL(`**/requests/${request}`);
    // It is kept, over a reload.
    await page.reload();
    await setting(page, "Notifies you");
    await page.getByRole("button", { name: "Notifies you" }).waitFor();
    await done(page);
  });
});

each("an inbox that cannot be read says so, and is read again", async () => {
  await withServer(files, async (server) => {
    await server.asks(await server.start("ask"));
    const page = await open(server, "/", { allow: [/503/] });
    await count(page, 1);
    await page.route("**/v1/requests?*", (it) => it.fulfill({ status: 503, contentType: "application/json", body: JSON.stringify({ error: { code: "storage", message: "the store cannot be read", hint: "look at the disk" } }) }));
    await filter(page, "Any kind", "approval");
    await page.getByRole("alert").getByText("the store cannot be read").waitFor();
    await accessible(page, "an error");
    await page.unroute("**/v1/requests?*");
    await page.getByRole("button", { name: "Try again" }).click();
    await count(page, 1);
    await done(page);
  });
});

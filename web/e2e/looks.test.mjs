// Every page, wide and narrow, light and dark: nothing sticks out, and nothing shuts anybody out. (F19, F20, F21, F25)
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import * as flows from "./flows.mjs";
import { accessible, closeBrowser, done, each, fits, open, PARTY, PHONE, picture, setting, until, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "ask.yaml": flows.approval, "free.yaml": flows.free, "trip.yaml": flows.trip, "trip.script.yaml": flows.tripScript };

each("F19, F20: all pages fit and are accessible dark and light", async () => {
  await withServer(files, async (server) => {
    const over = await server.start("event_planner", PARTY);
    await server.party(over);
    const waits = await server.start("event_planner", PARTY);
    const selection = await server.asks(waits);
    const research = await server.start("research_task", "Analyse the sales data and report");
    const plan = await server.asks(research);
    const form = await server.asks(await server.start("trip"));
    const { value: fork } = await server.call("POST", `/v1/runs/${over}/fork`, { at: 11, decision: { decision: "respond", content: "Union Hall" } });
    await server.asks(fork.id);
    await server.call("PUT", "/v1/policy", { policy: { gates: [{ name: "before_file_edit" }, { name: "spend", when: 'action.tool == "buy"', ask: "smart" }] } });
    const pages = [
      ["/", "Inbox"],
      [`/requests/${selection}`, "The Glasshouse"],
      [`/requests/${plan}`, "Get the sales data"],
      [`/requests/${form}`, "Abort the run"],
      ["/runs", "event_planner"],
      [`/runs/${waits}`, "waits for you"],
      [`/runs/${over}`, "Executive summary"],
      [`/runs/${over}?tab=timeline`, "waiting for a person"],
      [`/runs/${over}?tab=conversation`, "Said by or to"],
      [`/runs/${over}?tab=decisions`, "Fork with another answer"],
      [`/runs/${over}?tab=events`, "51 events"],
      [`/runs/${over}/steps/2`, "Tokens in / out"],
      [`/compare/${over}/${fork.id}`, "Both share"],
      ["/workflows", "support_handoff"],
      ["/workflows/event_planner", "Samples"],
      ["/audit", "The chain holds."],
      ["/policy", "before_file_edit"],
      ["/?kind=plan_review", "1 request of"],
      ["/?text=nothing+is+like+this", "Nothing fits"],
      ["/runs?status=paused", "No run is paused"],
      ["/workflows/nope", "there is no workflow"],
      ["/requests/req_nope", "there is no request"],
    ];
    const page = await open(server, "/", { allow: [/404/] });
    for (const [path, shows] of pages) {
      await page.goto(server.url + path);
      await page.getByText(shows, { exact: false }).filter({ visible: true }).first().waitFor();
      await until(async () => (await page.locator(".md.plain").count()) === 0, `${path}: everything is rendered`);
      await accessible(page, path);
    }
    await done(page);
  });
});

each("F20: pages on which nothing is yet", async () => {
  await withServer(files, async (server) => {
    const page = await open(server);
    for (const [path, shows] of [["/", "Nothing waits for you"], ["/runs", "No runs yet"], ["/audit", "Nothing was decided yet"], ["/policy", "Nothing is remembered."]]) {
      await page.goto(server.url + path);
      await page.getByText(shows).waitFor();
      await accessible(page, `${path}, empty`);
    }
    // While nothing is known yet, that is said.
    await page.route("**/v1/session", () => {});
    await page.goto(`${server.url}/runs`);
    await page.getByText("Looking for the server…").waitFor();
    await accessible(page, "before the server answers");
    await done(page);
  });
});

test("F19: with one thumb, a request is found, answered, and the next one too", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("event_planner", PARTY);
    await server.asks(run);
    await server.asks(await server.start("ask"));
    const page = await open(server, "/", { size: PHONE });
    await page.getByText("Which one do you prefer?").tap();
    await page.getByText("Union Hall").first().tap();
    await picture(page, "phone-selection");
    const send = page.getByRole("button", { name: "Send answer" });
    const box = await send.boundingBox();
    assert(box.height >= 44 && box.width >= 120, `a thumb fits: ${JSON.stringify(box)}`);
    assert(box.y > PHONE.height / 2 && box.y + box.height < PHONE.height, "it is where the thumb is, without scrolling");
    await send.tap();
    await page.getByText("You answered: Union Hall").waitFor();
    await page.getByRole("button", { name: "Next request" }).tap();
    await page.getByRole("button", { name: "Approve" }).tap();
    await page.getByText("You approved").waitFor();
    await page.getByRole("link", { name: "← Inbox" }).tap();
    await page.getByText("No budget was given").waitFor();
    await page.getByRole("button", { name: "Filters" }).tap();
    await page.getByLabel("Any kind").selectOption("approval");
    await page.getByText("Nothing fits").or(page.getByText("No budget was given")).first().waitFor();
    await accessible(page, "filters on a phone");
    await page.getByRole("button", { name: "More" }).tap();
    await accessible(page, "more on a phone");
    await page.getByRole("link", { name: "Audit" }).tap();
    await page.getByText("The chain holds.").waitFor();
    await fits(page, "the audit");
    await done(page);
  });
});

each("F21: dark, light, or as the system has it", async () => {
  await withServer(files, async (server) => {
    const page = await open(server, "/", { theme: "dark" });
    const colour = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const dark = await colour();
    await page.emulateMedia({ colorScheme: "light" });
    const light = await colour();
    assert.notEqual(dark, light, "as the system");
    const next = async () => (await setting(page, /colours; change/)).click();
    await next();
    assert.equal(await colour(), light);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.equal(await colour(), light, "light, whatever the system says");
    await next();
    assert.equal(await colour(), dark);
    await page.reload();
    await page.getByRole("heading", { name: "Inbox" }).waitFor();
    assert.equal(await colour(), dark, "it is kept");
    await done(page);
  });
});

test("F25: the first visit loads at most 100 kB, the next nearly nothing, and all of it from here", async () => {
  await withServer(files, async (server) => {
    let bytes = 0;
    for (const path of ["/", "/app.js", "/app.css", "/favicon.svg"]) {
      const answer = await fetch(server.url + path, { headers: { "accept-encoding": "gzip" } });
      const body = Buffer.from(await answer.arrayBuffer());
      const { headers } = answer;
      assert.equal(headers.get("content-encoding"), "gzip", path);
      bytes += gzipSync(body, { level: 9 }).length;
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("cache-control"), "no-cache");
      const again = await fetch(server.url + path, { headers: { "if-none-match": headers.get("etag") } });
      assert.equal(again.status, 304, path);
      const policy = headers.get("content-security-policy");
      for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]) assert(policy.includes(rule), policy);
      assert(!/unsafe|\*|https?:/.test(policy), policy);
    }
    assert(bytes <= 100_000, `${bytes} bytes`);
    console.log(`first load: ${bytes} bytes`);
  });
});

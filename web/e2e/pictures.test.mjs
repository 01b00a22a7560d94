// A walk through the page with some things in it; the pictures of the documentation are made here: PICTURES=../docs/pictures
import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as flows from "./flows.mjs";
import { closeBrowser, done, open, PARTY, picture, until, withServer } from "./support.mjs";

after(closeBrowser);
const SIZE = { width: 1240, height: 760 };

test("a day at the page", async () => {
  await withServer({ "hours.yaml": flows.hours }, async (server) => {
    const research = await server.start("research_task", "Analyse the sales data and report");
    for (let n = 0; n < 2; n += 1) await server.decide(await server.asks(research), { decision: "approve" });
    const support = await server.start("support_handoff", "I need help with order 12345. I want a replacement and need to know when it will arrive.");
    await server.asks(support);
    await server.asks(await server.start("hours", "x"));
    const run = await server.start("event_planner", PARTY);
    const venue = await server.asks(run);
    const page = await open(server, `/requests/${venue}`, { size: SIZE });
    await page.getByRole("radio", { name: /The Glasshouse/ }).check();
    await until(async () => (await page.locator(".rows li").count()) === 4, "four wait");
    await picture(page, "web-inbox");
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.getByText("The run goes on.").waitFor();
    await page.goto(`${server.url}/requests/${await server.asks(run)}`);
    await page.getByRole("button", { name: "Edit…" }).click();
    await page.getByLabel("Catering").fill("900");
    await page.getByLabel("Contingency").fill("210");
    const changes = page.getByLabel("Changes against the proposal");
    await changes.scrollIntoViewIfNeeded();
    await picture(page, "web-edit");
    await page.getByRole("button", { name: "Approve with changes" }).click();
    await page.getByText("The run goes on.").waitFor();
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto(`${server.url}/runs/${run}`);
    await page.getByText("catering waits for you").waitFor();
    await until(async () => (await page.locator(".md.plain").count()) === 0, "it is rendered");
    await picture(page, "web-run");
    await page.emulateMedia({ colorScheme: "light" });
    await server.decide(await server.asks(run), { decision: "respond", content: "vegan" });
    assert.equal((await server.rests(run)).status, "completed");
    const { value: fork } = await server.call("POST", `/v1/runs/${run}/fork`, { at: 11, decision: { decision: "respond", content: "Union Hall" } });
    for (const answer of [{ decision: "approve" }, { decision: "respond", content: "vegan" }]) await server.decide(await server.asks(fork.id), answer);
    await page.goto(`${server.url}/compare/${run}/${fork.id}`);
    await page.getByLabel("What differs in the outputs").waitFor();
    await picture(page, "web-compare");
    await done(page);
  });
});

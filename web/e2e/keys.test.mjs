// Everything by key. (F17)
import assert from "node:assert/strict";
import { after } from "node:test";
import * as flows from "./flows.mjs";
import { accessible, closeBrowser, DESK, done, each, open, PARTY, picture, until, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "ask.yaml": flows.approval, "free.yaml": flows.free };

each("F17: j, k, Enter, 1–9, a, d, Ctrl+Enter, x, /, Escape", async () => {
  await withServer(files, async (server) => {
    const party = await server.start("event_planner", PARTY);
    const asked = [await server.asks(party)];
    for (const workflow of ["ask", "ask", "free"]) asked.push(await server.asks(await server.start(workflow)));
    const page = await open(server);
    const at = (n) => page.waitForURL(`**/requests/${asked[n]}`);
    const answered = async (n) => (await server.get(`/v1/requests/${asked[n]}`)).decision;
    await page.getByText("Which one do you prefer?").waitFor();
    await page.keyboard.press("j");
    await at(0);
    await page.keyboard.press("j");
    await at(1);
    await page.keyboard.press("k");
    await at(0);
    await page.getByRole("radio").first().waitFor();
    await page.keyboard.press("2");
    assert.equal(await page.getByRole("radio", { name: /The Glasshouse/ }).isChecked(), true);
    await page.keyboard.press("Control+Enter");
    await page.getByText("You answered: The Glasshouse").waitFor();
    assert.equal((await answered(0)).content, "The Glasshouse");
    // Enter goes on to what is next.
    await page.keyboard.press("Enter");
    await at(1);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await page.keyboard.press("a");
    assert.equal(await answered(1), undefined, "one key alone decides nothing");
    await page.keyboard.press("Enter");
    await page.getByText("You approved").waitFor();
    await page.keyboard.press("Enter");
    await at(2);
    await page.getByRole("button", { name: "Reject" }).waitFor();
    await page.keyboard.press("d");
    await page.keyboard.press("Enter");
    await page.getByText("You rejected").waitFor();
    assert.equal((await answered(2)).decision, "reject");
    await page.keyboard.press("Enter");
    await at(3);
    // While somebody writes, letters are letters.
    await page.getByLabel("Your answer").last().fill("");
    await page.keyboard.type("jka? d1");
    assert.equal(await page.getByLabel("Your answer").last().inputValue(), "jka? d1");
    assert(page.url().endsWith(asked[3]));
    await page.keyboard.press("Control+Enter");
    await page.getByText("You answered: jka? d1").waitFor();
    await page.keyboard.press("Escape");
    await page.waitForURL(`${server.url}/`);
    await page.keyboard.press("/");
    await page.keyboard.type("budget");
    await until(async () => page.url().includes("text=budget"), "it searches");
    await page.keyboard.press("Escape");
    await page.locator("h1").first().click();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("1 request chosen").waitFor();
    await done(page);
  });
}, DESK);

each("F17: the palette goes everywhere, and ? says which keys there are", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("ask");
    await server.asks(run);
    const page = await open(server);
    await page.getByText("Well?").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await accessible(page, "the keys");
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: /Policy/ }).waitFor();
    await accessible(page, "the palette");
    await picture(page, "palette");
    await page.keyboard.type("policy");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${server.url}/policy`);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("start event");
    await page.getByRole("option", { name: /event_planner/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${server.url}/workflows/event_planner`);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("well");
    await page.getByRole("option", { name: /Well\?/ }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/requests\//);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("dark");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await done(page);
  });
}, DESK);

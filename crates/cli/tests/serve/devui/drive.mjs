// A person at the page of DevUI: what is pressed and typed, and what must then be seen.
//   node drive.mjs FOLDER_OF_PLAYWRIGHT URL SCENE
// A scene that needs something done outside prints a line and waits for one.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import readline from "node:readline";

const [folder, url, scene] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/`)("playwright-core");
const TIMEOUT = 60_000;
const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
// Says that it has come so far, and waits until it may go on.
const outside = async (said) => {
  console.log(said);
  return (await lines.next()).value;
};

const known = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const places = (process.env.PATH ?? "").split(":").flatMap((at) => known.map((name) => `${at}/${name}`));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? places.find((it) => existsSync(it)),
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const opened = [];

// A page in a browser of its own, as another person has it.
const open = async (at = url, workflow = "event_planner") => {
  const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT);
  page.said = [];
  page.on("console", (it) => page.said.push(`${it.type()}: ${it.text()}`));
  page.on("pageerror", (error) => page.said.push(`error: ${error}`));
  opened.push(page);
  await page.goto(`${at}/devui/?entity_id=${workflow}`);
  await page.getByText("Execution Timeline").first().waitFor();
  return page;
};

const shot = async (page, name) => {
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${scene}-${name}.png` });
};

const sees = (page, text) => page.getByText(text).first().waitFor();
const form = (page) => page.locator("[data-hil-form]");
const run = (page) => page.getByRole("button", { name: /^(Run Workflow|Run Again)$/ }).first().click();
const submit = (page) => form(page).getByRole("button", { name: "Submit Response" }).click();
const result = (page) => page.locator("text=Final Output:").locator("xpath=following-sibling::pre").innerText();

const asked = async (page, question) => {
  await sees(page, "Workflow is waiting for your input (1 request)");
  await form(page).getByText(question).first().waitFor();
};
const chooses = async (page, option) => {
  await form(page).getByRole("combobox").click();
  await page.getByRole("option", { name: option }).click();
  await submit(page);
};
const approves = async (page) => {
  await form(page).getByRole("checkbox").click();
  await submit(page);
};
const writes = async (page, text) => {
  await form(page).locator("textarea").first().fill(text);
  await submit(page);
};

const scenes = {
  // What there is to run, and how it looks.
  async graph() {
    const page = await open();
    for (const node of ["coordinator", "venue", "budget", "catering", "logistics"]) {
      await page.locator(".react-flow__node").getByText(node, { exact: false }).first().waitFor();
    }
    assert.equal(await page.locator(".react-flow__node").count(), 5);
    assert((await page.locator(".react-flow__edge").count()) >= 4, "the coordinator and its specialists");
    await shot(page, "planner");
    await page.getByRole("button", { name: /event_planner/ }).first().click();
    await sees(page, "support_handoff");
    await shot(page, "list");
  },

  // From the start through three questions to the plan.
  async plan() {
    const page = await open();
    await run(page);
    await asked(page, /venue/i);
    await shot(page, "selection");
    await chooses(page, "The Glasshouse");
    await asked(page, /proposal/);
    await shot(page, "approval");
    await approves(page);
    await asked(page, /diet/i);
    await shot(page, "text");
    await writes(page, "vegan");
    await sees(page, "Workflow Complete");
    const plan = await result(page);
    for (const part of ["The Glasshouse", "vegan", "$3,000"]) assert(plan.includes(part), `${part}: ${plan}`);
    await shot(page, "plan");
  },

  // Where there are users, the page asks for a token first, and then works in that name.
  async token() {
    const context = await browser.newContext({ viewport: { width: 1600, height: 1000 } });
    const page = Object.assign(await context.newPage(), { said: [] });
    opened.push(page);
    await page.goto(`${url}/devui/?entity_id=event_planner`);
    await page.locator("input[type=password]").fill(process.env.TOKEN);
    await shot(page, "asked");
    await page.keyboard.press("Enter");
    await page.getByText("Execution Timeline").first().waitFor({ timeout: TIMEOUT });
    await run(page);
    await asked(page, /venue/i);
    await chooses(page, "The Glasshouse");
    await asked(page, /proposal/);
  },

  // Agents that hand over ask by form as well.
  async handoff() {
    const page = await open(url, "support_handoff");
    await run(page);
    await asked(page, /photo of the damage/);
    await writes(page, "The screen is cracked.");
    await asked(page, /full address/);
    await shot(page, "address");
    await writes(page, "1 Main Street, Springfield");
    await sees(page, "Workflow Complete");
    assert((await result(page)).includes("goes to 1 Main Street"));
    await shot(page, "done");
  },

  // A page that is loaded again has forgotten the question; pressing Run brings it back.
  async reload() {
    const page = await open();
    await run(page);
    await asked(page, /venue/i);
    await page.reload();
    await sees(page, "Ready to run workflow");
    assert.equal(await form(page).count(), 0, "the page keeps no questions");
    await run(page);
    await asked(page, /was not taken: this run waits for an answer/);
    await shot(page, "again");
    await chooses(page, "Union Hall");
    await asked(page, /proposal/);
    await approves(page);
    await asked(page, /diet/i);
    await writes(page, "vegan");
    await sees(page, "Workflow Complete");
    assert((await result(page)).includes("Union Hall"));
  },

  // What is wrong is not taken, and the form comes back with what would be.
  async wrong() {
    const page = await open();
    await run(page);
    await asked(page, /venue/i);
    await chooses(page, "The Glasshouse");
    await asked(page, /proposal/);
    await form(page).getByRole("checkbox").click();
    await form(page).locator("#edited").fill("cheaper, please");
    await submit(page);
    await form(page).getByText(/your answer was not taken; accepted: `yes`/).waitFor();
    await shot(page, "refused");
    await submit(page);
    await asked(page, /diet/i);
    await shot(page, "rejected");
  },

  // The server is killed while a question is open, and while a run is under way.
  async killed() {
    const page = await open();
    await run(page);
    await asked(page, /venue/i);
    await outside("asked");
    await chooses(page, "The Glasshouse");
    await asked(page, /proposal/);
    await shot(page, "after");
    const other = await open(url, "relay");
    await run(other);
    await sees(other, "first word");
    assert.equal(await other.getByText("Workflow Complete").count(), 0);
    await outside("under way");
    await sees(other, "Workflow Complete");
    assert.match(await result(other), /last word/);
    await shot(other, "relay");
  },

  // Two sessions of one workflow at once.
  async parallel() {
    const [left, right] = [await open(), await open()];
    await right.getByTitle("New session").click();
    await sees(right, "New checkpoint storage created");
    await Promise.all([run(left), run(right)]);
    await Promise.all([asked(left, /venue/i), asked(right, /venue/i)]);
    await chooses(right, "Union Hall");
    await chooses(left, "The Glasshouse");
    for (const page of [left, right]) {
      await asked(page, /proposal/);
      await approves(page);
      await asked(page, /diet/i);
    }
    await writes(left, "vegan");
    await writes(right, "halal");
    for (const [page, venue, diet] of [[left, "The Glasshouse", "vegan"], [right, "Union Hall", "halal"]]) {
      await sees(page, "Workflow Complete");
      const plan = await result(page);
      assert(plan.includes(venue) && plan.includes(diet), plan);
    }
  },

  // Connections break in mid-run; the page goes on where it was.
  async cut() {
    const sent = [];
    const streams = new Set();
    const target = new URL(url);
    const proxy = http.createServer((request, response) => {
      sent.push(`${request.method} ${request.url}`);
      const headers = { ...request.headers, host: target.host };
      if (headers.origin) headers.origin = url;
      const on = { host: target.hostname, port: target.port, path: request.url, method: request.method, headers };
      const forward = http.request(on, (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        if (answer.headers["content-type"] === "text/event-stream") streams.add(response);
        answer.pipe(response);
      });
      response.on("close", () => streams.delete(response) && forward.destroy());
      forward.on("error", () => response.destroy());
      request.pipe(forward);
    });
    await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
    const page = await open(`http://127.0.0.1:${proxy.address().port}`, "relay");
    await run(page);
    await sees(page, "first word");
    assert.equal(streams.size, 1);
    for (const stream of streams) stream.destroy();
    await sees(page, "Workflow Complete");
    const told = await result(page);
    assert.match(told, /last word/);
    assert(sent.some((it) => /GET \/v1\/responses\/resp_.*stream=true&starting_after=\d+/.test(it)), sent.join("\n"));
    assert.equal(sent.filter((it) => it.startsWith("POST /v1/responses")).length, 1, "nothing was sent twice");
    assert.equal(await page.locator("pre").getByText("first word").count(), 1, "nothing is told twice");
    await shot(page, "done");
    proxy.close();
  },

  // A session that is deleted is gone, and its run is stopped.
  async deleted() {
    const page = await open();
    page.on("dialog", (dialog) => dialog.accept());
    await run(page);
    await asked(page, /venue/i);
    await page.getByTitle("View checkpoint details").click();
    await sees(page, "Step 1");
    await sees(page, "pending_request_info_events");
    await shot(page, "checkpoints");
    await page.mouse.click(5, 500);
    await outside("asked");
    await page.getByTitle("Delete current session").click();
    await sees(page, "Session deleted");
  },
};

try {
  await scenes[scene]();
} catch (error) {
  for (const page of opened) {
    console.error(`${page.url()}\n${page.said.slice(-30).join("\n")}`);
    console.error((await page.locator("body").innerText().catch(() => "")).slice(0, 4000));
    await shot(page, `failed-${opened.indexOf(page)}`).catch(() => {});
  }
  console.error(error);
  process.exitCode = 1;
} finally {
  await browser.close();
  process.exit();
}

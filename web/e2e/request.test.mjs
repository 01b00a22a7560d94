// A request: forms, what to know, changes, drafts, and who was faster. (F1, F7, F8, F9, F11, F12)
import assert from "node:assert/strict";
import { after } from "node:test";
import * as flows from "./flows.mjs";
import { accessible, closeBrowser, done, each, open, PARTY, picture, Place, signIn, until, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "ask.yaml": flows.approval, "given.yaml": flows.given, "free.yaml": flows.free, "trip.yaml": flows.trip, "trip.script.yaml": flows.tripScript };
const OFFLINE = [/Failed to load resource/, /ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_EMPTY_RESPONSE/, /ERR_CONNECTION_RESET/];

each("F7, F8: a party is planned by cards, buttons and text", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("event_planner", PARTY);
    const page = await open(server, `/requests/${await server.asks(run)}`);
    // One card for each option, with what it is.
    await page.getByRole("radio", { name: /The Glasshouse.*Former greenhouse/ }).check();
    assert.equal(await page.getByRole("radio").count(), 3);
    await accessible(page, "a selection");
    await picture(page, "selection");
    // Why and from what: the conversation is there, folded.
    assert.equal(await page.getByText("Looking for venues for 30 people.").count(), 0);
    await page.getByText("Conversation so far").click();
    await page.getByText("Looking for venues for 30 people.").waitFor();
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.getByText("You answered: The Glasshouse").waitFor();
    const budget = await server.asks(run);
    await page.goto(`${server.url}/requests/${budget}`);
    for (const name of ["Approve", "Edit…", "Reject"]) await page.getByRole("button", { name, exact: true }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Abort the run" }).count(), 0, "only what is allowed");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("You approved").waitFor();
    await page.goto(`${server.url}/requests/${await server.asks(run)}`);
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.getByText("an answer is needed").waitFor();
    await page.getByLabel("Your answer").last().fill("no nuts");
    await page.keyboard.press("Control+Enter");
    await page.getByText("You answered: no nuts").waitFor();
    const over = await server.rests(run);
    assert.equal(over.status, "completed");
    for (const part of ["The Glasshouse", "no nuts"]) assert(over.output.includes(part));
    await done(page);
  });
});

each("F7: a form with nested objects, lists, limits and defaults; the server checks again", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("trip");
    const request = await server.asks(run);
    const page = await open(server, `/requests/${request}`, { allow: [/422/] });
    await page.getByRole("button", { name: "Answer…" }).click();
    await page.getByText("A town or a country.").waitFor();
    assert.equal(await page.getByLabel("People").inputValue(), "2", "the default");
    assert.equal(await page.getByLabel("With insurance").isChecked(), true);
    await accessible(page, "a nested form");
    await page.getByLabel("Destination").fill("X");
    await page.getByLabel("People").fill("12");
    await page.getByLabel("Name", { exact: true }).fill("oslo");
    await page.getByRole("button", { name: "Send answer" }).click();
    for (const problem of ["at least 2 characters", "at most 9", "choose one", "must look like ^[A-Z]"]) await page.getByText(problem).waitFor();
    await accessible(page, "a form with problems");
    await picture(page, "problems");
    await page.getByLabel("Destination").fill("Norway");
    await page.getByLabel("People").fill("3");
    await page.getByLabel("By").selectOption("boat");
    await page.getByLabel("snow").check();
    await page.getByLabel("Name", { exact: true }).fill("Oslo");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByLabel("Name", { exact: true }).nth(1).fill("Bergen");
    await page.getByLabel("Nights").nth(1).fill("2");
    await page.getByRole("button", { name: "Move Stops 2 up" }).click();
    // What only the server knows is shown at the field as well.
    await page.route("**/decision", async (it) => {
      const body = it.request().postDataJSON();
      await it.continue({ postData: JSON.stringify({ ...body, content: { ...body.content, people: 44 } }) });
    });
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.locator(".field", { hasText: "People" }).getByText(/44 is greater than the maximum of 9/).waitFor();
    await page.unroute("**/decision");
    await page.getByRole("button", { name: "Send answer" }).click();
    await page.getByText("The run goes on.").waitFor();
    const { decision } = await server.get(`/v1/requests/${request}`);
    assert.deepEqual(decision.content, { where: "Norway", people: 3, how: "boat", insured: true, likes: ["snow"], stops: [{ name: "Bergen", nights: 2 }, { name: "Oslo" }] });
    await done(page);
  });
});

each("F7: some of several are chosen on cards, within limits, as the schema says", async () => {
  await withServer(files, async (server) => {
    const schema = { type: "array", minItems: 1, maxItems: 2, uniqueItems: true, items: { oneOf: [{ const: "tea", title: "Tea", description: "Green or black" }, { const: "cake", title: "Cake" }, { const: "fruit", title: "Fruit" }] } };
    const request = await server.asks(await server.start("given", { prompt: "What shall there be?", schema }));
    const page = await open(server, `/requests/${request}`);
    const send = page.getByRole("button", { name: "Send answer" });
    await page.getByRole("checkbox", { name: /Tea.*Green or black/ }).waitFor();
    await send.click();
    await page.getByText("choose at least one").waitFor();
    await accessible(page, "nothing was chosen");
    for (const name of [/Tea/, "Cake", "Fruit"]) await page.getByRole("checkbox", { name }).check();
    await send.click();
    await page.getByText("choose at most 2").waitFor();
    await page.getByRole("checkbox", { name: "Cake" }).uncheck();
    await accessible(page, "some are chosen");
    await picture(page, "several");
    await page.reload();
    assert.deepEqual(await Promise.all([/Tea/, "Cake", "Fruit"].map((name) => page.getByRole("checkbox", { name }).isChecked())), [true, false, true], "the draft is kept");
    await send.click();
    await page.getByText("The run goes on.").waitFor();
    assert.deepEqual((await server.get(`/v1/requests/${request}`)).decision.content, ["tea", "fruit"]);
    // One of a few is chosen on cards as well.
    const one = await server.asks(await server.start("given", { prompt: "Which one?", schema: { type: "string", enum: ["left", "right"] } }));
    await page.goto(`${server.url}/requests/${one}`);
    await page.getByRole("radio", { name: "right" }).check();
    await send.click();
    await page.getByText("You answered: right").waitFor();
    await done(page);
  });
});

each("F9: a proposal is changed by its types, and the change is shown", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("event_planner", PARTY);
    await server.decide(await server.asks(run), { decision: "respond", content: "Union Hall" });
    const request = await server.asks(run);
    const page = await open(server, `/requests/${request}`);
    await page.getByRole("button", { name: "Edit…" }).click();
    await page.getByText("Nothing is changed yet.").waitFor();
    await page.getByLabel("Catering").fill("");
    await page.getByText("1 change against the proposal").waitFor();
    await page.getByRole("button", { name: "Approve with changes" }).click();
    await page.getByText("a number is needed").waitFor();
    await page.getByLabel("Catering").fill("500");
    await page.getByLabel("Decor").fill("0");
    const changes = page.getByLabel("Changes against the proposal");
    await changes.getByText("2 changes").waitFor();
    assert.match(await changes.innerText(), /Catering\s+300\s*→\s*500/);
    await accessible(page, "an edit");
    await picture(page, "edit");
    await page.getByLabel("Remark").fill("more food");
    await page.getByRole("button", { name: "Approve with changes" }).click();
    await page.getByText(/You approved with changes/).waitFor();
    const { decision } = await server.get(`/v1/requests/${request}`);
    assert.deepEqual([decision.decision, decision.value.catering, decision.value.decor, decision.note], ["edit", 500, 0, "more food"]);
    await done(page);
  });
});

each("F9: a tool call shows the change of the file, and its arguments are edited", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("research_task", "Analyse the sales data and report");
    const page = await open(server, `/requests/${await server.asks(run)}`);
    await page.getByText("Get the sales data").first().waitFor();
    await accessible(page, "a plan");
    await picture(page, "plan");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("You approved").waitFor();
    await server.decide(await server.asks(run), { decision: "approve" });
    const gate = await server.asks(run);
    await page.goto(`${server.url}/requests/${gate}`);
    await page.getByText("before_file_edit").waitFor();
    await page.getByLabel("Change of a file").getByText("+August,1450").waitFor();
    await accessible(page, "a tool call");
    await picture(page, "tool-call");
    await page.getByRole("button", { name: "Edit…" }).click();
    const content = page.getByLabel("Content");
    await content.fill((await content.inputValue()).replace("1450", "1451"));
    const changes = page.getByLabel("Changes against the proposal");
    await changes.getByText("- August,1450").waitFor();
    await changes.getByText("+ August,1451").waitFor();
    await page.getByRole("button", { name: "Approve with changes" }).click();
    await page.getByText(/You approved with changes/).waitFor();
    assert.match((await server.get(`/v1/requests/${gate}`)).decision.value.content, /1451/);
    await done(page);
  });
});

each("F1, F12: a request and its draft survive a reload, a second browser, kill -9 and a restart", async () => {
  const place = new Place(files);
  let server = await place.serve();
  try {
    const run = await server.start("event_planner", PARTY);
    await server.decide(await server.asks(run), { decision: "respond", content: "Union Hall" });
    const request = await server.asks(run);
    const page = await open(server, `/requests/${request}`, { allow: OFFLINE });
    await page.getByRole("button", { name: "Edit…" }).click();
    await page.getByLabel("Catering").fill("444");
    await page.getByLabel("Remark").fill("half of a thought");
    // Things that happen elsewhere do not disturb what is being written.
    await server.start("ask");
    await until(async () => (await page.title()).startsWith("(2)"), "another waits");
    await server.call("POST", `/v1/requests/${request}/comment`, { text: "hurry" });
    await page.getByText("hurry").waitFor();
    assert.equal(await page.getByLabel("Catering").inputValue(), "444");
    await page.reload();
    await page.getByLabel("Catering").waitFor();
    assert.equal(await page.getByLabel("Catering").inputValue(), "444");
    await server.kill();
    await page.getByText("The server cannot be reached.").waitFor();
    assert.equal(await page.getByLabel("Remark").inputValue(), "half of a thought");
    await page.getByLabel("Remark").fill("half of a thought, and the rest");
    await page.getByRole("button", { name: "Approve with changes" }).click();
    await page.getByRole("region", { name: "Decide" }).getByText("the server cannot be reached", { exact: true }).waitFor();
    await accessible(page, "without a server");
    server = await server.again();
    await page.waitForFunction(() => !document.querySelector(".offline"));
    const second = await open(server, `/requests/${request}`);
    await second.getByRole("button", { name: "Approve" }).waitFor();
    await done(second);
    await page.reload();
    await page.getByLabel("Catering").waitFor();
    assert.equal(await page.getByLabel("Catering").inputValue(), "444");
    await page.getByRole("button", { name: "Approve with changes" }).click();
    await page.getByText(/You approved with changes/).waitFor();
    const { decision } = await server.get(`/v1/requests/${request}`);
    assert.deepEqual([decision.value.catering, decision.note], [444, "half of a thought, and the rest"]);
    assert.equal(await page.evaluate(() => Object.keys(localStorage).filter((it) => it.includes("draft")).length), 0, "what was sent is no draft");
    await done(page);
  } finally {
    server.child.kill("SIGKILL");
    place.remove();
  }
});

each("F11: of two who answer at once one wins, and the other is told who did", async () => {
  const place = new Place(files);
  const tokens = ["ada", "bob"].map((name) => place.command("user", "add", name).trim());
  const server = await place.serve();
  [server.token] = tokens;
  try {
    const request = await server.asks(await server.start("ask"));
    const pages = [];
    for (const token of tokens) {
      const page = await open(server, `/requests/${request}`, { allow: [/401/, /409/] });
      await signIn(page, token);
      await page.getByRole("button", { name: "Approve" }).waitFor();
      pages.push(page);
    }
    const [ada, bob] = pages;
    // Nobody hears of the other before both have pressed.
    for (const page of pages) await page.route("**/decision", async (it) => (await new Promise((go) => setTimeout(go, 300)), it.continue()));
    await Promise.all([ada.getByRole("button", { name: "Approve" }).click(), bob.getByRole("button", { name: "Reject" }).click()]);
    const { decision } = await until(async () => {
      const found = await server.get(`/v1/requests/${request}`);
      return found.decision && found;
    }, "it is decided");
    const [winner, loser] = decision.by === "ada" ? [ada, bob] : [bob, ada];
    await winner.getByText("The run goes on.").waitFor();
    await loser.getByText(new RegExp(`${decision.by} already (approved|rejected)`)).waitFor();
    await loser.getByText(`Decided by ${decision.by} on`).waitFor();
    assert.equal(await loser.locator(".decide").count(), 0);
    await accessible(loser, "too late");
    // Who only watches is told at once as well.
    const next = await server.asks(await server.start("ask"));
    await ada.goto(`${server.url}/requests/${next}`);
    await ada.getByRole("button", { name: "Approve" }).waitFor();
    await server.decide(next, { decision: "reject", reason: "no" }, tokens[1]);
    await ada.getByText("bob already rejected (no)").waitFor();
    for (const page of pages) await done(page);
  } finally {
    server.child.kill("SIGKILL");
    place.remove();
  }
});

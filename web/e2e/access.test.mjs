// Signing in, looking only, and the rules: gates, what is remembered, what other gates would have said.
import assert from "node:assert/strict";
import { after } from "node:test";
import * as flows from "./flows.mjs";
import { accessible, closeBrowser, done, each, go, open, picture, Place, setting, signIn, tls, withServer } from "./support.mjs";

after(closeBrowser);
const files = { "ask.yaml": flows.approval };

each("where there are users, somebody signs in, and decides in that name", async () => {
  const place = new Place(files);
  const ada = place.command("user", "add", "ada").trim();
  const eve = place.command("user", "add", "eve", "--role", "viewer").trim();
  const server = await place.serve();
  server.token = ada;
  try {
    const request = await server.asks(await server.start("ask"));
    const page = await open(server, `/requests/${request}`, { allow: [/401/] });
    await page.getByLabel("Token").waitFor();
    await accessible(page, "signing in");
    await signIn(page, "sgn_wrong");
    await page.getByRole("alert").waitFor();
    await accessible(page, "a wrong token");
    await picture(page, "sign-in");
    await signIn(page, eve);
    await page.getByText("You may look at this and not decide it.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Approve" }).isDisabled(), true);
    await accessible(page, "looking only");
    await (await setting(page, "Sign out eve")).click();
    await signIn(page, ada);
    await page.getByText("Well?").click();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("You approved").waitFor();
    assert.equal((await server.get(`/v1/requests/${request}`)).decision.by, "ada");
    const cookie = (await page.context().cookies()).find((it) => it.name === "signoff_token");
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.secure], [true, "Strict", false]);
    // Whose token is not good any more is asked for another.
    place.command("user", "add", "ada", "--new-token");
    await go(page, "Runs");
    await page.getByLabel("Token").waitFor();
    await done(page);
  } finally {
    server.child.kill("SIGKILL");
    place.remove();
  }
});

each("over TLS the cookie stays there, and everything works as without", async () => {
  const place = new Place(files);
  const ada = place.command("user", "add", "ada").trim();
  const front = await tls(place.folder);
  const server = await place.serve({ args: ["--origin", front.url] });
  front.to(server);
  server.token = ada;
  try {
    const request = await server.asks(await server.start("ask"));
    const page = await open(front, `/requests/${request}`, { allow: [/401/], ignoreHTTPSErrors: true });
    await signIn(page, ada);
    await page.getByRole("button", { name: "Approve" }).waitFor();
    const cookie = (await page.context().cookies()).find((it) => it.name === "signoff_token");
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.secure], [true, "Strict", true]);
    await page.reload();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("You approved").waitFor();
    // It lives here as well.
    await server.asks(await server.start("ask"));
    await page.waitForFunction(() => document.title.startsWith("(1)"));
    await (await setting(page, "Sign out ada")).click();
    await page.getByLabel("Token").waitFor();
    assert.deepEqual((await page.context().cookies()).filter((it) => it.name === "signoff_token"), []);
    await done(page);
  } finally {
    front.close();
    server.child.kill("SIGKILL");
    place.remove();
  }
});

each("gates are shown, tried out, set and taken back; what is remembered is revoked", async () => {
  await withServer(files, async (server) => {
    const run = await server.start("research_task", "Analyse the sales data and report");
    for (let n = 0; n < 2; n += 1) await server.decide(await server.asks(run), { decision: "approve" });
    const gate = await server.asks(run);
    const page = await open(server, `/requests/${gate}`);
    await page.locator(".decide summary").getByText("More", { exact: true }).click();
    await page.getByLabel("Remember it").selectOption("workflow");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("You approved").waitFor();
    await go(page, "Policy");
    const kept = page.getByLabel("Remembered decisions");
    await kept.getByText("for this workflow").waitFor();
    await page.getByLabel("Gates as JSON").fill('{"gates":[{"name":"no_files","when":"action.tool == \\"write_file\\"","ask":"deny"}]}');
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByText("would not have been done").waitFor();
    await page.getByText("write_file: ask → deny").first().click();
    await page.getByRole("link", { name: "Where it was called" }).waitFor();
    await accessible(page, "a trial");
    await picture(page, "policy");
    assert.equal((await server.get("/v1/policy")).policy, null, "trying changes nothing");
    await page.getByRole("button", { name: "Set" }).click();
    await page.getByText("These gates hold now.").waitFor();
    await page.getByLabel("Gates", { exact: true }).getByText("no_files").waitFor();
    // In the shadow they are judged and noted, and nobody is asked.
    await page.getByLabel("Gates as JSON").fill('{"shadow":true,"gates":[{"name":"look_first","when":"action.tool == \\"read_file\\""}]}');
    await page.getByRole("button", { name: "Set" }).click();
    await page.getByText("In the shadow: judged and noted").waitFor();
    for (let n = 0; n < 2; n += 1) await server.decide(await server.asks(run), { decision: "approve" });
    await server.asks(run);
    await page.reload();
    await page.getByLabel("In the shadow").getByText("would ask (look_first)").waitFor();
    await accessible(page, "shadows");
    await page.getByRole("button", { name: "Take back" }).click();
    await page.getByText("None are set here.").waitFor();
    await page.getByLabel("Gates as JSON").fill('{"gates":[{"name":"x","when":"nonsense +"}]}');
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByRole("alert").waitFor();
    await kept.getByRole("button", { name: "Revoke" }).click();
    await kept.getByText("Nothing is remembered.").waitFor();
    assert.deepEqual((await server.get("/v1/grants")).data, []);
    page.complaints = page.complaints.filter((it) => !/422|400/.test(it));
    await done(page);
  });
});

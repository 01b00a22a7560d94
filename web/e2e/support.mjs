// A server in a folder of its own, and people in front of it.
import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = fileURLToPath(new URL(".", import.meta.url));
export const root = join(here, "../..");
export const PARTY = "Plan a party for 30 people";
export const TIMEOUT = Number(process.env.E2E_TIMEOUT ?? 20_000);

const binary = () => {
  const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
  const found = process.env.SIGNOFF_BIN ?? join(target, "debug/signoff");
  assert(existsSync(found), `${found} is missing: cargo build, or set SIGNOFF_BIN`);
  return found;
};

const clean = () => Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(SIGNOFF|OTEL)/.test(name)));

/** A folder with data and workflows. */
export class Place {
  constructor(files = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "signoff-web-"));
    mkdirSync(join(this.folder, "flows"));
    for (const [name, content] of Object.entries(files)) this.write(name, content);
  }

  write(name, content) {
    writeFileSync(join(this.folder, "flows", name), content);
  }

  command(...args) {
    return execFileSync(binary(), args, { cwd: this.folder, env: clean(), encoding: "utf8" });
  }

  async serve({ address = "127.0.0.1:0", args = [] } = {}) {
    const child = spawn(binary(), ["serve", "--addr", address, "--workflows", "flows", ...args], { cwd: this.folder, env: clean(), stdio: ["ignore", "pipe", "inherit"] });
    const url = await new Promise((found, failed) => {
      let said = "";
      child.stdout.on("data", (data) => {
        said += data;
        const line = /signoff listens on (\S+)/.exec(said);
        if (line) found(line[1]);
      });
      child.on("exit", () => failed(new Error(`the server ended: ${said}`)));
    });
    return new Server(this, child, url);
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class Server {
  constructor(place, child, url) {
    Object.assign(this, { place, child, url, token: undefined });
    this.address = url.replace("http://", "");
  }

  async call(method, path, body, token = this.token) {
    const headers = { ...(body === undefined ? {} : { "content-type": "application/json" }), ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await response.text();
    let value = text;
    try {
      value = JSON.parse(text);
    } catch {
      // Not everything is JSON.
    }
    return { status: response.status, value, headers: response.headers };
  }

  async get(path) {
    const { status, value } = await this.call("GET", path);
    assert.equal(status, 200, `${path}: ${JSON.stringify(value)}`);
    return value;
  }

  async start(workflow, input = "x", more = {}) {
    const { status, value } = await this.call("POST", "/v1/runs", { workflow, input, ...more });
    assert.equal(status, 201, JSON.stringify(value));
    return value.id;
  }

  /** The run once it waits or is over. */
  async rests(run) {
    return until(async () => {
      const found = await this.get(`/v1/runs/${run}`);
      return found.status === "running" ? undefined : found;
    }, `run ${run} rests`);
  }

  /** The one request that waits in a run. */
  async asks(run) {
    const found = await until(async () => (await this.get(`/v1/runs/${run}`)).pending[0], `run ${run} asks`);
    return found;
  }

  async decide(request, decision, token) {
    const { status, value } = await this.call("POST", `/v1/requests/${request}/decision`, decision, token);
    assert(status === 200 || status === 202, `${status}: ${JSON.stringify(value)}`);
    return value;
  }

  /** Answers what the event planner asks. */
  async party(run, answers = [{ decision: "respond", content: "The Glasshouse" }, { decision: "approve" }, { decision: "respond", content: "vegan" }]) {
    for (const answer of answers) await this.decide(await this.asks(run), answer);
    return this.rests(run);
  }

  async journal(run) {
    const all = [];
    for (let cursor = ""; ; ) {
      const page = await this.get(`/v1/runs/${run}/journal?limit=500${cursor}`);
      all.push(...page.data);
      if (!page.next_cursor) return all;
      cursor = `&cursor=${page.next_cursor}`;
    }
  }

  ended() {
    return this.child.exitCode !== null || this.child.signalCode !== null ? Promise.resolve() : new Promise((done) => this.child.once("exit", done));
  }

  /** Ends it at once, as if the machine had lost its power. */
  async kill() {
    this.child.kill("SIGKILL");
    await this.ended();
  }

  /** Another server in its place. */
  async again(args = []) {
    return this.place.serve({ address: this.address, args });
  }
}

/** What `look` finds, once it finds something. */
export async function until(look, what, patience = TIMEOUT) {
  const since = Date.now();
  for (;;) {
    const found = await look();
    if (found) return found;
    assert(Date.now() - since < patience, `never: ${what}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}

let running;
async function browser() {
  const known = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  const places = (process.env.PATH ?? "").split(":").flatMap((at) => known.map((name) => join(at, name)));
  running ??= chromium.launch({ executablePath: process.env.CHROMIUM ?? places.find((it) => existsSync(it)), args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
  return running;
}
export const closeBrowser = async () => (await running)?.close();

export const DESKTOP = { width: 1360, height: 860 };
export const PHONE = { width: 390, height: 844 };

/** A page in a browser of its own, as another person has it. Whatever the browser complains about fails the test. */
export async function open(server, path = "/", { size = DESKTOP, theme = "light", permissions = [], allow = [] } = {}) {
  const context = await (await browser()).newContext({ viewport: size, colorScheme: theme, hasTouch: size.width < 500, isMobile: size.width < 500, permissions, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT);
  page.complaints = [];
  const complain = (text) => allow.some((it) => it.test(text)) || page.complaints.push(text);
  page.on("console", (it) => ["error", "warning"].includes(it.type()) && complain(it.text()));
  page.on("pageerror", (error) => complain(String(error)));
  page.on("request", (it) => new URL(it.url()).host !== server.address && !/^(data|blob):/.test(it.url()) && complain(`asks elsewhere: ${it.url()}`));
  // While the page is being written: the files of `web/dist` instead of those in the binary.
  if (process.env.WEB_DIST) {
    const file = (name) => readFileSync(join(here, "../dist", name));
    for (const [name, contentType] of [["app.js", "text/javascript"], ["app.css", "text/css"]]) await page.route(`**/${name}`, (it) => it.fulfill({ contentType, body: file(name) }));
    await page.route("**/*", async (it) => {
      if (it.request().resourceType() !== "document") return it.fallback();
      const response = await it.fetch();
      return response.headers()["content-type"]?.startsWith("text/html") ? it.fulfill({ response, body: file("index.html") }) : it.fulfill({ response });
    });
  }
  await page.goto(server.url + path);
  return page;
}

/** A server, and afterwards nothing of it. */
export async function withServer(files, act, options) {
  const place = new Place(files);
  const server = await place.serve(options);
  try {
    await act(server, place);
  } finally {
    server.child.kill("SIGKILL");
    place.remove();
  }
}

export async function done(page) {
  assert.deepEqual(page.complaints, [], "what the browser complained about");
  await page.context().close();
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function violations(session) {
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] }).then((it) => JSON.stringify(it.violations.map((v) => ({ id: v.id, nodes: v.nodes.map((n) => n.html.slice(0, 160) + " :: " + (n.any[0]?.message ?? n.all[0]?.message ?? "")) }))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  return JSON.parse(result.value);
}

/** As it stands now: no violation of WCAG A or AA, and nothing beyond the edge; wide and narrow, light and dark. */
export async function accessible(page, what) {
  const before = page.viewportSize();
  // The page's own policy lets no foreign script in; a debugger may.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  for (const size of [before, before.width === PHONE.width ? DESKTOP : PHONE]) {
    await page.setViewportSize(size);
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      // At the end nothing lies below what sticks to the edge.
      await page.evaluate((narrow) => scrollTo(0, narrow ? document.documentElement.scrollHeight : 0), size.width === PHONE.width);
      const where = `${what}, ${size.width} px, ${colorScheme}`;
      assert.deepEqual(await violations(session), [], `${where}: violations`);
      await fits(page, where);
    }
  }
  await session.detach();
  await page.setViewportSize(before);
}

/** Nothing reaches beyond the edge. */
export async function fits(page, what) {
  const { inner, scroll } = await page.evaluate(() => ({ inner: innerWidth, scroll: document.documentElement.scrollWidth }));
  assert(scroll <= inner, `${what}: ${scroll} px in a window of ${inner} px`);
}

/** A picture for the documentation, or to look at. */
export async function picture(page, name) {
  const folder = process.env.PICTURES;
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** What stands between a browser and a server, and can be cut. */
export async function wire(server) {
  const [host, port] = server.address.split(":");
  const open = new Set();
  let shut = false;
  const between = createServer((asked, answer) => {
    const headers = { ...asked.headers, host: server.address };
    if (headers.origin) headers.origin = server.url;
    const passed = request({ host, port, method: asked.method, path: asked.url, headers }, (came) => {
      answer.writeHead(came.statusCode, came.headers);
      answer.flushHeaders();
      came.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  between.on("connection", (socket) => {
    if (shut) return socket.destroy();
    open.add(socket);
    return socket.on("close", () => open.delete(socket));
  });
  await new Promise((ready) => between.listen(0, "127.0.0.1", ready));
  const address = `127.0.0.1:${between.address().port}`;
  return {
    address,
    url: `http://${address}`,
    cut() {
      for (const it of open) it.destroy();
    },
    shut() {
      shut = true;
      this.cut();
    },
    restore() {
      shut = false;
    },
    close() {
      between.close();
      this.cut();
    },
  };
}

// A server in a folder of its own.
import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const here = fileURLToPath(new URL(".", import.meta.url));
export const root = join(here, "../..");
export const PARTY = "Plan a party for 30 people";
export const TIMEOUT = Number(process.env.E2E_TIMEOUT ?? 40_000);

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

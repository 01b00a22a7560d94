// A server that speaks the protocol by hand, in the ways that real servers do not.
// Its argument says how it behaves; see the tests.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [mode] = process.argv.slice(2);
const modern = mode === "modern";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const text = (words) => ({ content: [{ type: "text", text: String(words) }], ...(modern && { resultType: "complete" }) });
const tool = (name, more = {}) => ({ name, description: name, inputSchema: { type: "object" }, ...more });
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const pending = new Map();
let asked = 0;
const ask = (method, params) =>
  new Promise((done) => {
    const id = `ask-${++asked}`;
    pending.set(id, done);
    send({ id, method, params });
  });
const elicit = (message, properties) =>
  ask("elicitation/create", { message, requestedSchema: { type: "object", properties } });
const form = (message, properties) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties } },
});

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
let listener;
let extra = [];
let calls = 0;
const tools = {
  env: async () => text(JSON.stringify({ env: Object.keys(process.env).sort(), cwd: process.cwd() })),
  key: async (_, params) => text(params._meta["dev.signoff/idempotencyKey"]),
  count: async () => text(++calls),
  grow: async () => {
    extra.push(tool("grown"));
    const params = listener === undefined ? {} : { _meta: { [SUBSCRIPTION]: listener } };
    send({ method: "notifications/tools/list_changed", params });
    return text("grown");
  },
  grown: async () => text("I am new"),
  die: async () => process.exit(3),
  hang: async () => wait(1e9),
  progress: async (_, params) => {
    for (let n = 1; n <= 6; n++) {
      await wait(500);
      send({ method: "notifications/progress", params: { progressToken: params._meta.progressToken, progress: n } });
    }
    return text("slowly but surely");
  },
  offspring: async () => {
    const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 1e9)"], { stdio: "ignore" });
    return text(JSON.stringify([process.pid, child.pid]));
  },
  flood: async () => {
    process.stdout.write("x".repeat(10 * 1024 * 1024) + "\n");
    return text("flooded");
  },
  noise: async () => {
    process.stdout.write(Buffer.from([0, 255, 254, 10, 123, 10, 0xc3, 0x28, 10]));
    process.stdout.write('{"jsonrpc":"2.0","id":{"a":1},"result":7}\n[]\n{"jsonrpc":"2.0","method":42}\n');
    return text("after the noise");
  },
  borrow: async () => {
    const roots = await ask("roots/list", {});
    const words = await ask("sampling/createMessage", { messages: [], maxTokens: 1 });
    return text(JSON.stringify([roots.error?.code, words.error?.code]));
  },
  // Asks twice; the second question depends on the first answer.
  twice: async () => {
    const who = await elicit("Who?", { name: { type: "string" }, age: { type: "integer" } });
    if (who.error) return text("dropped");
    if (who.result.action !== "accept") return text(who.result.action);
    const sure = await elicit(`Is it ${who.result.content.name}?`, { sure: { type: "boolean" } });
    if (sure.error) return text("dropped");
    return text(`${who.result.content.name} ${sure.result.action} ${sure.result.content?.sure}`);
  },
  // Asks something else every time.
  fickle: async () => {
    const answer = await elicit(`Number ${process.hrtime.bigint()}?`, { n: { type: "integer" }, m: { type: "integer" } });
    return text(answer.error ? "dropped" : answer.result.action);
  },
  link: async (_, params, id) => {
    const { existsSync, writeFileSync } = await import("node:fs");
    if (existsSync("visited")) return text("welcome");
    writeFileSync("visited", "");
    const elicitations = [{ mode: "url", message: "Sign in", url: "https://id.example/in?x=1", elicitationId: "e1" }];
    send({ id, error: { code: -32042, message: "sign in first", data: { elicitations } } });
  },
  // 2026-07-28: questions end the call, and the state comes back.
  book: async (_, { inputResponses, requestState }) => {
    if (!requestState)
      return {
        resultType: "input_required",
        requestState: "seat-7",
        inputRequests: {
          who: form("For whom?", { name: { type: "string" }, age: { type: "integer" } }),
          meal: form("Which meal?", { meal: { type: "string", enum: ["fish", "rice"] } }),
        },
      };
    const { who, meal } = inputResponses;
    return text(`${requestState} ${who.action} ${who.content?.name} ${meal.content?.meal}`);
  },
  pay: async (_, { inputResponses, requestState }) => {
    if (!requestState)
      return {
        resultType: "input_required",
        requestState: "bill",
        inputRequests: { ok: form("Pay 5?", { agree: { type: "boolean" } }) },
      };
    return text(JSON.stringify(inputResponses.ok));
  },
  later: async (_, { requestState }) =>
    requestState === "2"
      ? text("at last")
      : { resultType: "input_required", requestState: requestState === "1" ? "2" : "1" },
};

const offered = () => [...Object.keys(tools).filter((name) => name !== "grown").map((name) => tool(name, hints(name))), ...extra];
const hints = (name) => (name === "count" ? { annotations: { readOnlyHint: true } } : {});
const capabilities = { tools: { listChanged: true } };

async function request({ id, method, params = {} }) {
  const reply = (result) => result && send({ id, result });
  if (method === "server/discover" && modern)
    return reply({ resultType: "complete", supportedVersions: ["2026-07-28"], capabilities, ttlMs: 0, cacheScope: "private" });
  if (method === "initialize" && !modern) {
    if (mode === "silent") return;
    return reply({ protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "fake", version: "1" } });
  }
  if (method === "subscriptions/listen") {
    listener = id;
    const method = "notifications/subscriptions/acknowledged";
    return send({ method, params: { _meta: { [SUBSCRIPTION]: id }, notifications: params.notifications } });
  }
  if (method === "ping") return reply({});
  if (method === "tools/list") {
    // One tool a page.
    const all = mode === "endless" ? null : offered();
    const at = Number(params.cursor ?? 0);
    const more = modern ? { resultType: "complete", ttlMs: 60000, cacheScope: "private" } : {};
    if (!all) return reply({ tools: Array.from({ length: 20 }, (_, n) => tool(`t${at + n}`)), nextCursor: String(at + 20) });
    return reply({ tools: all.slice(at, at + 1), ...(at + 1 < all.length && { nextCursor: String(at + 1) }), ...more });
  }
  if (method === "tools/call") return reply(await tools[params.name](params.arguments, params, id));
  send({ id, error: { code: -32601, message: `no ${method}` } });
}

if (mode === "corpse") process.exit(1);
if (mode === "noisy") process.stdout.write(Buffer.from([0, 159, 146, 150, 10]));
console.error(`the ${mode} server is here`);
createInterface({ input: process.stdin })
  .on("line", (line) => {
    const message = JSON.parse(line);
    if (message.method && message.id !== undefined) request(message);
    else if (message.id !== undefined && pending.has(message.id)) pending.get(message.id)(message);
  })
  .on("close", () => process.exit(0));

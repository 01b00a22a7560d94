// An MCP client that a test steers: commands come as lines of JSON, and what happens goes out the same way. The protocol is
// the libraries': version 1 speaks 2025-11-25, version 2 speaks 2026-07-28.
import { createInterface } from "node:readline";

const settings = JSON.parse(process.argv[2]);
const tell = (event) => process.stdout.write(JSON.stringify(event) + "\n");
const answers = [];
const waiting = [];

// Shows the form to "the user", who is the test.
const elicit = async (request, extra) => {
  tell({ event: "elicit", params: request.params });
  const signal = extra?.signal ?? extra?.mcpReq?.signal;
  signal?.addEventListener("abort", () => tell({ event: "elicit_cancelled" }));
  return answers.shift() ?? new Promise((done) => waiting.push(done));
};

async function first() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client({ name: settings.name ?? "test-client", version: "1.2.3" }, { capabilities: settings.capabilities ?? {} });
  if (settings.capabilities?.elicitation) client.setRequestHandler(types.ElicitRequestSchema, elicit);
  return {
    client,
    call: (params, options) => client.callTool(params, undefined, options),
    raw: async (method, params) => client.request({ method, params }, (await import("zod")).z.any()),
    http: (await import("@modelcontextprotocol/sdk/client/streamableHttp.js")).StreamableHTTPClientTransport,
    stdio: (await import("@modelcontextprotocol/sdk/client/stdio.js")).StdioClientTransport,
  };
}

async function second() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client(
    { name: settings.name ?? "test-client", version: "1.2.3" },
    { capabilities: settings.capabilities ?? {}, versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  if (settings.capabilities?.elicitation) client.setRequestHandler("elicitation/create", elicit);
  return {
    client,
    call: (params, options) => client.callTool(params, options),
    http: StreamableHTTPClientTransport,
    stdio: (await import("@modelcontextprotocol/client/stdio")).StdioClientTransport,
  };
}

const peer = settings.sdk === 2 ? await second() : await first();
const headers = settings.token ? { authorization: `Bearer ${settings.token}` } : {};
const transport = settings.url
  ? new peer.http(new URL(settings.url), { requestInit: { headers } })
  : new peer.stdio({ command: settings.command, args: settings.args, cwd: settings.cwd, env: { ...process.env, ...settings.env }, stderr: "inherit" });
transport.onerror = (error) => tell({ event: "transport_error", message: String(error) });

const under = new Map();
const failed = (id) => (error) => tell({ event: "error", id, code: error.code ?? null, message: String(error.message ?? error) });
const done = (id) => (result) => tell({ event: "result", id, result });
const operations = {
  call({ id, name, arguments: given, meta, timeout, progress }) {
    const abort = new AbortController();
    under.set(id, abort);
    const options = { signal: abort.signal, timeout: timeout ?? 120_000, resetTimeoutOnProgress: progress ?? false };
    if (progress) options.onprogress = (told) => tell({ event: "progress", id, ...told });
    peer.call({ name, arguments: given, ...(meta ? { _meta: meta } : {}) }, options).then(done(id), failed(id));
  },
  abort: ({ id }) => under.get(id).abort("the test gives up"),
  answer({ action, content }) {
    const answer = { action, ...(content ? { content } : {}) };
    const next = waiting.shift();
    next ? next(answer) : answers.push(answer);
  },
  list: ({ id }) => peer.client.listTools().then(done(id), failed(id)),
  templates: ({ id }) => peer.client.listResourceTemplates().then(done(id), failed(id)),
  read: ({ id, uri }) => peer.client.readResource({ uri }).then(done(id), failed(id)),
  raw: ({ id, method, params }) => peer.raw(method, params).then(done(id), failed(id)),
};

await peer.client.connect(transport).catch((error) => {
  tell({ event: "refused", code: error.code ?? null, message: String(error.message ?? error) });
  process.exit(1);
});
tell({ event: "ready", server: peer.client.getServerVersion(), instructions: peer.client.getInstructions(), session: transport.sessionId ?? null });
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  operations[command.op](command);
}
await peer.client.close().catch(() => {});
process.exit(0);

// Plans a party with the protocol's own JavaScript library. Each turn may be a process of its own.
//
//   node plan.mjs "Plan a party for 30 people"
//   node plan.mjs --task run_… "The Glasshouse" yes vegan

import { parseArgs } from "node:util";
import { randomUUID } from "node:crypto";
import { Role, TaskState } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions } from "@a2a-js/sdk/client";

const url = process.env.SIGNOFF_URL ?? "http://127.0.0.1:8484";
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    agent: { type: "string", default: "event_planner" },
    task: { type: "string" },
    id: { type: "string" },
    binding: { type: "string", default: "JSONRPC" },
    stream: { type: "boolean" },
    subscribe: { type: "boolean" },
  },
});

const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
  preferredTransports: [values.binding],
});
const card = `${url}/a2a/${values.agent}/.well-known/agent-card.json`;
const client = await new ClientFactory(options).createFromUrl(card, "");

let task = values.task;
const listen = async (events) => {
  for await (const { payload } of events) {
    if (payload.$case === "task") {
      task = payload.value.id;
      console.log("task", TaskState[payload.value.status.state]);
    } else if (payload.$case === "statusUpdate") {
      console.log("status", TaskState[payload.value.status.state]);
    } else {
      console.log(payload.$case);
    }
  }
};
if (values.subscribe) {
  await listen(client.resubscribeTask({ id: task, tenant: "" }));
}
for (const [n, text] of positionals.entries()) {
  const message = {
    messageId: values.id ? `${values.id}${n + 1}` : randomUUID(),
    role: Role.ROLE_USER,
    parts: [{ content: { $case: "text", value: text }, filename: "", mediaType: "", metadata: undefined }],
    taskId: task ?? "",
    contextId: "",
    extensions: [],
    referenceTaskIds: [],
    metadata: undefined,
  };
  const request = { message, tenant: "", configuration: undefined, metadata: undefined };
  if (values.stream) {
    await listen(client.sendMessageStream(request));
  } else {
    task = (await client.sendMessage(request)).id;
  }
}

const found = await client.getTask({ id: task, tenant: "" });
console.log("id", found.id);
console.log("state", TaskState[found.status.state]);
console.log("history", ...found.history.map((it) => it.messageId));
const said = (part) => (part.content.$case === "text" ? part.content.value : JSON.stringify(part.content.value));
for (const part of found.status.message?.parts ?? []) {
  if (part.content.$case === "text") console.log("?", said(part));
}
for (const artifact of found.artifacts) {
  for (const part of artifact.parts) console.log("=", said(part));
}

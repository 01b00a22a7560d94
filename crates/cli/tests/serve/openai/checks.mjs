// What the OpenAI library for JavaScript must be able to do.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

// From the folder it was installed in.
const { OpenAI } = createRequire(`${process.argv[2]}/`)("openai");
const client = new OpenAI({ baseURL: `${process.env.SIGNOFF_URL}/v1`, apiKey: "none", maxRetries: 0 });
const model = "event_planner";

const collect = async (stream) => {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
};

// Plain, in the background, as a stream: one conversation, answered by text.
const conversation = (await client.conversations.create()).id;
let response = await client.responses.create({ model, conversation, input: "Plan a party for 30 people" });
assert.equal(response.status, "completed");
assert.equal(response.output.at(-1).type, "function_call");
assert.deepEqual(await client.responses.retrieve(response.id), response, "with the text the library adds");

response = await client.responses.create({ model, conversation, input: "2", background: true });
while (response.status === "in_progress") {
  await new Promise((done) => setTimeout(done, 20));
  response = await client.responses.retrieve(response.id);
}
assert.equal(JSON.parse(response.output.at(-1).arguments).kind, "approval");

await client.responses.create({ model, conversation, input: "yes" });
const events = await collect(await client.responses.create({ model, conversation, input: "vegan", stream: true }));
assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
const last = events.at(-1);
assert.equal(last.type, "response.completed");
for (const starting_after of [0, 5, events.length - 1]) {
  const rest = await collect(await client.responses.retrieve(last.response.id, { stream: true, starting_after }));
  assert.deepEqual(rest, events.slice(starting_after + 1));
}
const whole = await client.responses.retrieve(last.response.id);
assert.match(whole.output_text, /vegan/);

const helper = client.responses.stream({ model, input: "Plan a party for 30 people" });
const final = await helper.finalResponse();
assert.equal(final.metadata["signoff.status"], "waiting");
assert.equal((await client.responses.cancel(final.id)).status, "cancelled");

const items = [];
for await (const item of client.conversations.items.list(conversation, { order: "asc", limit: 4 })) items.push(item);
assert.equal(items.filter((item) => item.type === "function_call_output").length, 3);
assert.deepEqual(await client.conversations.items.retrieve(items[1].id, { conversation_id: conversation }), items[1]);

await assert.rejects(client.responses.create({ model: "nope", input: "x" }), (error) => {
  assert.deepEqual([error.status, error.code, error.param], [404, "unknown_workflow", "model"]);
  return error instanceof OpenAI.NotFoundError;
});

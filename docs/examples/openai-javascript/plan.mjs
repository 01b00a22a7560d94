// Plans a party, with events as they happen. Each answer names the question it is for.
import OpenAI from "openai";

const url = process.env.SIGNOFF_URL ?? "http://127.0.0.1:8484";
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
const answers = ["The Glasshouse", "yes", "vegan"];

let next = { input: "Plan a party for 30 people" };
for (;;) {
  let response, asked;
  for await (const event of await client.responses.create({ model: "event_planner", stream: true, ...next })) {
    if (event.type === "response.output_text.delta") console.log(event.delta);
    if (event.type === "response.output_item.done" && event.item.type === "function_call") asked = event.item;
    if (event.type === "response.completed") response = event.response;
  }
  if (!asked) break;
  console.log("?", JSON.parse(asked.arguments).prompt.split("\n")[0]);
  const output = answers.shift();
  console.log(">", output);
  next = {
    previous_response_id: response.id,
    input: [{ type: "function_call_output", call_id: asked.call_id, output }],
  };
}

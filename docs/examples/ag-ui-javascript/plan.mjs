// Plans a party with the library of AG-UI. Each interrupt says what it asks and what fits as an answer.
import { HttpAgent, buildResumeArray } from "@ag-ui/client";

const url = process.env.SIGNOFF_URL ?? "http://127.0.0.1:8484";
const agent = new HttpAgent({ url: `${url}/ag-ui/event_planner` });
agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "Plan a party for 30 people" });

const answers = ["The Glasshouse", { approved: true }, "vegan"];
const show = {
  onTextMessageContentEvent: ({ event }) => void process.stdout.write(event.delta),
  onTextMessageEndEvent: () => void process.stdout.write("\n"),
  onRunErrorEvent: ({ event }) => console.error(event.code, event.message),
};

await agent.runAgent({}, show);
while (agent.pendingInterrupts.length > 0) {
  const said = {};
  for (const { id, message } of agent.pendingInterrupts) {
    said[id] = { status: "resolved", payload: answers.shift() };
    console.log("?", message.split("\n")[0]);
    console.log(">", JSON.stringify(said[id].payload));
  }
  await agent.runAgent({ resume: buildResumeArray(agent.pendingInterrupts, said) }, show);
}

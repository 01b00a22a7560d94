// Starts a run, follows it, answers what it asks. In a browser it is the same without the import.
import WebSocket from "ws";

const url = process.env.SIGNOFF_URL ?? "http://127.0.0.1:8484";
const socket = new WebSocket(url.replace("http", "ws") + "/v1/ws");
const answers = [
  { decision: "respond", content: "The Glasshouse" },
  { decision: "approve" },
  { decision: "respond", content: "vegan" },
];
const send = (message) => socket.send(JSON.stringify(message));
let run;

const told = {
  snapshot: () => send({ type: "start", id: "start", workflow: "event_planner", input: "Plan a party for 30 people" }),
  ack(message) {
    if (message.id !== "start") return;
    run = message.run.id;
    send({ type: "attach", run });
    // What was asked before this line is in the run already.
    message.run.pending.forEach(answer);
  },
  request({ change, request }) {
    if (change === "asked" && request.run === run) {
      console.log("?", request.prompt.split("\n")[0]);
      answer(request.id);
    }
  },
  entry: ({ entry }) => entry.type === "decided" && console.log(">", entry.decision.content ?? entry.decision.decision),
  error: ({ error }) => console.error(error.code, error.message),
  end: () => socket.close(),
};

const answered = new Set();
function answer(request) {
  if (answered.has(request)) return;
  answered.add(request);
  send({ type: "decide", request, decision: answers.shift() });
}

socket.on("message", (text) => {
  const message = JSON.parse(text);
  told[message.type]?.(message);
});

// What the library of AG-UI must be able to do, as it is: it checks every event by itself.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [folder, check, ...given] = process.argv.slice(2);
// From the folder it was installed in.
const { HttpAgent, buildResumeArray } = createRequire(`${folder}/`)("@ag-ui/client");
const url = process.env.SIGNOFF_URL;
const PARTY = "Plan a party for 30 people";

// What the library drops of what it is told, it says; there is nothing.
console.warn = (...words) => assert.fail(words.join(" "));

const person = (id, content) => ({ id, role: "user", content });
const agentOf = (workflow, threadId, more = {}) =>
  new HttpAgent({ url: `${url}/ag-ui/${workflow}`, threadId, ...more });

/** Calls an agent. The events, and the last of them. */
async function call(agent, parameters = {}) {
  const events = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  const first = events[0];
  assert.equal(first.type, "RUN_STARTED");
  assert.equal(first.protocolVersion, "1.0");
  assert.equal(first.threadId, agent.threadId);
  return { events, last: events.at(-1) };
}

const of = (events, type) => events.filter((event) => event.type === type);
const answer = (payload) => ({ status: "resolved", payload });
/** Answers all that waits by what `choose` says of each interrupt. */
const resume = (agent, choose) => {
  const all = agent.pendingInterrupts.map((it) => [it.id, choose(it)]);
  return call(agent, { resume: buildResumeArray(agent.pendingInterrupts, Object.fromEntries(all)) });
};
const one = ({ last }) => {
  assert.equal(last.type, "RUN_FINISHED", JSON.stringify(last));
  assert.equal(last.outcome.type, "interrupt");
  assert.equal(last.outcome.interrupts.length, 1);
  return last.outcome.interrupts[0];
};
const success = ({ last }) => {
  assert.equal(last.outcome?.type, "success", JSON.stringify(last));
  return last.result;
};
const refused = ({ last }, code) => {
  assert.equal(last.type, "RUN_ERROR", JSON.stringify(last));
  assert.equal(last.code, code, JSON.stringify(last));
  return last;
};
const custom = ({ events }, name) => of(events, "CUSTOM").filter((it) => it.name === name).map((it) => it.value);
const native = async (method, path, body) => {
  const init = { method, headers: { "content-type": "application/json" }, body: body && JSON.stringify(body) };
  const response = await fetch(url + path, init);
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
};
const decide = (id, decision) => native("POST", `/v1/requests/${id}/decision`, decision);
const runs = async (conversation) => (await native("GET", `/v1/runs?conversation=${conversation}`)).data;
const pending = async (conversation) =>
  (await native("GET", `/v1/requests?status=pending&conversation=${conversation}`)).data.map((it) => it.id);
const texts = (agent) => agent.messages.map((it) => it.content ?? "").join("\n");
const until = async (wanted) => {
  for (let n = 0; n < 1000; n++) {
    const found = await wanted();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 10));
  }
  assert.fail("it does not come");
};

const checks = {
  async planner() {
    const agent = agentOf("event_planner", "party", { initialState: { mine: 1 } });
    agent.messages = [person("u1", PARTY)];
    const first = await call(agent);
    const venue = one(first);
    assert.equal(venue.reason, "input_required");
    assert.equal(venue.responseSchema.enum.length, 3);
    assert.deepEqual([venue.metadata.kind, venue.metadata.allowed], ["selection", ["respond"]]);
    assert.equal(venue.metadata.options.length, 3);
    const types = first.events.map((event) => event.type);
    assert.deepEqual(types.slice(-3), ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    assert.ok(types.includes("STEP_STARTED") && types.includes("TOOL_CALL_END"));
    assert.ok(first.last.usage[0].totalTokens > 0);
    assert.equal(agent.state.mine, 1, "the client's own state stays");
    assert.equal(agent.state.signoff.status, "waiting");
    assert.deepEqual(agent.state.signoff.pending, [venue.id]);
    assert.equal(agent.messages[0].id, "u1", "what it said itself keeps its id");

    const second = await resume(agent, () => answer("The Glasshouse"));
    assert.deepEqual(custom(second, "signoff.resume"), [[{ interruptId: venue.id, outcome: "taken" }]]);
    assert.equal(custom(second, "signoff.decided")[0].decision, "respond");
    const budget = one(second);
    assert.equal(budget.reason, "confirmation");
    assert.deepEqual(budget.responseSchema.required, ["approved"]);
    const { proposal } = budget.metadata.context;
    const wrong = await resume(agent, () => answer({ approved: true, editedArgs: { nonsense: 1 } }));
    const error = refused(wrong, "invalid_answer");
    assert.equal(error.metadata.signoff.details.interruptId, budget.id);
    assert.equal(agent.pendingInterrupts.length, 1, "it can be answered still");

    const third = await resume(agent, () => answer({ approved: true, editedArgs: proposal }));
    const diet = one(third);
    assert.equal(diet.responseSchema.type, "string");
    const plan = success(await resume(agent, () => answer("vegan")));
    for (const part of ["The Glasshouse", "vegan"]) {
      assert.ok(JSON.stringify(plan).includes(part), JSON.stringify(plan));
      assert.ok(texts(agent).includes(part), texts(agent));
    }
    assert.equal(agent.pendingInterrupts.length, 0);
    assert.equal(agent.state.signoff.status, "completed");
    const ids = agent.messages.map((it) => it.id);
    assert.equal(new Set(ids).size, ids.length, "nothing is there twice");
    const calls = agent.messages.flatMap((it) => it.toolCalls ?? []).map((it) => it.id);
    const results = agent.messages.filter((it) => it.role === "tool").map((it) => it.toolCallId);
    assert.deepEqual([...calls].sort(), [...results].sort(), "every call has come to a result");
    assert.equal((await runs("party")).length, 1, "one run of ours, four of theirs");

    // The next message begins the next run in the same thread.
    agent.addMessage(person("u2", PARTY));
    one(await call(agent));
    assert.equal((await runs("party")).length, 2);
    assert.deepEqual(agent.messages.filter((it) => it.role === "user").map((it) => it.id), ["u1", "u2"]);
  },

  async handoff() {
    const agent = agentOf("support_handoff", "a thread / with ünusual signs");
    agent.messages = [person("u1", "I need help with order 12345. I want a replacement and need to know when it will arrive.")];
    const first = await call(agent);
    assert.match(one(first).message, /photo/);
    assert.ok(of(first.events, "TEXT_MESSAGE_CONTENT").length > of(first.events, "TEXT_MESSAGE_START").length, "live");
    const where = one(await resume(agent, () => answer("It came broken.")));
    assert.match(where.message, /address/);
    success(await resume(agent, () => answer("1 Main Street")));
    assert.match(texts(agent), /Confirmed: the replacement for order 12345 goes to 1 Main Street/);
    const names = new Set(agent.messages.filter((it) => it.role === "assistant").map((it) => it.name));
    assert.ok(names.has("Replacement specialist") && names.has("Delivery specialist"), [...names].join());
    const said = agent.messages.map((it) => it.content).filter((it) => it);
    assert.equal(new Set(said).size, said.length, "nothing is said twice");
  },

  async research() {
    const agent = agentOf("research_task", "research");
    agent.messages = [person("u1", "Analyse the sales data and report")];
    let told = await call(agent);
    const plan = one(told);
    assert.equal(plan.metadata.kind, "plan_review");
    assert.equal(plan.reason, "confirmation");
    const ways = plan.responseSchema.oneOf.map((it) => it.properties.decision?.const ?? "approved");
    assert.deepEqual(ways, ["approved", "approve", "edit", "revise", "reject"]);
    told = await resume(agent, () => answer({ decision: "revise", feedback: "Mind the holidays" }));
    assert.match(one(told).metadata.preview.diff, /Check the result/);
    const kinds = [];
    for (let n = 0; n < 30 && agent.pendingInterrupts.length > 0; n++) {
      const asked = one(told);
      kinds.push(asked.metadata.kind);
      if (asked.metadata.kind === "tool_call") {
        assert.equal(asked.reason, "tool_call");
        const called = of(told.events, "TOOL_CALL_START").map((it) => it.toolCallId);
        assert.ok(called.includes(asked.toolCallId), "the call was told");
        assert.ok(asked.metadata.why.length > 0);
      }
      told = await resume(agent, () => answer({ approved: true }));
    }
    assert.ok(JSON.stringify(success(told)).includes("3630"));
    assert.ok(kinds.filter((kind) => kind === "tool_call").length >= 3, kinds.join());
    assert.equal(agent.state.signoff.phase, "control");
    const [shown] = agent.messages.filter((it) => it.role === "activity");
    assert.equal(shown.activityType, "signoff.plan");
    assert.ok(shown.content.steps.every((step) => step.status === "done"), JSON.stringify(shown));
    const written = agent.messages.find((it) => it.role === "tool" && it.toolCallId.includes("m"));
    assert.ok(written, "results of tools are told");
  },

  async parallel() {
    const agent = agentOf("two", "both");
    agent.messages = [person("u1", "go")];
    const { last } = await call(agent);
    assert.equal(last.outcome.interrupts.length, 2);
    const [left, right] = last.outcome.interrupts.map((it) => it.id);
    const yes = (interruptId) => ({ interruptId, status: "resolved", payload: { approved: true } });
    // The library would not send these; others might.
    const other = () => agentOf("two", "both");
    const partial = refused(await call(other(), { resume: [yes(left)] }), "interrupts_open");
    assert.deepEqual(partial.metadata.signoff.details.interruptIds, [right]);
    const newer = other();
    newer.messages = [person("u9", "something else")];
    refused(await call(newer), "interrupts_open");
    const bad = { interruptId: right, status: "resolved", payload: "yes" };
    refused(await call(other(), { resume: [yes(left), bad] }), "invalid_answer");
    const foreign = { ...yes("req_nope_1") };
    refused(await call(other(), { resume: [yes(left), yes(right), foreign] }), "unknown_request");
    refused(await call(agentOf("two", "elsewhere"), { resume: [yes(left), yes(right)] }), "unknown_request");
    assert.deepEqual((await pending("both")).sort(), [left, right].sort(), "nothing was changed");
    assert.equal((await runs("both")).length, 1, "nothing was started");
    // Who comes without anything is given what waits.
    const again = await call(other());
    assert.deepEqual(again.last.outcome.interrupts.map((it) => it.id), [left, right]);
    // One of them is decided by the inbox meanwhile; the answer to it is told to be late.
    await decide(left, { decision: "reject", reason: "no" });
    const done = await resume(agent, () => answer({ approved: true }));
    const [answers] = custom(done, "signoff.resume");
    assert.deepEqual(answers.map((it) => it.outcome), ["already_decided", "taken"]);
    assert.equal(answers[0].decision.decision, "reject");
    assert.equal(success(done), "done");
  },

  async inbox() {
    const agent = agentOf("two", "inbox");
    agent.messages = [person("u1", "go")];
    const { last } = await call(agent);
    for (const { id } of last.outcome.interrupts) await decide(id, { decision: "approve" });
    await until(async () => (await runs("inbox"))[0].status === "completed");
    const late = await resume(agent, () => answer({ approved: false }));
    assert.deepEqual(custom(late, "signoff.resume")[0].map((it) => it.outcome), ["already_decided", "already_decided"]);
    assert.equal(success(late), "done");
    const look = await call(agent);
    assert.equal(success(look), "done");
    assert.equal((await runs("inbox")).length, 1, "nothing was started");
    agent.addMessage(person("u2", "once more"));
    assert.equal((await call(agent)).last.outcome.type, "interrupt");
    assert.equal((await runs("inbox")).length, 2);
  },

  async cancelling() {
    const agent = agentOf("ask", "no");
    agent.messages = [person("u1", "go")];
    one(await call(agent));
    const no = await resume(agent, () => ({ status: "cancelled" }));
    assert.equal(custom(no, "signoff.decided")[0].decision, "reject");
    // A question without a no of its own.
    const planner = agentOf("event_planner", "stop");
    planner.messages = [person("u1", PARTY)];
    one(await call(planner));
    refused(await resume(planner, () => ({ status: "cancelled" })), "decision_not_allowed");
    const [run] = await runs("stop");
    await native("POST", `/v1/runs/${run.id}/cancel`, {});
    refused(await resume(planner, () => answer("The Glasshouse")), "cancelled");
    const over = await resume(planner, () => ({ status: "cancelled" }));
    assert.deepEqual(over.last.outcome, { type: "cancelled" });
    assert.equal(planner.pendingInterrupts.length, 0);
  },

  async again() {
    const agent = agentOf("event_planner", "again");
    agent.messages = [person("u1", PARTY)];
    const runId = "the same";
    const [first, twin] = [agent, agentOf("event_planner", "again")];
    twin.messages = [person("u1", PARTY)];
    const both = await Promise.all([call(first, { runId }), call(twin, { runId })]);
    assert.equal(one(both[0]).id, one(both[1]).id);
    const more = agentOf("event_planner", "again");
    more.messages = [person("u1", PARTY)];
    const told = await call(more, { runId });
    assert.deepEqual(one(told), one(both[0]));
    assert.deepEqual(more.messages, agent.messages, "it is told as it was");
    const third = agentOf("event_planner", "again");
    third.messages = [person("u1", "Plan something else")];
    refused(await call(third, { runId }), "idempotency_conflict");
    assert.equal((await runs("again")).length, 1);
    const answers = [{ interruptId: one(told).id, status: "resolved", payload: "The Glasshouse" }];
    const asked = one(await call(agent, { runId: "second", resume: answers }));
    const repeated = await call(twin, { runId: "second", resume: answers });
    assert.deepEqual(custom(repeated, "signoff.resume")[0].map((it) => it.outcome), ["repeated"]);
    assert.deepEqual(one(repeated), asked);
    assert.deepEqual(twin.messages, agent.messages);
  },

  async race() {
    for (let n = 0; n < 5; n++) {
      const agents = [0, 1].map(() => agentOf("ask", `race-${n}`));
      agents[0].messages = [person("u1", "go")];
      const { id } = one(await call(agents[0]));
      const results = await Promise.all(
        agents.map((agent, n) => call(agent, { resume: [{ interruptId: id, ...answer({ approved: n === 0 }) }] })),
      );
      const outcomes = results.map((it) => custom(it, "signoff.resume")[0][0].outcome).sort();
      assert.deepEqual(outcomes, ["already_decided", "taken"]);
      assert.equal(new Set(results.map((it) => JSON.stringify(it.last.outcome))).size, 1, "both see the same end");
    }
  },

  async start() {
    const agent = agentOf("event_planner", "killed");
    agent.messages = [person("u1", PARTY)];
    console.log(JSON.stringify(one(await call(agent))));
  },

  async go_on() {
    const agent = agentOf("event_planner", "killed");
    const asked = one(await call(agent));
    assert.deepEqual(asked, JSON.parse(given[0]), "the same after a crash");
    assert.match(texts(agent), /Plan a party/);
    one(await resume(agent, () => answer("The Glasshouse")));
    one(await resume(agent, () => answer({ approved: true })));
    success(await resume(agent, () => answer("vegan")));
  },

  async late() {
    const agent = agentOf("late", "late");
    agent.messages = [person("u1", "go")];
    const asked = one(await call(agent));
    assert.ok(Date.parse(asked.expiresAt) > 0);
    await until(async () => (await runs("late"))[0].status !== "waiting");
    const fresh = agentOf("late", "late");
    refused(await call(fresh, { resume: [{ interruptId: asked.id, ...answer("well") }] }), "expired");
    const given = await call(fresh, { resume: [{ interruptId: asked.id, status: "cancelled" }] });
    assert.deepEqual(custom(given, "signoff.resume")[0].map((it) => it.outcome), ["expired"]);
  },

  async parts() {
    const agent = agentOf(given[0], "parts");
    agent.messages = [person("u1", given[1])];
    const told = await call(agent);
    const asked = one(told);
    const [part] = of(told.events, "SUBAGENT_STARTED");
    assert.equal(asked.subagentRunId, part.subagentRunId);
    const [rests] = of(told.events, "SUBAGENT_FINISHED");
    assert.deepEqual(rests.outcome, { type: "suspended", interruptIds: [asked.id] });
    let more = await resume(agent, () => answer({ approved: true }));
    for (let n = 0; n < 5 && more.last.outcome?.type === "interrupt"; n++) {
      more = await resume(agent, () => answer({ approved: true }));
    }
    success(more);
    const ended = of(more.events, "SUBAGENT_FINISHED");
    assert.ok(ended.every((it) => it.outcome.type === "success"), JSON.stringify(ended));
  },

  async cut() {
    const agent = agentOf("talk", "cut");
    agent.messages = [person("u1", "go")];
    const told = await call(agent);
    assert.equal(success(told), given[0]);
    assert.ok(of(told.events, "TEXT_MESSAGE_START").length > 1, "it was begun again");
    const said = agent.messages.filter((it) => it.role === "assistant");
    assert.deepEqual(said.map((it) => [it.name, it.content]), [["Ada", given[0]]], "and is there once");
  },

  /** A stream that is left stops nothing. */
  async leave() {
    const agent = agentOf("slow", "left");
    agent.messages = [person("u1", "go")];
    const going = agent.runAgent({}, { onStepStartedEvent: () => agent.abortRun() });
    await going.catch(() => {});
    const fresh = agentOf("slow", "left");
    const followed = await call(fresh);
    success(followed);
    assert.match(texts(fresh), /done/);
    assert.equal((await runs("left")).length, 1);
    const busy = agentOf("slow", "busy");
    busy.messages = [person("u1", "go")];
    const first = call(busy);
    await until(async () => (await runs("busy")).length === 1);
    const other = agentOf("slow", "busy");
    other.messages = [person("u2", "something else")];
    refused(await call(other), "conversation_busy");
    success(await first);
  },
};

await checks[check]();

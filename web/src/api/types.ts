// Written by scripts/types.mjs from docs/openapi.json. Do not change by hand.

/** Messages to add. */
export type AddBody = {
  /** The messages: up to 20. */
  items: Array<unknown>;
};

/** A message. */
export type AgUiMessage = {
  /** Its id. */
  id: string;
  /** Whose it is. */
  role: AgUiRole;
  /** Text, or a list of parts. */
  content?: unknown;
};

/** The answer to an interrupt. */
export type AgUiResume = {
  /** The interrupt, which is a request. */
  interruptId: string;
  /** Whether it was answered or given up. */
  status: AgUiStatus;
  /** The answer; must fit the interrupt's `responseSchema`. */
  payload?: unknown;
};

/** Whose a message is. */
export type AgUiRole = "developer" | "system" | "assistant" | "user" | "tool" | "activity" | "reasoning";

/** Whether an interrupt was answered. */
export type AgUiStatus = "resolved" | "cancelled";

/** Why it is tried again. */
export type Again = {
  /** Kept in the journal of the new run. */
  reason?: string | null;
};

/** An agent of a workflow. */
export type Agent = {
  /** Its id. */
  id: string;
  /** What people call it. */
  name: string;
};

/** What of an argument must be the same. */
export type Alike = {
  /** How. */
  prefix: string;
} | {
  /** The pattern. */
  glob: string;
} | {
  /** The host. */
  host: string;
} | unknown;

/** One page of a list. */
export type AnyValueList = {
  /** The items. */
  data: Array<unknown>;
  /** Give it as `cursor` to get the next page; not there on the last one. */
  next_cursor?: string | null;
};

/** A line of the audit. */
export type Audit = {
  /** Its number, from 1 without gaps. */
  no: number;
  /** When. */
  at: string;
  /** Who. */
  by: string;
  /** On which request. */
  request: string;
  /** The decision, or `{"decision":"expired"}`. */
  decision: unknown;
  /** SHA-256 over the hash before it and this line. */
  hash: string;
};

/** One page of a list. */
export type AuditList = {
  /** The items. */
  data: Array<Audit>;
  /** Give it as `cursor` to get the next page; not there on the last one. */
  next_cursor?: string | null;
};

/** A workflow, as such clients know agents. */
export type BridgeAgent = {
  /** The workflow's id; give it as `model`. */
  id: string;
  /** The same. */
  name: string;
  /** What it does. */
  instructions: string;
  /** The same as the id. */
  model: string;
};

/** A run, in few words. */
export type BridgeRun = {
  /** Its id. */
  id: string;
  /** Where it stands. */
  status: string;
  /** Why it failed. */
  last_error: string | null;
  /** When it was started. */
  started_at: string;
  /** When it was over. */
  completed_at: string | null;
};

/** A text. Any other field is left alone. */
export type BridgeText = {
  /** The id of a workflow, or `workflow:anything` for another conversation with it. */
  model: string;
  /** What was typed. */
  input: string;
  /** Whether to tell events as they happen; else the answer is one piece of JSON. */
  stream?: boolean | null;
  /** A name that makes it another conversation: text, or an object with `id`. */
  conversation?: unknown;
};

/** What requests can have in common. */
export type By = "gate" | "tool" | "target" | "workflow";

/** For how long nobody is asked. */
export type Bypass = {
  /** For how long: `1h`, if not given, and `8h` at most. */
  within?: Span | null;
};

/** What of the page's own features there is here. */
export type Capabilities = {
  /** Spans of `OpenTelemetry`. */
  instrumentation: boolean;
  /** Whether they can be asked for again. */
  trace_retrieval: boolean;
  /** Sending things on to OpenAI. */
  openai_proxy: boolean;
  /** Putting workflows on Azure. */
  deployment: boolean;
};

/** One of the answers to a selection. */
export type Choice = {
  /** What the answer is. */
  value: unknown;
  /** What a person reads. */
  label: string;
  /** More about it. */
  description?: string | null;
};

/** From when on the time of those is counted who are asked next. */
export type Clock = "reset" | "shared";

/** What to know about a request. */
export type Comment = {
  /** The comment. */
  text: string;
};

/** How many there are. */
export type Count = {
  /** The number. */
  count: number;
};

/** A group. */
export type Counted = {
  /** What they have in common. */
  group: string;
  /** How many there are. */
  count: number;
  /** How many of them are of high or critical risk. A decision for the group leaves those out. */
  high_risk: number;
};

/** A response to make. Any other field is left alone. Read field by field; this is for the document. */
export type CreateBody = {
  /** The id of a workflow. `metadata.entity_id` comes before it. Not needed for an answer. */
  model?: string | null;
  /** Text, a list of items, or a value that the workflow takes. */
  input: unknown;
  /** The id of a conversation, or an object with `id`. */
  conversation?: unknown;
  /** The response to go on from. */
  previous_response_id?: string | null;
  /** Whether to tell events as they happen. */
  stream?: boolean | null;
  /** Whether to answer at once. */
  background?: boolean | null;
  /** `entity_id`: a workflow; `request_id`: the request that the text answers. */
  metadata?: unknown;
};

/** A conversation to make. Any other field is left alone. */
export type CreateBody2 = {
  /** What is noted on it: texts by name. */
  metadata?: Record<string, unknown> | null;
  /** Messages that were said before. */
  items?: Array<unknown> | null;
};

/** A decision to take: the decision's own fields, and these. Read field by field, so that what is wrong with one is said of that one; this is for the document. */
export type Decide = {
  /** The version of the request that the decider saw. */
  version?: number | null;
  /** Names this decision. The same decision again is a success in any case. */
  idempotency_key?: string | null;
} & ({
  decision: "respond";
  /** The answer. */
  content: unknown;
} | ({
  decision: "approve";
  /** A remark for the record. */
  note?: string | null;
  /** Whether this holds for more than this once. */
  remember?: Remember | null;
}) | ({
  decision: "edit";
  /** The changed value. */
  value: unknown;
  /** A remark for the record. */
  note?: string | null;
}) | ({
  decision: "reject";
  /** Why not. */
  reason?: string | null;
  /** Whether the run goes on. */
  then?: Then;
  /** What becomes of the other calls of the same turn; as the gate says, if not given. */
  siblings?: Siblings | null;
  /** Whether this holds for more than this once. */
  remember?: Remember | null;
}) | ({
  decision: "revise";
  /** What to change. */
  feedback?: string | null;
}) | ({
  decision: "redo";
  /** What to do differently. */
  feedback?: string | null;
}) | ({
  decision: "retry";
  /** A remark. */
  feedback?: string | null;
}) | ({
  decision: "skip";
  /** Why. */
  reason?: string | null;
}) | ({
  decision: "rollback";
  /** Why, for whoever works on. */
  feedback?: string | null;
}) | ({
  decision: "abort";
  /** Why. */
  reason?: string | null;
}));

/** The one accepted answer to a request. */
export type Decision = {
  decision: "respond";
  /** The answer. */
  content: unknown;
} | ({
  decision: "approve";
  /** A remark for the record. */
  note?: string | null;
  /** Whether this holds for more than this once. */
  remember?: Remember | null;
}) | ({
  decision: "edit";
  /** The changed value. */
  value: unknown;
  /** A remark for the record. */
  note?: string | null;
}) | ({
  decision: "reject";
  /** Why not. */
  reason?: string | null;
  /** Whether the run goes on. */
  then?: Then;
  /** What becomes of the other calls of the same turn; as the gate says, if not given. */
  siblings?: Siblings | null;
  /** Whether this holds for more than this once. */
  remember?: Remember | null;
}) | ({
  decision: "revise";
  /** What to change. */
  feedback?: string | null;
}) | ({
  decision: "redo";
  /** What to do differently. */
  feedback?: string | null;
}) | ({
  decision: "retry";
  /** A remark. */
  feedback?: string | null;
}) | ({
  decision: "skip";
  /** Why. */
  reason?: string | null;
}) | ({
  decision: "rollback";
  /** Why, for whoever works on. */
  feedback?: string | null;
}) | ({
  decision: "abort";
  /** Why. */
  reason?: string | null;
});

/** The name of a decision, as it stands in a request's `allowed` list. */
export type DecisionKind = "respond" | "approve" | "edit" | "reject" | "revise" | "redo" | "retry" | "skip" | "rollback" | "abort";

/** Until when a request is put off: one of `until` and `for`. */
export type Defer = {
  /** A time: `2026-11-16T09:00:00Z`. */
  until?: string | null;
  /** How long: `30m`, `2h`, `1d`. */
  for?: Span | null;
  /** Why, for others who look at it. */
  note?: string | null;
};

/** An entry of a journal: these fields, and those of its type. */
export type Entry = {
  /** Its position, from 1 without gaps. */
  seq: number;
  /** When it was made. */
  at: string;
  /** What happened: `started`, `said`, `asked`, `decided`, `run_completed` … */
  type: string;
  /** The run. */
  run: string;
  /** The id of the request, where the entry is about one. */
  request_id?: string | null;
};

/** One page of a list. */
export type EntryList = {
  /** The items. */
  data: Array<Entry>;
  /** Give it as `cursor` to get the next page; not there on the last one. */
  next_cursor?: string | null;
};

/** Every error. */
export type Error = {
  /** What is wrong. */
  error: ErrorFields;
};

/** What is wrong. */
export type ErrorFields = {
  /** A stable, short code. */
  code: string;
  /** What went wrong. */
  message: string;
  /** What to do about it. */
  hint?: string | null;
  /** What a program may want to know, depending on the code. */
  details?: unknown;
};

/** An error as data: a stable code, a sentence, and what to do about it. */
export type ErrorInfo = {
  /** A stable, short code. */
  code: string;
  /** What went wrong. */
  message: string;
  /** What to do about it. */
  hint?: string | null;
};

/** Something a person said. */
export type Feedback = {
  /** Its number in the run, from 1. */
  n: number;
  /** What it is about, and so for how long it counts. */
  scope: FeedbackScope;
  /** The phase outside of which it does not count. */
  phase?: string | null;
  /** The step it was said at. */
  step?: number | null;
  /** When it was said, as the plan goes. */
  timing: Timing;
  /** Who said it. */
  author: string;
  /** The agents that are told. Not there: all. */
  for?: Array<string>;
  /** What. */
  text: string;
  /** When. */
  at: string;
  /** From when on it counts no more. */
  expires?: string | null;
  /** Whether it counts now. It does not if it has expired, if the step it is about is over, and while the run is in another phase than it is about. */
  counts: boolean;
};

/** One page of a list. */
export type FeedbackList = {
  /** The items. */
  data: Array<Feedback>;
  /** Give it as `cursor` to get the next page; not there on the last one. */
  next_cursor?: string | null;
};

/** What it is about, and so for how long it counts. */
export type FeedbackScope = "run" | "phase" | "step";

/** A fork to make. */
export type Fork = {
  /** The last entry both runs share. If it is a decision, the fork is just before it. */
  at: number;
  /** A decision for the request that waits there. */
  decision?: Decision | null;
  /** Why, for the journal of the new run. */
  reason?: string | null;
};

/** Where a run was forked from. */
export type ForkedFrom = {
  /** The other run. */
  run: string;
  /** The last entry both share. */
  at: number;
  /** Why, in the words of who did it. */
  reason?: string | null;
};

/** A gate as it is written. */
export type GateFile = {
  /** Its name, or a checkpoint: `before_file_edit` … */
  name: string;
  /** A CEL condition over `action`. Not needed for a checkpoint. */
  when?: string | null;
  /** When it asks. */
  ask?: How;
  /** Who may decide; anybody, if not given. */
  who?: Who | null;
  /** How long it waits for an answer; for ever, if not given. */
  within?: Span | null;
  /** What happens then. */
  on_timeout?: OnTimeout;
  /** Who is asked then, one after the other, with `on_timeout: escalate`. */
  escalation?: Array<Stage>;
  /** From when on their time is counted. */
  clock?: Clock;
  /** What happens when the last of them has not answered. */
  finally?: OnTimeout | null;
  /** How often people are reminded: every so often, or whenever a share of the time is over. */
  remind?: Remind | null;
  /** What a rejection means for the other calls of the same turn. */
  siblings?: Siblings;
  /** How much can go wrong. */
  risk?: Risk | null;
  /** What people should know. */
  note?: string | null;
};

/** Executors and edges. */
export type Graph = {
  /** Where a run begins. */
  start: string;
  /** The executors. */
  executors: Array<Node>;
  /** The ways between them. */
  edges: Array<Way>;
};

/** Requests that are decided together: all that wait and fit. */
export type Group = {
  /** Only those that this gate asks for. */
  gate?: string | null;
  /** Only those about this tool. */
  tool?: string | null;
  /** Only those about this file, host or person. */
  target?: string | null;
  /** Only those of this workflow. */
  workflow?: string | null;
  /** Only those that were asked by then: when you looked. What nobody has seen is not decided by it. */
  until: string;
};

/** Groups of requests that wait. One that has several gates or targets is in several. */
export type Groups = {
  /** The groups, the largest first, at most 200. */
  data: Array<Counted>;
  /** Whether more wait than were looked at: 2000, the oldest first. */
  more: boolean;
};

/** How the server is. */
export type Health = {
  /** `ok` or `ready`. */
  status: string;
  /** The version of the program. */
  version: string;
};

/** When a gate asks. */
export type How = "always" | "smart" | "audit" | "deny";

/** One decision. For the document. */
export type Item = {
  /** The request. */
  request: string;
  /** The version of the request that the decider saw. */
  version?: number | null;
  /** Names this decision. The same decision again is a success in any case. */
  idempotency_key?: string | null;
} & ({
  decision: "respond";
  /** The answer. */
  content: unknown;
} | ({
  decision: "approve";
  /** A remark for the record. */
  note?: string | null;
  /** Whether this holds for more than this once. */
  remember?: Remember | null;
}) | ({
  decision: "edit";
  /** The changed value. */
  value: unknown;
  /** A remark for the record. */
  note?: string | null;
}) | ({
  decision: "reject";
  /** Why not. */
  reason?: string | null;
  /** Whether the run goes on. */
  then?: Then;
  /** What becomes of the other calls of the same turn; as the gate says, if not given. */
  siblings?: Siblings | null;
  /** Whether this holds for more than this once. */
  remember?: Remember | null;
}) | ({
  decision: "revise";
  /** What to change. */
  feedback?: string | null;
}) | ({
  decision: "redo";
  /** What to do differently. */
  feedback?: string | null;
}) | ({
  decision: "retry";
  /** A remark. */
  feedback?: string | null;
}) | ({
  decision: "skip";
  /** Why. */
  reason?: string | null;
}) | ({
  decision: "rollback";
  /** Why, for whoever works on. */
  feedback?: string | null;
}) | ({
  decision: "abort";
  /** Why. */
  reason?: string | null;
}));

/** A model that says how much can go wrong. */
export type Judge = {
  /** The model, by its alias. */
  model?: string;
  /** From which risk on people are asked, from 0 to 1. */
  threshold?: number;
  /** How long it may take. */
  timeout?: Span;
  /** Whether people need not be asked about what it finds harmless, where no gate insists on it. Otherwise it can only lead to asking. */
  clears?: boolean;
  /** What it should know about this place. */
  instructions?: string | null;
};

/** A link. */
export type Link = {
  /** The path of the page, after the address by which the person reaches this server. */
  url: string;
  /** When it stops to count. */
  expires_at: string;
};

/** What a person filled in. */
export type LinkAnswer = {
  /** The decision. */
  decision: DecisionKind;
  /** The answer, the reason or the remark. */
  text?: string | null;
  /** Which of the options, counted from 1. */
  option?: number | null;
};

/** Several decisions. */
export type Many = {
  /** Each a decision with the id of its request as `request`, at most 200. */
  items?: Array<Item> | null;
  /** Instead of `items`: all that wait and have something in common, at most 200 at once. Those of high or critical risk are left out. */
  group?: Group | null;
  /** The decision on each of the group. */
  decide?: Decide | null;
  /** Whether those of the group that are of high or critical risk are decided too. */
  include_high_risk?: boolean;
  /** Whether one that cannot be taken means that none is. */
  atomic?: boolean;
};

/** What a page may do here. */
export type Meta = {
  /** `developer`: the page shows events as they come. */
  ui_mode: string;
  /** The version of this program. */
  version: string;
  /** Who answers. */
  framework: string;
  /** The page knows `python` and `dotnet`, and expects sessions of the first. */
  runtime: string;
  capabilities: Capabilities;
  /** Whether it needs a token. */
  auth_required: boolean;
};

/** A link to make. */
export type NewLink = {
  /** Who decides with it: the caller, or, if the caller has the role `admin`, another user. */
  for: string;
  /** How long it counts: `24h`, if not given, and `7d` at most; never longer than the request waits. */
  within?: Span | null;
  /** What can be decided with it; everything that a link can, if not given. */
  decisions?: Array<DecisionKind> | null;
};

/** An executor. */
export type Node = {
  /** Its name. */
  name: string;
  /** `agent`, `coordinator`, `handoff`, `group_chat`, `phases`, `function`, `transform`, `ask`, `ask_given` or `workflow`. */
  kind: string;
  /** The agent, function or workflow it stands for. */
  of?: string | null;
};

/** Something that somebody noted on a request. */
export type Note = {
  /** When. */
  at: string;
  /** By whom. */
  by: string;
  /** `claimed`, `released`, `assigned`, `commented`, `voted` (with the decision), `reminded`, `deferred` or `reopened`. */
  what: string;
  /** Until when it is put off. */
  until?: string | null;
  /** Who looks after it since. */
  to?: string | null;
  /** The comment. */
  text?: string | null;
};

/** What happens when nobody answers in time. */
export type OnTimeout = "deny" | "skip" | "pause" | "abort" | "escalate" | "approve";

/** What the operator has set for all. */
export type Operator = {
  /** Changes with its content. */
  version: string;
  /** The gates. */
  policy: unknown;
};

/** From which end the record is read. */
export type Order = "oldest" | "newest";

export type Order2 = "asc" | "desc";

/** How agents work together. */
export type Pattern = "coordinator" | "sequential" | "concurrent" | "handoff" | "group_chat" | "phases" | "graph";

/** Nothing to say. */
export type Plain = Record<string, unknown>;

/** Nothing to say. */
export type Plain2 = Record<string, unknown>;

/** Gates that hold for all workflows. */
export type PolicyFile = {
  /** The gates. */
  gates?: Array<GateFile>;
  /** When gates that are `smart` ask. */
  smart?: Smart | null;
  /** Whether it is only tried out: it is noted what it would say, and nobody is asked. */
  shadow?: boolean;
};

/** Where a remembered decision holds. */
export type Reach = "run" | "conversation" | "workflow" | "tenant";

/** Who looks after a request. */
export type Reassign = {
  /** A name; nobody, if not given. */
  to?: string | null;
};

/** A wish to remember a decision, as it is sent along with it: a reach, or more. */
export type Remember = Reach | ({
  /** Where it holds. */
  reach: Reach;
  /** For all calls of the tool whose arguments are so; those not named may be anything. Without it, for exactly the same action. */
  arguments?: Record<string, Alike> | null;
  /** For how long. */
  within?: Span | null;
  /** How often. */
  times?: number | null;
});

/** A length of time, for example 4h, or a share of the time there is for an answer, for example 50%. */
export type Remind = string;

/** What can be shown. */
export type Rendered = {
  /** One for each text, in order. */
  html: Array<string>;
};

/** What would have changed. */
export type Report = {
  /** How many runs were looked at. */
  runs: number;
  /** How many actions. */
  actions: number;
  /** How many people would have been asked about. */
  ask: number;
  /** How many would not have been done. */
  deny: number;
  /** Those that would have gone otherwise, at most 1000. */
  changes: Array<unknown>;
};

/** A question to people. Written by [`signoff_core::Request::to_json`]; this says what it has. */
export type Request = {
  /** Its id. */
  id: string;
  /** How often it changed; a decision may name the version it saw. */
  version: number;
  /** Where it stands. */
  status: RequestStatus;
  /** What kind of question it is. */
  kind: RequestKind;
  /** The run that asks. */
  run: string;
  /** The workflow of that run. */
  workflow: string;
  /** The conversation of that run. */
  conversation: string;
  /** Who asks: from the top down to the one that asks. */
  agent_path: Array<string>;
  /** The question. */
  prompt: string;
  /** What a person should know to answer it. */
  context: unknown;
  /** The answers of a selection. */
  options?: Array<Choice> | null;
  /** What a `respond` content or an `edit` value must fit. */
  response_schema: unknown;
  /** Which decisions it accepts. */
  allowed: Array<DecisionKind>;
  /** Why it is asked. */
  reasons: Array<string>;
  /** What it would do, as the system and not the model says it: `summary`, `diff` or `detail`. */
  preview?: unknown;
  /** How much can go wrong. */
  risk?: Risk | null;
  /** Who looks after it. */
  assignee?: string | null;
  /** Who should answer it. */
  who?: string | null;
  /** Who may decide, where not everybody: `who`, each of which must be content, and `barred`. */
  deciders?: unknown;
  /** When it was asked. */
  created_at: string;
  /** When it stops being answerable. */
  expires_at?: string | null;
  /** What follows if nobody has answered by then, where that is known. */
  on_timeout?: Unanswered | null;
  /** The turn of an agent it belongs to: requests with the same are what one reply of its model wants to do. */
  turn?: string | null;
  /** What becomes of the others of that turn if it is rejected; they are `independent`, if not given. */
  siblings?: Siblings | null;
  /** Until when somebody has put it off. */
  deferred_until?: string | null;
  /** Why it was taken back, where a decision on another request is why. */
  withdrawn?: string | null;
  /** The decision that was taken. */
  decision?: Taken | null;
  /** What people noted on it, in order. Not in lists. */
  notes?: Array<Note> | null;
};

/** What kind of question it is. */
export type RequestKind = "input" | "selection" | "approval" | "plan_review" | "step_before" | "step_after" | "step_error" | "tool_call" | "in_doubt";

/** One page of a list. */
export type RequestList = {
  /** The items. */
  data: Array<Request>;
  /** Give it as `cursor` to get the next page; not there on the last one. */
  next_cursor?: string | null;
};

/** Where a request stands. */
export type RequestStatus = "pending" | "decided" | "expired" | "cancelled";

/** How much can go wrong. */
export type Risk = "low" | "medium" | "high" | "critical";

/** The gates that hold besides those of workflows. */
export type Rules = {
  /** Grows with each change; 0 if there never was one. */
  version: number;
  /** What is set; null if nothing is. */
  policy: unknown;
  /** Who set it, or took it back. */
  by?: string | null;
  /** When. */
  at?: string | null;
  /** What the operator has set for all. */
  operator?: Operator | null;
  /** What the operator calls this place. */
  environment?: string | null;
};

/** One execution of one workflow. */
export type Run = {
  /** Its id. */
  id: string;
  /** The workflow's id. */
  workflow: string;
  /** The content hash of the definition it runs on. */
  version: string;
  /** Its conversation. */
  conversation: string;
  /** Where it stands. */
  status: RunStatus;
  /** What it was given. */
  input: unknown;
  /** What it gave, once it is completed. Not in lists. */
  output?: unknown;
  /** The phase it is in, if its workflow has any: `planning` or `control`. Not in lists. */
  phase?: string | null;
  /** The step of its plan it is at, from 1. Not in lists. */
  step?: number | null;
  /** The ids of the requests that wait for people, of its parts as well. */
  pending: Array<string>;
  /** Why it failed or was stopped. */
  error?: ErrorInfo | null;
  /** When it was created. */
  created_at: string;
  /** When its journal last grew. */
  updated_at: string;
  /** The position of its last journal entry. */
  head: number;
  /** Who started it. */
  by: string;
  /** The run it is part of, at the top. */
  root?: string | null;
  /** The run before it in its conversation. */
  continues?: string | null;
  /** Where it was forked from. */
  forked_from?: ForkedFrom | null;
  /** What its model calls and those of its parts took. Not in lists. */
  usage?: unknown;
};

/** A run of the protocol, as AG-UI calls it. What has no meaning here is left alone: `tools`, `context`, `forwardedProps`. */
export type RunAgentInput = {
  /** The conversation. */
  threadId: string;
  /** The client's name for this call. The same again starts and answers nothing. */
  runId: string;
  /** The call before it; given back. */
  parentRunId?: string | null;
  /** The version the client speaks, from 1.0 on. */
  protocolVersion?: string | null;
  /** The client's state. It is given back with `signoff` in it. */
  state?: unknown;
  /** What was said as the client knows it. If the last one is a user's, that is the input of a new run. */
  messages: Array<AgUiMessage>;
  /** The answers to interrupts; all that are open. */
  resume?: Array<AgUiResume> | null;
};

/** One page of a list. */
export type RunList = {
  /** The items. */
  data: Array<Run>;
  /** Give it as `cursor` to get the next page; not there on the last one. */
  next_cursor?: string | null;
};

/** Where a run stands. */
export type RunStatus = "running" | "waiting" | "paused" | "completed" | "failed" | "cancelled";

/** Something to say. */
export type Say = {
  /** What. */
  text: string;
  /** What it is about, and so for how long it counts: the run (the default), the phase it is in, or the step it is at. */
  scope?: FeedbackScope;
  /** The agents that are told, if not all. */
  for?: Array<string>;
  /** From when on it counts no more: a time (`2026-01-31T18:00:00Z`), or a length of time from now (`2h`). */
  expires?: string | null;
};

/** Answers to send. */
export type SendBody = {
  /** Answers by request id. They may leave some requests open. */
  responses?: unknown;
  /** Instead: text that answers the one request that waits. */
  input?: string | null;
  /** The conversation of the run: an id, or `{"id"}`. */
  conversation?: unknown;
  /** Whether to tell events; yes, if not given. */
  stream?: boolean | null;
};

/** One answer to send. A body without these fields is the answer itself. */
export type SendOneBody = {
  /** The answer. */
  response?: unknown;
  /** The conversation of the run: an id, or `{"id"}`. */
  conversation?: unknown;
  /** Whether to tell events; yes, if not given. */
  stream?: boolean | null;
};

/** Who the caller is. */
export type Session = {
  /** The name in which the caller decides. */
  actor: string;
  /** Whose runs the caller sees. */
  tenant: string;
  /** What the caller may do and may be asked for. */
  roles: Array<string>;
  /** Whether there are users, so that a token is needed. */
  users: boolean;
};

/** Gates to set. */
export type Set = {
  /** The gates, as in a policy file. */
  policy: PolicyFile;
  /** The version they are meant to replace. */
  version?: number | null;
};

/** What becomes of the other calls of a turn when one of them is rejected. */
export type Siblings = "independent" | "replan";

/** Something that opens the door. */
export type SignIn = {
  /** The token that `signoff user add` printed. */
  token: string;
};

/** When a `smart` gate asks. */
export type Smart = {
  /** Words that must not stand in what the action is about. */
  keywords?: Array<string>;
  /** Places where everything is asked for. */
  environments?: Array<string>;
  /** Whether what cannot be undone is asked for. */
  destructive?: boolean;
  /** How many files, hosts or people it is about at once. */
  targets?: number;
  /** How many lines of text it is given; never for that, if not given. */
  lines?: number | null;
  /** The hosts that need not be asked for, `*.` before one for all below it; all, if not given. */
  hosts?: Array<string> | null;
  /** Whether what has a secret in it is asked for. */
  secrets?: boolean;
  /** How many changes a run makes before it is asked about each further one. */
  writes?: number;
  /** After how many failures of the same. */
  failures?: number;
  /** After how many times the same in a row. */
  repeats?: number;
  /** After how many denials in a row everything is asked for, until somebody agrees to something. */
  denials?: number;
  /** After how many denials among the last 50 answers. */
  recent_denials?: number;
  /** From which cost of the run on, in the currency of the price list. */
  cost?: number | null;
  /** A model that is asked where nothing of this speaks for asking. */
  judge?: Judge | null;
};

/** A length of time, for example 30s, 15m or 24h. */
export type Span = string;

/** Who is asked next when nobody answers in time. */
export type Stage = {
  /** Who may decide then. */
  who: Who;
  /** How long they have; as long as those before, if not given. */
  within?: Span | null;
};

/** A run to start. */
export type Start = {
  /** The id of a workflow. */
  workflow: string;
  /** What it is given; must fit its input schema. */
  input: unknown;
  /** The conversation it goes on with. A new one, if not given. */
  conversation?: string | null;
  /** The same key again gives the same run, and starts nothing. */
  idempotency_key?: string | null;
};

/** Why a run is stopped or paused. */
export type Stop = {
  /** For the record. */
  reason?: string | null;
};

/** A decision with who took it and when. */
export type Taken = {
  /** By whom. */
  by: string;
  /** When. */
  at: string;
};

/** Gates to try out. */
export type Test = {
  /** The gates, as in a policy file. */
  policy: PolicyFile;
  /** How many runs are looked at, the newest first: 1 to 1000; 100, if not given. */
  runs?: number | null;
};

/** What is to be shown. */
export type Texts = {
  /** Texts in Markdown. */
  texts: Array<string>;
};

/** What a run does after a rejection. */
export type Then = "continue" | "stop";

/** When it was said. */
export type Timing = "planning" | "before" | "after" | "redo" | "error";

/** What follows if nobody answers a request in time. Whoever asks says so beforehand, for people to see; it changes nothing by itself. */
export type Unanswered = "deny" | "skip" | "pause" | "abort" | "escalate" | "approve" | "default" | "continue" | "fail";

/** What to change. Any other field is left alone. */
export type UpdateBody = {
  /** What is noted on it from now on: texts by name. */
  metadata: Record<string, unknown>;
};

/** What became of the record. */
export type Verified = {
  /** Whether no line was changed, added or taken out. */
  intact: boolean;
  /** The first line that does not follow from those before it; it, or one before it, was changed. */
  broken_at?: number | null;
};

/** A way from executors to others. */
export type Way = {
  /** `direct`, `switch` or `fan_in`. */
  kind: string;
  /** Where it starts. */
  from: Array<string>;
  /** Where it can lead. */
  to: Array<string>;
  /** How often it may be taken in one run. */
  max?: number | null;
};

/** Who may decide. */
export type Who = {
  /** These users. */
  users?: Array<string>;
  /** Users with one of these roles. */
  roles?: Array<string>;
  /** How many of them must agree. */
  count?: number;
  /** Whether one who denies decides for all. */
  veto?: boolean;
  /** Whether whoever started the run may not. */
  not_initiator?: boolean;
};

/** In which words requests are told. */
export type Words = "native" | "approvals";

/** A workflow that can be started. */
export type Workflow = {
  /** Its id. */
  id: string;
  /** The content hash of its definition. */
  version: string;
  /** What it does. */
  description: string;
  /** How its agents work together. */
  pattern: Pattern;
  /** JSON Schema of the input of a run. */
  input_schema: unknown;
  /** Inputs to try it with. */
  samples: Array<unknown>;
  /** Its agents. */
  agents: Array<Agent>;
  /** Its executors and the ways between them. */
  graph: Graph;
  /** The definition itself, as its file says it. */
  definition: unknown;
};

/** A workflow that can be started, in short. */
export type WorkflowSummary = {
  /** Its id. */
  id: string;
  /** The content hash of its definition. */
  version: string;
  /** What it does. */
  description: string;
  /** How its agents work together. */
  pattern: Pattern;
  /** JSON Schema of the input of a run. */
  input_schema: unknown;
  /** Inputs to try it with. */
  samples: Array<unknown>;
  /** Its agents. */
  agents: Array<Agent>;
};

/** One page of a list. */
export type WorkflowSummaryList = {
  /** The items. */
  data: Array<WorkflowSummary>;
  /** Give it as `cursor` to get the next page; not there on the last one. */
  next_cursor?: string | null;
};

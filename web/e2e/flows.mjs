// Workflows for tests: questions of every kind, and agents that say what they should not.

const graph = (id, ask, more = "") => `workflow: ${id}\npattern: graph\nstart: ask\n${more}executors:\n  ask: { ask: ${JSON.stringify(ask)} }\n`;

export const approval = graph("ask", { prompt: "Well?", kind: "approval" });
export const free = graph("free", { prompt: "What do you think?" });
export const late = graph("late", { prompt: "Quick, what now?", within: "3s" });
export const hours = graph("hours", { prompt: "Shall we?", kind: "approval", within: "2h" });

/** Asks whatever it is given. */
export const given = "workflow: given\npattern: graph\nstart: ask\ninput: { type: object }\nexecutors:\n  ask: { ask_given: {} }\n";

/** An agent that never gives what it must: a person is asked for it, with everything that a form can have. */
const TRIP = {
  type: "object",
  required: ["where", "people", "how", "stops"],
  additionalProperties: false,
  properties: {
    where: { type: "string", title: "Destination", minLength: 2, maxLength: 40, description: "A town or a country." },
    people: { type: "integer", title: "People", minimum: 1, maximum: 9, default: 2 },
    how: { type: "string", enum: ["train", "boat"], title: "By" },
    insured: { type: "boolean", title: "With insurance", default: true },
    likes: { type: "array", title: "Likes", items: { type: "string", enum: ["sun", "snow", "food"] } },
    stops: { type: "array", title: "Stops", minItems: 1, maxItems: 3, items: { type: "object", required: ["name"], additionalProperties: false, properties: { name: { type: "string", title: "Name", pattern: "^[A-Z]" }, nights: { type: "integer", title: "Nights", minimum: 1 } } } },
  },
};
export const trip = `workflow: trip\npattern: sequential\nsequential: { agents: [guide] }\nagents:\n  guide: { instructions: Guide., output: ${JSON.stringify(TRIP)} }\n`;
export const tripScript = "rules:\n  - { text: somewhere nice }\n";

/** Three questions at once. */
export const three = `workflow: three
pattern: graph
start: begin
executors:
  begin: { transform: '"go"' }
  one: { ask: { prompt: First?, kind: approval } }
  two: { ask: { prompt: Second?, kind: approval } }
  other: { ask: { prompt: Third? } }
edges:
  - { from: begin, to: [one, two, other] }
`;

/** Two agents, one of them slow, both streaming. */
export const relay = `workflow: relay
pattern: sequential
sequential: { agents: [quick, slow] }
samples: [go]
agents:
  quick: { instructions: Say. }
  slow: { instructions: Wait. }
`;
export const relayScript = `rules:
  - { agent: quick, text: first word, delay: 300ms }
  - { agent: slow, text: "one two three four five six seven eight nine ten eleven twelve", delay: 300ms, chunk: 6, pace: 200ms }
`;

/** An agent that says what could do harm. */
export const EVIL = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script> [click](javascript:window.hacked=1) \u202egnp.exe\u202c \u0007bell";
export const evil = `workflow: evil
description: ${JSON.stringify(`Says ${EVIL}`)}
pattern: sequential
sequential: { agents: [bad] }
agents:
  bad: { instructions: Be bad., tools: [request_user_input, write_file] }
gates:
  - name: before_file_edit
`;
export const evilScript = `rules:
  - agent: bad
    turn: 1
    text: ${JSON.stringify(EVIL)}
    call:
      - { tool: write_file, arguments: { path: ${JSON.stringify("a<img src=x onerror=window.hacked=1>.txt")}, content: ${JSON.stringify(EVIL)} } }
  - agent: bad
    turn: 2
    call:
      - { tool: request_user_input, arguments: { prompt: ${JSON.stringify(`Now ${EVIL}`)}, request_type: selection, context: { note: ${JSON.stringify(EVIL)}, options: [ { value: a, label: ${JSON.stringify(EVIL)}, description: ${JSON.stringify(EVIL)} }, b ] } } }
  - { agent: bad, text: ${JSON.stringify(`# End\n\n${EVIL}`)} }
`;

/** Fails until somebody has made the file that it reads. */
export const fails = `workflow: fails
pattern: graph
start: count
input: { type: object, properties: { size: { type: integer, title: Size, minimum: 1 } }, required: [size] }
samples: [{ size: 3 }]
executors:
  count: { transform: '10 / (input.size - 3)' }
`;

/** A plan of one step that changes a file, with a person before and after it and when it fails. */
export const work = `workflow: work
pattern: phases
phases:
  planning: { planner: planner }
  control: { workers: [worker], approval: after_step }
agents:
  planner: { instructions: Plan. }
  worker: { instructions: Work., output: { type: object, required: [done], properties: { done: { type: boolean } } }, tools: [write_file] }
`;
export const workConfig = '[tools.files]\nroot = "workspace"\n';
/** A clerk who is not trusted with files, and a gate that waits for an hour. */
export const cautious = `workflow: cautious
pattern: sequential
sequential: { agents: [clerk] }
agents:
  clerk: { instructions: Work., tools: [write_file] }
gates:
  - { name: before_file_edit, within: 1h, on_timeout: deny }
`;
export const cautiousScript = `rules:
  - { turn: 1, call: [{ tool: write_file, arguments: { path: note.txt, content: first } }] }
  - { turn: 2, text: done }
`;
export const workScript = `rules:
  - { agent: planner, json: { steps: [{ title: Write it down, detail: in a file, agent: worker }] } }
  - { agent: worker, turn: 1, call: [{ tool: write_file, arguments: { path: note.txt, content: first } }] }
  - { agent: worker, turn: 2, json: { done: true } }
  - { agent: worker, turn: 3, call: [{ tool: write_file, arguments: { path: note.txt, content: second } }] }
  - { agent: worker, json: { done: true } }
`;

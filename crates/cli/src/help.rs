//! The longer help texts.

use crate::env;

/// Below the list of commands.
pub(crate) fn overview() -> String {
    let width = env::ALL.iter().map(|it| it.name.len()).max().unwrap_or_default();
    let variables = env::ALL.iter().map(|it| format!("  {:width$} {}", it.name, it.doc));
    format!(
        "Examples:\n  \
           signoff                              (the server, on http://127.0.0.1:8484)\n  \
           signoff run event_planner \"Plan a party for 30 people\"\n  \
           signoff inbox list                   (in a second terminal)\n  \
           signoff resume last\n\n\
         Environment:\n{}\n\n\
         Exit codes:\n  \
           0 done · 1 the run failed · 2 wrong usage or file · 3 waits for a person\n  \
           4 denied or aborted by a person · 130 interrupted",
        variables.collect::<Vec<_>>().join("\n")
    )
}

pub(crate) const SERVE: &str = "\
Prints where it listens, and what to try. Ctrl-C stops it: streams are ended, what is under way has
ten seconds to finish, and another server on the same store goes on with the runs, or this one
when it is started again.

Examples:
  signoff serve
  signoff serve --addr 127.0.0.1:0             (any port that is free)
  signoff serve --workflows flows --log debug";

pub(crate) const RUN: &str = "\
The final output goes to standard output, everything else to standard error. At a question
a form comes up; Esc turns it to a line: type the answer, its number, or yes/no; `?` shows what is
accepted, `e` edits what is proposed. Close standard input or press Ctrl-C to leave the run parked.

Examples:
  signoff run event_planner \"Plan a party for 30 people\"
  signoff run ./review/workflow.yaml - < letter.txt
  signoff run event_planner \"Plan a party for 30 people\" --answers answers.yaml --json
  signoff run event_planner \"Plan a party for 30 people\" --no-prompt queue

An answers file is a YAML list, each answer used once for the first request it fits:
  - Union Hall
  - { match: { agent: budget }, decision: approve }
  - { match: { kind: input }, answer: vegetarian }";

pub(crate) const CHAT: &str = "\
Everything is on the server: leaving the chat stops nothing, and questions stay in the inbox. /help
in the chat shows commands and keys. Without --server and without a workflow, OPENAI_BASE_URL or
AF_BRIDGE_BASE_URL name an endpoint of Responses to talk to.

Examples:
  signoff chat support_handoff
  signoff chat --server http://127.0.0.1:8484
  signoff chat --resume
  OPENAI_BASE_URL=https://models.example/v1 OPENAI_MODEL=gpt-5 signoff chat";

pub(crate) const INBOX: &str = "\
On a terminal `signoff inbox` is a screen that is kept up to date; ? shows its keys. Elsewhere it lists.

Examples:
  signoff inbox
  signoff inbox list --server http://127.0.0.1:8484
  signoff inbox watch --json
  signoff inbox show 3f9a_1
  signoff inbox answer 3f9a_1 \"Union Hall\"
  signoff inbox answer 3f9a_2 --decision '{\"decision\":\"reject\",\"reason\":\"too much\"}' --as ada";

pub(crate) const USER: &str = "\
Without users the server is open to programs on this machine, and to nobody else. As soon as there is
one, everybody needs a token, from this machine too.

Examples:
  signoff user add ada
  signoff user add audit-desk --role viewer
  signoff user add bob --tenant acme --role legal
  signoff user remove bob";

pub(crate) const POLICY: &str = "\
A policy holds for all workflows, besides the gates of their own. `policy` in signoff.toml names the file;
a server reads it again when it changes.

Examples:
  signoff policy check policy.yaml
  signoff policy test policy.yaml --runs 500";

pub(crate) const MCP: &str = "\
Whoever starts it can ask people: the questions wait in the data directory, and are answered with
`signoff inbox`, or in a server on the same directory. Nothing but the protocol is written to standard output.

Examples:
  signoff mcp --data-dir ~/.signoff
  SIGNOFF_TOKEN=… signoff mcp --server https://signoff.example";

pub(crate) const FORK: &str = "\
Nothing of the old run changes, and nothing up to the place is done again. If the entry at SEQ
is a decision, the new run begins just before it.

Examples:
  signoff journal last
  signoff fork last --at 12 --answer \"The Glasshouse\"";

pub(crate) const DOCTOR: &str = "\
Each check is ok, warn or fail, with what to do. The exit code is 1 if one fails. Nothing is
changed; a database of an older version is not brought up to date.

Examples:
  signoff doctor
  signoff doctor --json --store postgres://signoff@db.example/signoff";

pub(crate) const PRUNE: &str = "\
A conversation goes as a whole, with its runs, journals and requests: when all its runs are over,
have not changed for that long, and nobody is still to be told of them. The audit stays, and says
what was removed. [retention] in signoff.toml has a server do the same by itself.

Examples:
  signoff prune --older-than 30d --dry-run
  signoff prune --older-than 90d --workflow event_planner --compact";

pub(crate) const EXPORT: &str = "\
The file has the run, those that are part of it, and those before it in its conversation:
journals, requests, decisions, what waits. It has everything that was said. The place where it is
imported must have the models and tools that it uses.

Examples:
  signoff export last -o run.jsonl
  signoff export 3f9a --move -o run.jsonl
  signoff import run.jsonl --data-dir elsewhere";

pub(crate) const MIGRATE: &str = "\
Runs, journals, requests, timers, what is remembered, users, links, deliveries, conversations and
the audit, with all their numbers, in one transaction; all of it is read again and compared before
that is committed. The file is closed for good then. Stop the server first.

Examples:
  signoff migrate --to postgres://signoff@db.example/signoff
  signoff migrate --from sqlite:/srv/signoff.db --to postgres://signoff@db.example/signoff";

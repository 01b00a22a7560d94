//! The ways out of the server. A new one is one more row.

/// How somebody makes the server take a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// A run of a workflow of its own takes it.
    Run,
    /// Somebody is asked something, and all who are told of it are told.
    Asking,
    /// A client of A2A names the address.
    Push,
}

/// A way out.
#[derive(Debug)]
pub(super) struct Way {
    /// What it is called here; a workflow, webhook or model of it is this and a number.
    pub(super) name: &'static str,
    /// Whether private addresses need the operator's word besides the address itself.
    pub(super) guarded: bool,
    pub(super) by: By,
    /// The section of the configuration for an address.
    section: fn(&str, &str) -> String,
    /// What its agent has, and what its model says, for an address.
    agent: fn(&str, &str) -> (String, String),
}

fn none(_: &str, _: &str) -> String {
    String::new()
}

fn nobody(_: &str, _: &str) -> (String, String) {
    (String::new(), String::new())
}

fn call(tool: &str, arguments: &str) -> (String, String) {
    let script = format!(
        "- {{ turn: 1, call: [{{ tool: {tool}, arguments: {arguments} }}] }}\n- {{ text: done }}\n"
    );
    (format!("instructions: Go., tools: [{tool}]"), script)
}

pub(super) const WAYS: &[Way] = &[
    Way {
        name: "get",
        guarded: true,
        by: By::Run,
        section: none,
        agent: |_, url| call("http_get", &format!("{{ url: '{url}' }}")),
    },
    Way {
        name: "send",
        guarded: true,
        by: By::Run,
        section: none,
        agent: |_, url| call("http_request", &format!("{{ method: POST, url: '{url}' }}")),
    },
    Way {
        name: "hook",
        guarded: true,
        by: By::Asking,
        section: |id, url| {
            format!("[webhooks.{id}]\nurl = '{url}'\nsecret_env = 'HOOK_SECRET'\nALLOW\n")
        },
        agent: nobody,
    },
    Way {
        name: "chat",
        guarded: true,
        by: By::Asking,
        section: |id, _| format!("[channels.{id}]\nkind = 'slack'\nurl_env = 'URL_{id}'\nALLOW\n"),
        agent: nobody,
    },
    Way {
        name: "bot",
        guarded: true,
        by: By::Asking,
        section: |id, url| {
            format!(
                "[channels.{id}]\nkind = 'slack'\ntoken_env = 'BOT_TOKEN'\nchannel = 'C1'\napi = '{url}'\nALLOW\n"
            )
        },
        agent: nobody,
    },
    Way { name: "push", guarded: true, by: By::Push, section: none, agent: nobody },
    Way {
        name: "model",
        guarded: false,
        by: By::Run,
        section: |id, url| {
            format!(
                "[models.{id}]\nprovider = 'openai-chat'\nmodel = 'm'\nmax_retries = 0\nbase_url = '{url}'\n"
            )
        },
        agent: |id, _| (format!("instructions: Go., model: {id}"), String::new()),
    },
    Way {
        name: "claude",
        guarded: false,
        by: By::Run,
        section: |id, url| {
            format!(
                "[models.{id}]\nprovider = 'anthropic'\nmodel = 'm'\nmax_retries = 0\nbase_url = '{url}'\n"
            )
        },
        agent: |id, _| (format!("instructions: Go., model: {id}"), String::new()),
    },
    Way {
        name: "mcp",
        guarded: false,
        by: By::Run,
        section: |id, url| format!("[mcp.{id}]\nurl = '{url}'\n"),
        agent: |id, _| {
            (format!("instructions: Go., tools: ['mcp:{id}/*']"), "- { text: done }\n".to_owned())
        },
    },
    Way {
        name: "far",
        guarded: false,
        by: By::Run,
        section: |id, url| format!("[a2a.{id}]\nurl = '{url}'\n"),
        agent: |id, _| (format!("remote: {id}"), String::new()),
    },
];

impl Way {
    /// The section of the configuration that makes `url` number `n` of this way.
    pub(super) fn section(&self, n: usize, url: &str, allow: bool) -> String {
        let section = (self.section)(&self.id(n), url);
        section.replace("ALLOW", &format!("allow_private = {allow}"))
    }

    pub(super) fn id(&self, n: usize) -> String {
        format!("{}{n}", self.name)
    }

    /// The variable that holds an address which is a secret.
    pub(super) fn variable(&self, n: usize) -> Option<String> {
        (self.name == "chat").then(|| format!("URL_{}", self.id(n)))
    }

    /// The workflow of number `n` and the script of its model, if a run takes this way.
    pub(super) fn flow(&self, n: usize, url: &str) -> Option<(String, String)> {
        let id = self.id(n);
        let (agent, script) = (self.agent)(&id, url);
        let flow = format!(
            "workflow: {id}\npattern: sequential\nsequential: {{ agents: [a] }}\nagents:\n  a: {{ {agent} }}\n"
        );
        (self.by == By::Run).then_some((flow, script))
    }
}

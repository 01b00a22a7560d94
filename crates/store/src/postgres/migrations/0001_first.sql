-- One row: what every batch of changes begins with. Its lock lets one batch at a time commit, over all nodes, so that
-- numbers grow in the order of commits and the audit is one chain.
CREATE TABLE state (
    one BOOLEAN PRIMARY KEY DEFAULT true CHECK (one),
    id TEXT NOT NULL,                        -- tells this database from all others
    changes BIGINT NOT NULL DEFAULT 0,       -- batches that changed something
    -- The last number of each kind that was given.
    runs BIGINT NOT NULL DEFAULT 0,
    requests BIGINT NOT NULL DEFAULT 0,
    notes BIGINT NOT NULL DEFAULT 0,
    events BIGINT NOT NULL DEFAULT 0,
    timers BIGINT NOT NULL DEFAULT 0,
    conversations BIGINT NOT NULL DEFAULT 0,
    grants BIGINT NOT NULL DEFAULT 0,
    audit BIGINT NOT NULL DEFAULT 0,
    audit_hash TEXT NOT NULL DEFAULT ''      -- of that line
) WITH (fillfactor = 10);
INSERT INTO state (id) VALUES (gen_random_uuid()::text);

-- Processes that have opened this database. Each holds an advisory lock while it is connected.
CREATE TABLE nodes (
    id TEXT COLLATE "C" PRIMARY KEY,
    lock BIGINT NOT NULL,
    batch BIGINT NOT NULL DEFAULT 0,         -- the last one it committed
    missing_since TIMESTAMPTZ,               -- when somebody first found its lock free
    gone BOOLEAN NOT NULL DEFAULT false      -- its leases were ended because of that
) WITH (fillfactor = 50);

-- One row per run. `no` is how the other tables name it. There is room in a page for the next state of its rows, so
-- that an append touches no index.
CREATE TABLE runs (
    no BIGINT PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    root TEXT COLLATE "C",                   -- NULL for a run that is not part of another
    tenant TEXT COLLATE "C" NOT NULL,
    workflow TEXT NOT NULL,
    version TEXT NOT NULL,
    conversation TEXT COLLATE "C" NOT NULL,
    status TEXT NOT NULL,
    head BIGINT NOT NULL,                    -- position of the last journal entry
    ready BOOLEAN NOT NULL,                  -- somebody should work on it
    lease_node TEXT COLLATE "C",
    lease_until BIGINT NOT NULL DEFAULT 0,   -- 0 where there is no lease
    epoch BIGINT NOT NULL DEFAULT 0,
    next_input BIGINT NOT NULL DEFAULT 1,
    parent_run TEXT COLLATE "C",
    parent_activation BIGINT,
    parent_key TEXT,
    error TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX runs_ready ON runs (lease_until, no) WHERE ready;
CREATE INDEX runs_conversation ON runs (conversation, no);
CREATE INDEX runs_root ON runs (root) WHERE root IS NOT NULL;
CREATE INDEX runs_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;
-- Indexes that serve other tenants leave the local one out, so that who works alone does not pay for them.
CREATE INDEX runs_tenant ON runs (tenant, no) WHERE tenant <> 'local';

-- One row per append. The key is a second fence: no position is written twice.
CREATE TABLE journal (
    run BIGINT NOT NULL,
    seq BIGINT NOT NULL,                     -- position of the first entry in `body`
    count BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE snapshots (
    run BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL,
    body BYTEA NOT NULL
);

CREATE TABLE definitions (
    hash TEXT COLLATE "C" PRIMARY KEY,
    id TEXT NOT NULL,
    body TEXT NOT NULL
);

-- Bodies are JSON as text: where it says \u0000, jsonb refuses it. What is searched by stands in columns of its own.
CREATE TABLE requests (
    no BIGINT PRIMARY KEY,                   -- the order of the inbox
    run BIGINT NOT NULL,
    number BIGINT NOT NULL,                  -- within its run
    root TEXT COLLATE "C",                   -- NULL for a run that is not part of another
    tenant TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL,
    agent TEXT,                              -- the last of its path
    risk TEXT,
    turn TEXT,                               -- of its agent, in which others may be asked too
    prompt TEXT NOT NULL,                    -- in lower case, to search in
    status TEXT NOT NULL,
    version BIGINT NOT NULL DEFAULT 1,
    assignee TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    decision TEXT,
    decided_by TEXT,
    decided_at BIGINT,
    sent TEXT,                               -- the message that decided it, where a dialect gives messages ids
    withdrawn TEXT,                          -- why it was taken back, where a decision on another is why
    deferred_until BIGINT,                   -- it is put off until then
    body TEXT NOT NULL,
    UNIQUE (run, number)
);
CREATE INDEX requests_inbox ON requests (no) WHERE status = 'pending';
CREATE INDEX requests_tenant ON requests (tenant, no) WHERE status = 'pending' AND tenant <> 'local';
CREATE INDEX requests_root ON requests (root) WHERE root IS NOT NULL;

CREATE TABLE inputs (
    run BIGINT NOT NULL,
    no BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, no)
);

CREATE TABLE timers (
    no BIGINT PRIMARY KEY,
    due_at BIGINT NOT NULL,
    run BIGINT NOT NULL,
    what TEXT NOT NULL,                      -- 'timer', 'request', 'reminder', 'deferral' or 'run'
    number BIGINT NOT NULL,                  -- the activation, or the request's number
    key TEXT COLLATE "C" NOT NULL,
    UNIQUE (run, what, number, key)
);
CREATE INDEX timers_due ON timers (due_at, no);

CREATE TABLE audit (
    no BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    by TEXT NOT NULL,
    request TEXT NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    decision TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE INDEX audit_tenant ON audit (tenant, no) WHERE tenant <> 'local';

-- What people note on requests besides deciding them.
CREATE TABLE notes (
    no BIGINT PRIMARY KEY,
    run BIGINT NOT NULL,
    number BIGINT NOT NULL,                  -- of the request, within its run
    at BIGINT NOT NULL,
    by TEXT NOT NULL,
    what TEXT NOT NULL
);
CREATE INDEX notes_request ON notes (run, number);

-- Who may come in. Of a token only its hash is kept.
CREATE TABLE users (
    name TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT NOT NULL,
    roles TEXT NOT NULL,
    token TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

-- What is kept of a conversation besides its runs.
CREATE TABLE conversations (
    no BIGINT PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    metadata TEXT NOT NULL,
    texts TEXT[] NOT NULL,                   -- "name":"value" for each text in it, to search by
    added TEXT NOT NULL,
    deleted BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (tenant, id)
);
CREATE INDEX conversations_texts ON conversations USING gin (texts);

-- Policies that were set while the server runs, each version; the last counts.
CREATE TABLE policies (
    tenant TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    body TEXT,                               -- NULL where it was taken back
    by TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (tenant, version)
);

-- Decisions that are remembered.
CREATE TABLE grants (
    no BIGINT PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    tenant TEXT COLLATE "C" NOT NULL,
    body TEXT NOT NULL,
    times BIGINT,                            -- how often it may still be used; NULL for any
    ended BOOLEAN NOT NULL DEFAULT false
);
CREATE INDEX grants_tenant ON grants (tenant, no) WHERE NOT ended;

-- Who is told elsewhere of what happens to requests, and how far.
CREATE TABLE webhooks (
    name TEXT COLLATE "C" PRIMARY KEY,
    cursor BIGINT NOT NULL,                  -- the last event that was delivered or given up
    lease_node TEXT COLLATE "C",             -- who delivers
    lease_until BIGINT NOT NULL              -- also says when somebody last did
);

-- Who is told elsewhere how a single run goes on, and how far they were told of its journal.
CREATE TABLE pushes (
    run BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    body TEXT NOT NULL,                      -- where to and with what
    seq BIGINT NOT NULL,                     -- the last entry they were told of
    parts BOOLEAN NOT NULL,                  -- runs that are part of it count as well
    of_parts TEXT NOT NULL DEFAULT '',
    looked_at BIGINT NOT NULL DEFAULT 0,     -- when those were last looked at
    failed BIGINT NOT NULL DEFAULT 0,
    failing_since BIGINT,
    due_at BIGINT NOT NULL DEFAULT 0,        -- not before
    lease_node TEXT COLLATE "C",             -- who tells them
    lease_until BIGINT NOT NULL DEFAULT 0,
    done BOOLEAN NOT NULL DEFAULT false,     -- they are told nothing more
    PRIMARY KEY (run, id)
);
CREATE INDEX pushes_live ON pushes (due_at) WHERE NOT done;

-- What happens to requests, in order, while there is somebody to be told.
CREATE TABLE events (
    no BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    what TEXT NOT NULL,
    run BIGINT NOT NULL,
    number BIGINT NOT NULL                   -- of the request, within its run
);

-- What this database alone knows, to sign with. Made once, when it is first wanted.
CREATE TABLE secrets (
    name TEXT COLLATE "C" PRIMARY KEY,
    secret TEXT NOT NULL
);

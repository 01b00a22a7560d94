-- One row per run. `no` is how the other tables name it.
CREATE TABLE runs (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    root TEXT,                               -- NULL for a run that is not part of another
    workflow TEXT NOT NULL,
    version TEXT NOT NULL,
    conversation TEXT NOT NULL,
    status TEXT NOT NULL,
    head INTEGER NOT NULL,                   -- position of the last journal entry
    ready INTEGER NOT NULL,                  -- 1: somebody should work on it
    lease_node TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0,  -- 0 where there is no lease
    epoch INTEGER NOT NULL DEFAULT 0,
    next_input INTEGER NOT NULL DEFAULT 1,
    parent_run TEXT,
    parent_activation INTEGER,
    parent_key TEXT,
    error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE INDEX runs_ready ON runs (lease_until) WHERE ready = 1;
CREATE INDEX runs_conversation ON runs (conversation);
CREATE INDEX runs_root ON runs (root) WHERE root IS NOT NULL;
CREATE INDEX runs_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;

-- One row per append. Rows only ever go to the end: a key that clusters by run would dirty a page per
-- run in every commit.
CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,                    -- position of the first entry in `body`
    count INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX journal_run ON journal (run, seq);

CREATE TABLE snapshots (
    run INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL
);

CREATE TABLE definitions (
    hash TEXT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL,
    body TEXT NOT NULL
);

-- Ids, workflow and conversation are those of the run: each index less is a page less to write.
CREATE TABLE requests (
    no INTEGER PRIMARY KEY,                  -- the order of the inbox
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,                 -- within its run
    root TEXT,                               -- NULL for a run that is not part of another
    kind TEXT NOT NULL,
    agent TEXT,                              -- the last of its path
    status TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    decision TEXT,
    decided_by TEXT,
    decided_at INTEGER,
    body TEXT NOT NULL
);
CREATE INDEX requests_inbox ON requests (no) WHERE status = 'pending';
CREATE UNIQUE INDEX requests_run ON requests (run, number);
CREATE INDEX requests_root ON requests (root) WHERE root IS NOT NULL;

CREATE TABLE inputs (
    run INTEGER NOT NULL,
    no INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, no)
) WITHOUT ROWID;

CREATE TABLE timers (
    no INTEGER PRIMARY KEY,
    due_at INTEGER NOT NULL,
    run INTEGER NOT NULL,
    what TEXT NOT NULL,                      -- 'timer', 'request' or 'run'
    number INTEGER NOT NULL,                 -- the activation, or the request's number
    key TEXT NOT NULL
);
CREATE INDEX timers_due ON timers (due_at);
CREATE UNIQUE INDEX timers_what ON timers (run, what, number, key);

CREATE TABLE audit (
    no INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    request TEXT NOT NULL,
    decision TEXT NOT NULL,
    hash TEXT NOT NULL
);

-- Whose things are. Indexes that serve other tenants leave the local one out, so that who works alone does
-- not pay for them.
ALTER TABLE runs ADD COLUMN tenant TEXT NOT NULL DEFAULT 'local';
CREATE INDEX runs_tenant ON runs (tenant) WHERE tenant <> 'local';
ALTER TABLE requests ADD COLUMN tenant TEXT NOT NULL DEFAULT 'local';
CREATE INDEX requests_tenant ON requests (tenant, no) WHERE status = 'pending' AND tenant <> 'local';
ALTER TABLE audit ADD COLUMN tenant TEXT NOT NULL DEFAULT 'local';
CREATE INDEX audit_tenant ON audit (tenant) WHERE tenant <> 'local';

-- Who looks after a request.
ALTER TABLE requests ADD COLUMN assignee TEXT;

-- What people note on requests besides deciding them.
CREATE TABLE notes (
    no INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,                 -- of the request, within its run
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    what TEXT NOT NULL
);
CREATE INDEX notes_request ON notes (run, number);

-- Who may come in. Of a token only its hash is kept.
CREATE TABLE users (
    name TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    roles TEXT NOT NULL,
    token TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
);

-- What is kept of a conversation besides its runs.
CREATE TABLE conversations (
    no INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    metadata TEXT NOT NULL,
    added TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (tenant, id)
);

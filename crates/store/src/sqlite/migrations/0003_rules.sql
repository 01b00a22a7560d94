-- Policies that were set while the server runs, each version; the last counts.
CREATE TABLE policies (
    tenant TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT,                               -- NULL where it was taken back
    by TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (tenant, version)
) WITHOUT ROWID;

-- Decisions that are remembered.
CREATE TABLE grants (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    body TEXT NOT NULL,
    times INTEGER,                           -- how often it may still be used; NULL for any
    ended INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX grants_tenant ON grants (tenant) WHERE ended = 0;

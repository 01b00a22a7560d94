-- Who is told elsewhere how a single run goes on, and how far they were told of its journal.
CREATE TABLE pushes (
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,                      -- where to and with what
    seq INTEGER NOT NULL,                    -- the last entry they were told of
    parts INTEGER NOT NULL DEFAULT 0,        -- 1: runs that are part of it count as well
    of_parts TEXT NOT NULL DEFAULT '',
    looked_at INTEGER NOT NULL DEFAULT 0,    -- when those were last looked at
    failed INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER,
    due_at INTEGER NOT NULL DEFAULT 0,       -- not before
    lease_node TEXT,                         -- who tells them
    lease_until INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,         -- 1: they are told nothing more
    PRIMARY KEY (run, id)
) WITHOUT ROWID;
CREATE INDEX pushes_live ON pushes (due_at) WHERE done = 0;

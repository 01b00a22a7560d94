-- Who is told elsewhere of what happens to requests, and how far.
CREATE TABLE webhooks (
    name TEXT NOT NULL PRIMARY KEY,
    cursor INTEGER NOT NULL,                 -- the last event that was delivered or given up
    lease_node TEXT,                         -- who delivers
    lease_until INTEGER NOT NULL             -- also says when somebody last did
) WITHOUT ROWID;

-- What happens to requests, in order, while there is somebody to be told. Numbers are never used again: those who
-- are told remember the last.
CREATE TABLE events (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    what TEXT NOT NULL,
    run INTEGER NOT NULL,
    number INTEGER NOT NULL                  -- of the request, within its run
);

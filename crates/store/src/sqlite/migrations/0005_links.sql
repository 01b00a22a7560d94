-- What this database alone knows, to sign with. Made once, when it is first wanted.
CREATE TABLE secrets (
    name TEXT NOT NULL PRIMARY KEY,
    secret TEXT NOT NULL
) WITHOUT ROWID;

-- Which version of a request somebody has opened last, so that the audit says so once.
CREATE TABLE views (
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    person TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (run, number, person)
) WITHOUT ROWID;

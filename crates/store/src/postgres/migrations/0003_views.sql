-- Which version of a request somebody has opened last, so that the audit says so once.
CREATE TABLE views (
    run BIGINT NOT NULL,
    number BIGINT NOT NULL,
    person TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (run, number, person)
);

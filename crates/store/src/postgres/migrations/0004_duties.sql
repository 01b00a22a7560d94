-- What one node at a time does for all, and who does it.
CREATE TABLE duties (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    lease_node TEXT COLLATE "C",
    lease_until BIGINT NOT NULL
);

-- There are few of them, and they are taken off whenever what waits is counted.
CREATE INDEX requests_deferred ON requests (no) WHERE status = 'pending' AND deferred_until IS NOT NULL;

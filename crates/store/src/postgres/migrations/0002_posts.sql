-- What a request is known by where somebody was told of it, for as long as it may have to be changed there.
CREATE TABLE posts (
    webhook TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    reference TEXT NOT NULL,
    PRIMARY KEY (webhook, request)
);

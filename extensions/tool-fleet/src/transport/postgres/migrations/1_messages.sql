CREATE TABLE store_version (version bigint NOT NULL);
INSERT INTO store_version VALUES (0);

-- The receivers of each process. Logged: they are known after a crash of the server, so that a message then waits for them.
CREATE TABLE listeners (
    process text COLLATE "C" NOT NULL,
    -- The queue of one receiver, or the one that the members of a group with this pattern share.
    queue text COLLATE "C" NOT NULL,
    pattern text COLLATE "C" NOT NULL,
    group_name text COLLATE "C",
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (process, queue)
) WITH (fillfactor = 50);
CREATE INDEX listeners_of_pattern ON listeners (pattern);

-- One row for each receiver or group of a message. A crash of the server loses them, which a transport may do.
CREATE UNLOGGED TABLE messages (
    queue text COLLATE "C" NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    subject text COLLATE "C" NOT NULL,
    reply text COLLATE "C",
    -- NULL: a message that named this subject for its answer had no receiver.
    body bytea,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (queue, id)
);
-- Sealed bytes cannot be compressed.
ALTER TABLE messages ALTER COLUMN body SET STORAGE EXTERNAL;

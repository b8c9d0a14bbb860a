-- The durable calls of each pool. Logged: what was acknowledged outlives a crash of the server.
CREATE TABLE calls (
    pool text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    -- The hash of the definition.
    key text COLLATE "C" NOT NULL,
    -- The hash of the request: a call that was removed and stored again has another one.
    request text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    epoch bigint NOT NULL DEFAULT 0,
    workers bigint NOT NULL DEFAULT 0,
    max_workers bigint NOT NULL,
    was_started boolean NOT NULL DEFAULT false,
    cancel_requested boolean NOT NULL DEFAULT false,
    worker text COLLATE "C",
    lease interval,
    lease_ends_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- The end of the age of a queued or ended call.
    expires_at timestamptz NOT NULL,
    -- The sealed request, or the result of a finished call; empty once an interrupted call was answered.
    body bytea NOT NULL,
    PRIMARY KEY (pool, id)
);
CREATE INDEX calls_in_order ON calls (pool, state, number);
-- Sealed bytes cannot be compressed.
ALTER TABLE calls ALTER COLUMN body SET STORAGE EXTERNAL;

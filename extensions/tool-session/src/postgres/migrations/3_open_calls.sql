-- Hashes are those of an address, of its parts, and of the names of its session, as `ContentHash` spells them. An absent app or user counts as an
-- empty one, as it does in sessions.
CREATE TABLE open_calls (
    address_hash TEXT COLLATE "C" PRIMARY KEY,
    run_hash TEXT COLLATE "C",
    call_hash TEXT COLLATE "C" NOT NULL,
    app_hash TEXT COLLATE "C" NOT NULL,
    user_hash TEXT COLLATE "C" NOT NULL,
    session_hash TEXT COLLATE "C",
    tag TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT,
    consumed_at BIGINT,
    record TEXT NOT NULL
);

CREATE INDEX open_calls_of_runs ON open_calls (run_hash) WHERE consumed_at IS NULL;
CREATE INDEX open_calls_of_ids ON open_calls (call_hash) WHERE consumed_at IS NULL;
CREATE INDEX open_calls_of_sessions ON open_calls (app_hash, user_hash, session_hash);
CREATE INDEX expiring_open_calls ON open_calls (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX consumed_open_calls ON open_calls (consumed_at) WHERE consumed_at IS NOT NULL;

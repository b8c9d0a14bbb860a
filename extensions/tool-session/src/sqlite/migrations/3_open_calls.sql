-- Hashes are those of an address, of its parts, and of the names of its session, as `ContentHash` spells them. An absent app or user counts as an
-- empty one, as it does in sessions.
CREATE TABLE open_calls (
    address_hash TEXT NOT NULL PRIMARY KEY,
    run_hash TEXT,
    call_hash TEXT NOT NULL,
    app_hash TEXT NOT NULL,
    user_hash TEXT NOT NULL,
    session_hash TEXT,
    tag TEXT NOT NULL,
    expires_at INTEGER,
    consumed_at INTEGER,
    record TEXT NOT NULL
) STRICT;

CREATE INDEX open_calls_of_runs ON open_calls (run_hash) WHERE consumed_at IS NULL;
CREATE INDEX open_calls_of_ids ON open_calls (call_hash) WHERE consumed_at IS NULL;
CREATE INDEX open_calls_of_sessions ON open_calls (app_hash, user_hash, session_hash);
CREATE INDEX expiring_open_calls ON open_calls (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX consumed_open_calls ON open_calls (consumed_at) WHERE consumed_at IS NOT NULL;

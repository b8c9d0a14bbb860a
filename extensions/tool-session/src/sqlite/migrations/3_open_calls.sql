-- Hashes are those of the parts of an address, as `ContentHash` spells them.
CREATE TABLE open_calls (
    address_hash TEXT NOT NULL PRIMARY KEY,
    run_hash TEXT,
    call_hash TEXT NOT NULL,
    tag TEXT NOT NULL,
    expires_at INTEGER,
    consumed_at INTEGER,
    record TEXT NOT NULL
) STRICT;

CREATE INDEX open_calls_of_runs ON open_calls (run_hash) WHERE consumed_at IS NULL;
CREATE INDEX open_calls_of_ids ON open_calls (call_hash) WHERE consumed_at IS NULL;
CREATE INDEX expiring_open_calls ON open_calls (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX consumed_open_calls ON open_calls (consumed_at) WHERE consumed_at IS NOT NULL;

CREATE TABLE sessions (
    row_id INTEGER PRIMARY KEY,
    app TEXT NOT NULL,
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    title TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    origin_id TEXT,
    origin_entry INTEGER,
    state TEXT NOT NULL,
    lease_run TEXT,
    lease_holder TEXT,
    lease_epoch INTEGER,
    lease_expires_at INTEGER,
    lease_duration INTEGER,
    lease_released INTEGER,
    lease_usage TEXT,
    UNIQUE (app, user_id, id)
) STRICT;

CREATE INDEX sessions_of_apps ON sessions (app, updated_at, user_id, id);
CREATE INDEX sessions_of_users ON sessions (app, user_id, updated_at, id);
CREATE INDEX unreleased_leases ON sessions (app, lease_expires_at) WHERE lease_released = 0;

CREATE TABLE entries (
    session INTEGER NOT NULL REFERENCES sessions (row_id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    time INTEGER NOT NULL,
    run TEXT NOT NULL,
    parent_run TEXT,
    agent TEXT,
    branch TEXT,
    view TEXT,
    outer_call TEXT,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (session, number)
) STRICT;

CREATE INDEX entries_of_kinds ON entries (session, kind, number);

-- The state of users, and with an empty user and the scope `app` of apps.
CREATE TABLE shared_state (
    app TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('app', 'user')),
    user_id TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (app, scope, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE epochs (last INTEGER NOT NULL) STRICT;
INSERT INTO epochs VALUES (0);

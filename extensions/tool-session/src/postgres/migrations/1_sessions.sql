CREATE TABLE store_version (version BIGINT NOT NULL);
INSERT INTO store_version VALUES (0);

-- Names are compared and ordered byte by byte.
CREATE TABLE sessions (
    row_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    entries BIGINT NOT NULL,
    title TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    origin_id TEXT,
    origin_entry BIGINT,
    state TEXT NOT NULL,
    lease_run TEXT,
    lease_holder TEXT,
    lease_epoch BIGINT,
    lease_expires_at BIGINT,
    lease_duration BIGINT,
    lease_released BIGINT,
    lease_usage TEXT,
    UNIQUE (app, user_id, id)
);

CREATE INDEX sessions_of_apps ON sessions (app, updated_at, user_id, id);
CREATE INDEX sessions_of_users ON sessions (app, user_id, updated_at, id);
CREATE INDEX unreleased_leases ON sessions (app, lease_expires_at) WHERE lease_released = 0;

CREATE TABLE entries (
    session BIGINT NOT NULL REFERENCES sessions (row_id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    time BIGINT NOT NULL,
    run TEXT COLLATE "C" NOT NULL,
    parent_run TEXT,
    agent TEXT,
    branch TEXT COLLATE "C",
    view TEXT COLLATE "C",
    outer_call TEXT,
    kind TEXT COLLATE "C" NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session, number)
);

CREATE INDEX entries_of_kinds ON entries (session, kind, number);

-- The state of users, and with an empty user and the scope `app` of apps.
CREATE TABLE shared_state (
    app TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL CHECK (scope IN ('app', 'user')),
    user_id TEXT COLLATE "C" NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (app, scope, user_id)
);

CREATE SEQUENCE epochs AS BIGINT;

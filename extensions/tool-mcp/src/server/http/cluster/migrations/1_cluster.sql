CREATE TABLE store_version (version BIGINT NOT NULL);
INSERT INTO store_version VALUES (0);

-- Bodies are encrypted and authenticated together with the other columns of their row. Names are compared byte by byte.

-- The key of each server, sealed under the key of the program.
CREATE TABLE servers (
    app TEXT COLLATE "C" PRIMARY KEY,
    body TEXT NOT NULL
);

CREATE TABLE processes (
    app TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (app, id)
);

-- The ids of sessions and callers are hashes. A session that is being opened has no body. `stream_position` is the last event at the time when the
-- session, or a stream of it without a position of its own, was opened.
CREATE TABLE sessions (
    app TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    caller TEXT COLLATE "C",
    used_at TIMESTAMPTZ NOT NULL,
    stream_position BIGINT NOT NULL,
    body TEXT,
    PRIMARY KEY (app, id)
);

CREATE INDEX sessions_by_use ON sessions (app, used_at);
CREATE INDEX sessions_of_callers ON sessions (app, caller) WHERE caller IS NOT NULL;

-- What a client set in its session: its log level and its subscriptions.
CREATE TABLE session_settings (
    app TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (app, session, name),
    FOREIGN KEY (app, session) REFERENCES sessions (app, id) ON DELETE CASCADE
);

-- The events of the streams of clients, and the messages of processes to each other. The process `writer` counts its events.
CREATE TABLE events (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app TEXT COLLATE "C" NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    writer TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    stored_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    body TEXT NOT NULL,
    UNIQUE (app, writer, number)
);

CREATE INDEX events_of_streams ON events (app, stream, id);
CREATE INDEX events_by_time ON events (app, stored_at);

CREATE TABLE used_states (
    app TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    use TEXT COLLATE "C" NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (app, id)
);

CREATE INDEX used_states_by_expiry ON used_states (app, expires_at);

-- The processes that have tasks.
CREATE TABLE tasks (
    app TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    process TEXT COLLATE "C" NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (app, id)
);

CREATE INDEX tasks_by_expiry ON tasks (app, expires_at);

-- Appends an event to its stream, once: the ids of a stream ascend in the order in which its events can be read.
CREATE FUNCTION append_event(
    the_app TEXT, the_stream TEXT, the_writer TEXT, the_number BIGINT, the_body TEXT, the_channel TEXT
) RETURNS BIGINT LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    the_id BIGINT;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(the_app || ' ' || the_stream, 0));
    SELECT id INTO the_id FROM events WHERE app = the_app AND writer = the_writer AND number = the_number;
    IF FOUND THEN
        RETURN the_id;
    END IF;
    INSERT INTO events (app, stream, writer, number, body)
        VALUES (the_app, the_stream, the_writer, the_number, the_body) RETURNING id INTO the_id;
    IF the_channel <> '' THEN
        PERFORM pg_notify(the_channel, the_stream);
    END IF;
    RETURN the_id;
END
$$;

-- Opens a session unless a limit is reached; returns the limit: `server`, `caller`, or nothing.
CREATE FUNCTION open_session(
    the_app TEXT, the_id TEXT, the_caller TEXT, idle_seconds DOUBLE PRECISION, max_sessions BIGINT, max_of_caller BIGINT
) RETURNS TEXT LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    oldest TIMESTAMPTZ := now() - make_interval(secs => idle_seconds);
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(the_app || ' sessions', 0));
    IF (SELECT count(*) FROM sessions WHERE app = the_app AND used_at > oldest AND id <> the_id) >= max_sessions THEN
        RETURN 'server';
    END IF;
    IF the_caller <> '' AND (
        SELECT count(*) FROM sessions WHERE app = the_app AND caller = the_caller AND used_at > oldest AND id <> the_id
    ) >= max_of_caller THEN
        RETURN 'caller';
    END IF;
    INSERT INTO sessions (app, id, caller, used_at, stream_position)
        VALUES (the_app, the_id, nullif(the_caller, ''), now(), (SELECT coalesce(max(id), 0) FROM events))
        ON CONFLICT (app, id) DO NOTHING;
    RETURN '';
END
$$;

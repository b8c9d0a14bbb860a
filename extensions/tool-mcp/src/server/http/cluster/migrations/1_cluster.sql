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

-- The processes that have tasks. The ids of tasks and callers are hashes.
CREATE TABLE tasks (
    app TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    process TEXT COLLATE "C" NOT NULL,
    caller TEXT COLLATE "C",
    expires_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    PRIMARY KEY (app, id)
);

CREATE INDEX tasks_by_expiry ON tasks (app, expires_at);
CREATE INDEX tasks_of_callers ON tasks (app, caller) WHERE caller IS NOT NULL;

-- The calls of callers that processes have reserved. Without a log: after a crash, the processes store them again.
CREATE UNLOGGED TABLE reserved_calls (
    app TEXT COLLATE "C" NOT NULL,
    process TEXT COLLATE "C" NOT NULL,
    caller TEXT COLLATE "C" NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (app, caller, process)
);

CREATE INDEX reserved_calls_of_processes ON reserved_calls (app, process);

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

-- Reserves calls of a caller, at least those that run, for a process; returns their number, with which those of all processes that live are at most
-- the limit.
CREATE FUNCTION reserve_calls(
    the_app TEXT, the_process TEXT, the_caller TEXT, running BIGINT, wanted BIGINT, max_calls BIGINT, process_seconds DOUBLE PRECISION
) RETURNS BIGINT LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    others BIGINT;
    reserved BIGINT;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(the_app || ' calls ' || the_caller, 0));
    SELECT coalesce(sum(c.calls), 0) INTO others FROM reserved_calls AS c JOIN processes AS p ON p.app = c.app AND p.id = c.process
        WHERE c.app = the_app AND c.caller = the_caller AND c.process <> the_process
        AND p.seen_at > now() - make_interval(secs => process_seconds);
    reserved := greatest(running, least(wanted, max_calls - others));
    INSERT INTO reserved_calls (app, process, caller, calls) VALUES (the_app, the_process, the_caller, reserved)
        ON CONFLICT (app, process, caller) DO UPDATE SET calls = excluded.calls;
    RETURN reserved;
END
$$;

-- Starts a task unless a limit is reached; returns the limit: `server`, `caller`, or nothing. Of a process that ended, no task counts. At a limit, the
-- task that ended first gives up its place.
CREATE FUNCTION start_task(
    the_app TEXT, the_id TEXT, the_process TEXT, the_caller TEXT, lifetime_seconds DOUBLE PRECISION, max_tasks BIGINT, max_of_caller BIGINT,
    process_seconds DOUBLE PRECISION
) RETURNS TEXT LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    alive TEXT[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(the_app || ' tasks', 0));
    IF EXISTS (SELECT 1 FROM tasks WHERE app = the_app AND id = the_id) THEN
        RETURN '';
    END IF;
    alive := ARRAY(SELECT id FROM processes WHERE app = the_app AND seen_at > now() - make_interval(secs => process_seconds));
    IF the_caller <> '' AND (
        SELECT count(*) FROM tasks WHERE app = the_app AND caller = the_caller AND expires_at > now() AND process = ANY (alive)
    ) >= max_of_caller THEN
        DELETE FROM tasks WHERE app = the_app AND id = (
            SELECT id FROM tasks WHERE app = the_app AND caller = the_caller AND expires_at > now() AND process = ANY (alive)
            AND ended_at IS NOT NULL ORDER BY ended_at LIMIT 1
        );
        IF NOT FOUND THEN
            RETURN 'caller';
        END IF;
    END IF;
    IF (SELECT count(*) FROM tasks WHERE app = the_app AND expires_at > now() AND process = ANY (alive)) >= max_tasks THEN
        DELETE FROM tasks WHERE app = the_app AND id = (
            SELECT id FROM tasks WHERE app = the_app AND expires_at > now() AND process = ANY (alive)
            AND ended_at IS NOT NULL ORDER BY ended_at LIMIT 1
        );
        IF NOT FOUND THEN
            RETURN 'server';
        END IF;
    END IF;
    INSERT INTO tasks (app, id, process, caller, expires_at)
        VALUES (the_app, the_id, the_process, nullif(the_caller, ''), now() + make_interval(secs => lifetime_seconds));
    RETURN '';
END
$$;

-- Appends events to their streams, each once, and returns their ids: the ids of a stream ascend in the order in which its events can be read. The
-- locks of several streams are taken in one order. `append_event` stays for processes of the version before.
CREATE FUNCTION append_events(
    the_app TEXT, the_writer TEXT, the_streams TEXT[], the_numbers BIGINT[], the_bodies TEXT[], the_channel TEXT
) RETURNS BIGINT[] LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    the_stream TEXT;
    the_id BIGINT;
    the_ids BIGINT[] := '{}';
BEGIN
    FOR the_stream IN SELECT DISTINCT s FROM unnest(the_streams) AS s ORDER BY s LOOP
        PERFORM pg_advisory_xact_lock(hashtextextended(the_app || ' ' || the_stream, 0));
        IF the_channel <> '' THEN
            PERFORM pg_notify(the_channel, the_stream);
        END IF;
    END LOOP;
    FOR place IN 1 .. cardinality(the_numbers) LOOP
        INSERT INTO events (app, stream, writer, number, body)
            VALUES (the_app, the_streams[place], the_writer, the_numbers[place], the_bodies[place])
            ON CONFLICT (app, writer, number) DO NOTHING RETURNING id INTO the_id;
        IF NOT FOUND THEN
            SELECT id INTO the_id FROM events WHERE app = the_app AND writer = the_writer AND number = the_numbers[place];
        END IF;
        the_ids := the_ids || the_id;
    END LOOP;
    RETURN the_ids;
END
$$;

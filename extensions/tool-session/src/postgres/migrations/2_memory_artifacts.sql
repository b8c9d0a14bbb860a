-- The users who have notes. The row id is part of each term of the index, so that a search reads the terms of one user only.
CREATE TABLE note_users (
    row_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    notes BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    UNIQUE (app, user_id)
);

CREATE TABLE notes (
    row_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    note_user BIGINT NOT NULL REFERENCES note_users (row_id) ON DELETE CASCADE,
    session BIGINT REFERENCES sessions (row_id) ON DELETE CASCADE,
    time BIGINT NOT NULL,
    author TEXT,
    text TEXT NOT NULL,
    tokens BIGINT NOT NULL
);

CREATE INDEX notes_of_users ON notes (note_user);
CREATE INDEX notes_of_sessions ON notes (session);

-- The sessions whose entries were added to the notes, up to `last_entry`.
CREATE TABLE noted_sessions (
    session BIGINT PRIMARY KEY REFERENCES sessions (row_id) ON DELETE CASCADE,
    last_entry BIGINT NOT NULL
);

-- The terms are written by the tokenizer of this crate.
CREATE TABLE note_index (
    row_id BIGINT PRIMARY KEY REFERENCES notes (row_id) ON DELETE CASCADE,
    terms TSVECTOR NOT NULL
);

CREATE INDEX note_terms ON note_index USING gin (terms);

CREATE FUNCTION notes_deleted() RETURNS TRIGGER LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE note_users AS u SET notes = u.notes - d.notes, tokens = u.tokens - d.tokens
    FROM (
        SELECT note_user, count(*) AS notes, sum(tokens)::bigint AS tokens FROM deleted_notes GROUP BY note_user
    ) AS d
    WHERE u.row_id = d.note_user;
    RETURN NULL;
END
$$;

CREATE TRIGGER notes_deleted AFTER DELETE ON notes
    REFERENCING OLD TABLE AS deleted_notes FOR EACH STATEMENT EXECUTE FUNCTION notes_deleted();

-- Artifacts of sessions (`session`) or of users (no session); `body` is the name of the object that has the content.
CREATE TABLE artifacts (
    row_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    session BIGINT REFERENCES sessions (row_id) ON DELETE CASCADE,
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    media_type TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    body TEXT COLLATE "C" NOT NULL,
    time BIGINT NOT NULL
);

CREATE UNIQUE INDEX artifacts_of_sessions ON artifacts (session, name, version) WHERE session IS NOT NULL;
CREATE UNIQUE INDEX artifacts_of_users ON artifacts (app, user_id, name, version) WHERE session IS NULL;
CREATE INDEX artifacts_of_all_users ON artifacts (app, user_id, hash);
CREATE INDEX artifact_bodies ON artifacts (body);

-- Bodies whose writer may be at work: `sweep` does not remove them.
CREATE TABLE artifact_uploads (
    body TEXT COLLATE "C" PRIMARY KEY,
    expires_at BIGINT NOT NULL
);

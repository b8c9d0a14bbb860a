-- The users who have notes. The row id is part of each term of the index, so that a search reads the terms of one user only.
CREATE TABLE note_users (
    row_id INTEGER PRIMARY KEY AUTOINCREMENT,
    app TEXT NOT NULL,
    user_id TEXT NOT NULL,
    notes INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    UNIQUE (app, user_id)
) STRICT;

CREATE TABLE notes (
    row_id INTEGER PRIMARY KEY AUTOINCREMENT,
    note_user INTEGER NOT NULL REFERENCES note_users (row_id) ON DELETE CASCADE,
    session INTEGER REFERENCES sessions (row_id) ON DELETE CASCADE,
    time INTEGER NOT NULL,
    author TEXT,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL
) STRICT;

CREATE INDEX notes_of_users ON notes (note_user);
CREATE INDEX notes_of_sessions ON notes (session);

-- The sessions whose entries were added to the notes, up to `last_entry`.
CREATE TABLE noted_sessions (
    session INTEGER PRIMARY KEY REFERENCES sessions (row_id) ON DELETE CASCADE,
    last_entry INTEGER NOT NULL
) STRICT;

-- The terms are written by the tokenizer of this crate: they have ASCII letters and digits, `_`, and characters beyond ASCII.
CREATE VIRTUAL TABLE note_index USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE note_terms USING fts5vocab (note_index, row);

CREATE TRIGGER note_deleted AFTER DELETE ON notes BEGIN
    DELETE FROM note_index WHERE rowid = old.row_id;
    UPDATE note_users SET notes = notes - 1, tokens = tokens - old.tokens WHERE row_id = old.note_user;
END;

-- Artifacts of sessions (`session`) or of users (no session); `body` is the name of the object that has the content.
CREATE TABLE artifacts (
    row_id INTEGER PRIMARY KEY,
    app TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session INTEGER REFERENCES sessions (row_id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    hash TEXT NOT NULL,
    body TEXT NOT NULL,
    time INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX artifacts_of_sessions ON artifacts (session, name, version) WHERE session IS NOT NULL;
CREATE UNIQUE INDEX artifacts_of_users ON artifacts (app, user_id, name, version) WHERE session IS NULL;
CREATE INDEX artifacts_of_all_users ON artifacts (app, user_id, hash);
CREATE INDEX artifact_bodies ON artifacts (body);

-- Bodies whose writer may be at work: `sweep` does not remove them.
CREATE TABLE artifact_uploads (
    body TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Sessions, their logs, views and what belongs to them.
-- `key` is a session's number within the file; every other table refers to it.

CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    parent TEXT NOT NULL,
    root TEXT NOT NULL,
    descent TEXT NOT NULL,
    forked_at INTEGER NOT NULL,
    dialect TEXT NOT NULL,
    title TEXT NOT NULL,
    goal TEXT NOT NULL,
    model TEXT NOT NULL,
    source TEXT NOT NULL,
    source_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    cwd TEXT NOT NULL,
    mode TEXT NOT NULL,
    started REAL NOT NULL,
    updated REAL NOT NULL,
    ended REAL,
    end_reason TEXT NOT NULL,
    length INTEGER NOT NULL,
    view INTEGER NOT NULL,
    compactions INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    first_ask TEXT NOT NULL,
    folded TEXT NOT NULL,           -- title and first ask, letter case aside
    frame INTEGER                   -- a row of `bodies`
) STRICT;
CREATE UNIQUE INDEX sessions_by_id ON sessions (tenant, id);
CREATE UNIQUE INDEX sessions_by_source ON sessions (tenant, source, source_id)
    WHERE source_id <> '';
CREATE INDEX sessions_by_root ON sessions (tenant, root);
CREATE INDEX sessions_by_parent ON sessions (tenant, parent) WHERE parent <> '';

-- Apart from `sessions`, whose rows change with every message.
CREATE TABLE states (
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (tenant, session)
) STRICT;

-- Positions of a session that another one owns; the same positions there. The rest is its own.
CREATE TABLE segments (
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    PRIMARY KEY (tenant, session, start)
) STRICT, WITHOUT ROWID;
CREATE INDEX segments_by_owner ON segments (tenant, owner);

-- A body, or what was cut out of one. `packed` is made and read by bodies.py.
CREATE TABLE bodies (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    size INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    packed BLOB NOT NULL
) STRICT;
CREATE TABLE addresses (
    tenant TEXT NOT NULL,
    address BLOB NOT NULL,
    body INTEGER NOT NULL,
    PRIMARY KEY (tenant, address)
) STRICT, WITHOUT ROWID;
CREATE TABLE parts (
    tenant TEXT NOT NULL,
    body INTEGER NOT NULL,
    at INTEGER NOT NULL,
    part INTEGER NOT NULL,
    PRIMARY KEY (tenant, body, at)
) STRICT, WITHOUT ROWID;

-- `id` grows with every message of the file: it is the rowid of both indexes.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    body INTEGER NOT NULL,
    role TEXT NOT NULL,
    tools TEXT NOT NULL,            -- a JSON list of names, or nothing
    time REAL NOT NULL,
    key TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    generated INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX messages_by_position ON messages (tenant, session, position);
CREATE INDEX messages_by_key ON messages (tenant, session, key) WHERE key <> '';

CREATE VIRTUAL TABLE words USING fts5 (
    text,
    content = '',
    contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Fewer merges a message than the default of 4 makes.
INSERT INTO words (words, rank) VALUES ('automerge', 8);

-- May lag behind the log: `meta.trigrams` is the newest id that it has.
CREATE VIRTUAL TABLE trigrams USING fts5 (
    text,
    content = '',
    contentless_delete = 1,
    detail = none,
    tokenize = 'trigram'
);

-- Which messages have a trigram that begins with one or two given characters.
CREATE VIRTUAL TABLE grams USING fts5vocab (trigrams, instance);

CREATE TABLE views (
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    created REAL NOT NULL,
    reason TEXT NOT NULL,
    length INTEGER NOT NULL,
    items BLOB NOT NULL,
    state BLOB NOT NULL,
    report BLOB NOT NULL,
    PRIMARY KEY (tenant, session, number)
) STRICT;

CREATE TABLE refs (
    tenant TEXT NOT NULL,
    ref TEXT NOT NULL,
    session INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (tenant, ref, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX refs_by_session ON refs (tenant, session);

CREATE TABLE pins (
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (tenant, session, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    number INTEGER NOT NULL,
    position INTEGER NOT NULL,
    time REAL NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost REAL,
    view INTEGER NOT NULL,
    PRIMARY KEY (tenant, session, number)
) STRICT, WITHOUT ROWID;

-- One row for each session that ever had a lease: its fence only grows.
CREATE TABLE leases (
    tenant TEXT NOT NULL,
    session INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    holder TEXT NOT NULL,           -- empty where nobody has it
    epoch TEXT NOT NULL,
    expires REAL NOT NULL,
    PRIMARY KEY (tenant, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('trigrams', 0);

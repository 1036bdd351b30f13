-- Sessions, their logs, views and what belongs to them; the same tables as in SQLite.
-- Keys are made by clients, at random. Texts compare byte by byte, as they do in SQLite.

-- Every writer shares the row of its tenant; one that erases has it alone.
CREATE TABLE tenants (
    tenant text COLLATE "C" PRIMARY KEY
);

CREATE TABLE sessions (
    key bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    parent text COLLATE "C" NOT NULL,
    root text COLLATE "C" NOT NULL,
    descent text COLLATE "C" NOT NULL,
    forked_at bigint NOT NULL,
    dialect text COLLATE "C" NOT NULL,
    title text COLLATE "C" NOT NULL,
    goal text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    cwd text COLLATE "C" NOT NULL,
    mode text COLLATE "C" NOT NULL,
    started double precision NOT NULL,
    updated double precision NOT NULL,
    ended double precision,
    end_reason text COLLATE "C" NOT NULL,
    length bigint NOT NULL,
    view bigint NOT NULL,
    compactions bigint NOT NULL,
    tokens bigint NOT NULL,
    first_ask text COLLATE "C" NOT NULL,
    folded text COLLATE "C" NOT NULL,
    frame bigint,
    PRIMARY KEY (tenant, key)
);
CREATE UNIQUE INDEX sessions_by_id ON sessions (tenant, id);
CREATE UNIQUE INDEX sessions_by_source ON sessions (tenant, source, source_id)
    WHERE source_id <> '';
CREATE INDEX sessions_by_update ON sessions (tenant, updated, id);
CREATE INDEX sessions_by_root ON sessions (tenant, root);
CREATE INDEX sessions_by_parent ON sessions (tenant, parent) WHERE parent <> '';

-- Apart from `sessions`, whose rows change with every message.
CREATE TABLE states (
    tenant text COLLATE "C" NOT NULL,
    session bigint NOT NULL,
    state bytea NOT NULL,
    PRIMARY KEY (tenant, session)
);

-- Positions of a session that another one owns; the same positions there. The rest is its own.
CREATE TABLE segments (
    tenant text COLLATE "C" NOT NULL,
    session bigint NOT NULL,
    owner bigint NOT NULL,
    start bigint NOT NULL,
    stop bigint NOT NULL,
    PRIMARY KEY (tenant, session, start)
);
CREATE INDEX segments_by_owner ON segments (tenant, owner);

-- A body, or what was cut out of one. `packed` is made and read by bodies.py.
CREATE TABLE bodies (
    key bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    address bytea NOT NULL,
    size bigint NOT NULL,
    parts bigint NOT NULL,
    packed bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE UNIQUE INDEX bodies_by_address ON bodies (tenant, address);
ALTER TABLE bodies ALTER COLUMN packed SET STORAGE EXTERNAL;  -- it is compressed already
CREATE TABLE parts (
    tenant text COLLATE "C" NOT NULL,
    body bigint NOT NULL,
    at bigint NOT NULL,
    part bigint NOT NULL,
    PRIMARY KEY (tenant, body, at)
);

-- `id` grows with the server's clock. `words` and `folded` are made by index.py: stems for the
-- index, and the text, letter case aside, for substrings.
CREATE TABLE messages (
    id bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    session bigint NOT NULL,
    position bigint NOT NULL,
    body bigint NOT NULL,
    role text COLLATE "C" NOT NULL,
    tools text COLLATE "C" NOT NULL,
    time double precision NOT NULL,
    key text COLLATE "C" NOT NULL,
    tokens bigint NOT NULL,
    generated bigint NOT NULL,
    words tsvector NOT NULL,
    folded text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, session, position)
);
CREATE UNIQUE INDEX messages_by_id ON messages (tenant, id);
CREATE INDEX messages_by_key ON messages (tenant, session, key) WHERE key <> '';
CREATE INDEX messages_by_words ON messages USING gin (words)
    WITH (gin_pending_list_limit = 256);  -- kB; what waits there is read by every search

CREATE TABLE views (
    tenant text COLLATE "C" NOT NULL,
    session bigint NOT NULL,
    number bigint NOT NULL,
    previous bigint NOT NULL,
    created double precision NOT NULL,
    reason text COLLATE "C" NOT NULL,
    length bigint NOT NULL,
    items bytea NOT NULL,
    state bytea NOT NULL,
    report bytea NOT NULL,
    PRIMARY KEY (tenant, session, number)
);

CREATE TABLE refs (
    tenant text COLLATE "C" NOT NULL,
    ref text COLLATE "C" NOT NULL,
    session bigint NOT NULL,
    start bigint NOT NULL,
    stop bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, ref, session)
);
CREATE INDEX refs_by_session ON refs (tenant, session);

CREATE TABLE pins (
    tenant text COLLATE "C" NOT NULL,
    session bigint NOT NULL,
    position bigint NOT NULL,
    note text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, session, position)
);

CREATE TABLE turns (
    tenant text COLLATE "C" NOT NULL,
    session bigint NOT NULL,
    number bigint NOT NULL,
    position bigint NOT NULL,
    time double precision NOT NULL,
    model text COLLATE "C" NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_read_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    cost double precision,
    view bigint NOT NULL,
    PRIMARY KEY (tenant, session, number)
);

-- One row for each session that ever had a lease: its fence only grows.
CREATE TABLE leases (
    tenant text COLLATE "C" NOT NULL,
    session bigint NOT NULL,
    fence bigint NOT NULL,
    holder text COLLATE "C" NOT NULL,
    epoch text COLLATE "C" NOT NULL,
    expires double precision NOT NULL,
    PRIMARY KEY (tenant, session)
);

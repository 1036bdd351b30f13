-- What the requests of a session and of its subagents used; `requests` is NULL until it is counted.
ALTER TABLE sessions ADD COLUMN requests bigint;
ALTER TABLE sessions ADD COLUMN used_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cost double precision NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN unpriced bigint NOT NULL DEFAULT 0;
CREATE INDEX sessions_to_count ON sessions (tenant, key) WHERE requests IS NULL;
-- The first page of the dearest; that of the newest has its index from the beginning.
CREATE INDEX sessions_by_cost ON sessions (tenant, cost, id);

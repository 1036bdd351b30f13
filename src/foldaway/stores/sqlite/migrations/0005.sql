-- What the requests of a session and of its subagents used; `requests` is NULL until it is counted.
ALTER TABLE sessions ADD COLUMN requests INTEGER;
ALTER TABLE sessions ADD COLUMN used_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cost REAL NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_to_count ON sessions (tenant, key) WHERE requests IS NULL;
-- The first pages of lists; the count of a list reads nothing else.
CREATE INDEX sessions_by_update ON sessions (tenant, updated, id, kind);
CREATE INDEX sessions_by_cost ON sessions (tenant, cost, id, kind);

-- Of what was written to the cache, what it keeps for an hour: that costs more.
ALTER TABLE turns ADD COLUMN cache_hour_tokens INTEGER NOT NULL DEFAULT 0;

-- Short names of a session: by its source, the last four characters of its id, its title.
CREATE INDEX sessions_by_source_id ON sessions (tenant, source_id) WHERE source_id <> '';
CREATE INDEX sessions_by_end ON sessions (tenant, substr(id, length(id) - 3), id);
CREATE INDEX sessions_by_title ON sessions (tenant, lower(title)) WHERE title <> '';

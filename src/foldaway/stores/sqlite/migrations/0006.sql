-- Short names of a session: by its source, the last four characters of its id, its title.
CREATE INDEX sessions_by_source_id ON sessions (tenant, source_id) WHERE source_id <> '';
CREATE INDEX sessions_by_end ON sessions (tenant, substr(id, length(id) - 3), id);
CREATE INDEX sessions_by_title ON sessions (tenant, lower(title)) WHERE title <> '';
-- Folders, agents and models are counted and listed without the rows of the sessions.
CREATE INDEX sessions_by_folder ON sessions (tenant, cwd, source, model, kind, id);
-- Who else has the body of what is deleted.
CREATE INDEX messages_by_body ON messages (tenant, body);
CREATE INDEX sessions_by_frame ON sessions (tenant, frame) WHERE frame IS NOT NULL;
CREATE INDEX parts_by_part ON parts (tenant, part);

-- The index of words follows in batches too: `meta.words` is the newest id that it has.
INSERT INTO meta (name, value) SELECT 'words', coalesce(max(id), 0) FROM messages;

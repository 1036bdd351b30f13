-- Both indexes are in blocks of so many ids, so that a deletion merges only what it touched. The
-- tables of block N are `words_N`, `trigrams_N` and `grams_N`.
CREATE TABLE blocks (
    number INTEGER PRIMARY KEY,
    start INTEGER NOT NULL,         -- its first id; it ends where the next one begins
    deleted INTEGER NOT NULL        -- 1 until what was deleted is merged away
) STRICT;
INSERT INTO blocks VALUES (0, 0, 1);
-- A merge of a block takes a second; a search asks all of them for a rare word.
INSERT INTO meta (name, value) VALUES ('block', 65536);
-- Under other names: a process of an older version that has the file open would write everything
-- into the first block, where no deletion looks for it.
DROP TABLE grams;
ALTER TABLE words RENAME TO words_0;
ALTER TABLE trigrams RENAME TO trigrams_0;
CREATE VIRTUAL TABLE grams_0 USING fts5vocab (trigrams_0, instance);

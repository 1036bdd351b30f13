-- How a request became what was sent by this view: the next one needs nothing else.
ALTER TABLE views ADD COLUMN sent bytea NOT NULL DEFAULT '';

-- How a request became what was sent by this view: the next one needs nothing else.
ALTER TABLE views ADD COLUMN sent BLOB NOT NULL DEFAULT x'';

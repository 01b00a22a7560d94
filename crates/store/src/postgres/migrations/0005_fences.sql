-- A node adds entries to the runs it holds without a look at their rows. What stops it when it holds them no more is one
-- number in its own row: whoever takes a run from it changes that, in the same transaction. No number is given twice.
CREATE SEQUENCE fences;
ALTER TABLE nodes ADD COLUMN fence BIGINT NOT NULL DEFAULT nextval('fences');

-- So `runs.head` and `runs.updated_at` may be behind: the last row of the journal says how far a run is, and since when.
ALTER TABLE journal ADD COLUMN at BIGINT;

-- The message that decided a request, where a dialect gives messages ids: the same one again is the same answer.
ALTER TABLE requests ADD COLUMN sent TEXT;

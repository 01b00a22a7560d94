-- Why a request was taken back, where a decision on another one is why; and until when one is put off.
ALTER TABLE requests ADD COLUMN withdrawn TEXT;
ALTER TABLE requests ADD COLUMN deferred_until INTEGER;

-- The key-value store of flows, as queries see it. Each key is an object, which has the truth; times are
-- milliseconds since 1970.

CREATE TABLE kv (
    namespace     TEXT    NOT NULL,
    key           TEXT    NOT NULL,
    -- NUMBER, BOOLEAN, STRING, DATETIME, DATE, DURATION or JSON; NULL: the key was deleted.
    kind          TEXT,
    -- JSON; NULL: it is larger than what is kept here.
    value         TEXT,
    version       INTEGER NOT NULL,
    -- From then on the key is not there. Of one that was deleted it is when.
    expires_at_ms INTEGER,
    -- Grows with each change: an older row never replaces a newer one.
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;

-- For the cleaner. What stays for good is not in here.
CREATE INDEX kv_by_end ON kv (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

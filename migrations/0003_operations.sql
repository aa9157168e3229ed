-- What operators look for, count and do. Times are milliseconds since 1970.

-- A JSON object of texts, as the source or function gave them.
ALTER TABLE tasks ADD COLUMN labels TEXT;
-- What the task has cost so far: requests to its object, rows that it wrote there and here, and how long it worked.
ALTER TABLE tasks ADD COLUMN object_requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN object_rows INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN object_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN d1_rows INTEGER NOT NULL DEFAULT 0;
-- Attempts that failed and were followed by another one.
ALTER TABLE tasks ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
-- 32 hexadecimal digits, of the trace that the first delivery came with.
ALTER TABLE tasks ADD COLUMN trace_id TEXT;
-- How often the lock was taken; while a task runs, due_ms is when it is free again.
ALTER TABLE tasks ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;

-- A tombstone has no key, so it is not in here.
CREATE INDEX tasks_by_key ON tasks (key, created_ms) WHERE key IS NOT NULL;
-- A task that succeeds within its first slice never comes in here, and costs nothing.
CREATE INDEX tasks_by_state ON tasks (state, created_ms)
    WHERE state IN ('pending', 'running', 'suspended', 'compensating', 'failed', 'cancelled');

-- What happened in an hour, by function. Written with the rows that it counts, in the same transaction.
CREATE TABLE stats (
    hour_ms         INTEGER NOT NULL,
    function        TEXT    NOT NULL,
    accepted        INTEGER NOT NULL DEFAULT 0,
    succeeded       INTEGER NOT NULL DEFAULT 0,
    failed          INTEGER NOT NULL DEFAULT 0,
    cancelled       INTEGER NOT NULL DEFAULT 0,
    undone_partial  INTEGER NOT NULL DEFAULT 0,
    -- Attempts that failed and were followed by another one, and how often a delivery made a failed task go on.
    retries         INTEGER NOT NULL DEFAULT 0,
    revivals        INTEGER NOT NULL DEFAULT 0,
    -- Deliveries that ran nothing, and why: approximate.
    same_key        INTEGER NOT NULL DEFAULT 0,
    same_bytes      INTEGER NOT NULL DEFAULT 0,
    mismatch        INTEGER NOT NULL DEFAULT 0,
    late            INTEGER NOT NULL DEFAULT 0,
    object_requests INTEGER NOT NULL DEFAULT 0,
    object_rows     INTEGER NOT NULL DEFAULT 0,
    object_ms       INTEGER NOT NULL DEFAULT 0,
    d1_rows         INTEGER NOT NULL DEFAULT 0,
    -- How long tasks took from accepting to their end: counts of a histogram, and their sum.
    took_ms         INTEGER NOT NULL DEFAULT 0,
    took_0          INTEGER NOT NULL DEFAULT 0,
    took_1          INTEGER NOT NULL DEFAULT 0,
    took_2          INTEGER NOT NULL DEFAULT 0,
    took_3          INTEGER NOT NULL DEFAULT 0,
    took_4          INTEGER NOT NULL DEFAULT 0,
    took_5          INTEGER NOT NULL DEFAULT 0,
    took_6          INTEGER NOT NULL DEFAULT 0,
    took_7          INTEGER NOT NULL DEFAULT 0,
    took_8          INTEGER NOT NULL DEFAULT 0,
    took_9          INTEGER NOT NULL DEFAULT 0,
    took_10         INTEGER NOT NULL DEFAULT 0,
    took_11         INTEGER NOT NULL DEFAULT 0,
    took_12         INTEGER NOT NULL DEFAULT 0,
    took_13         INTEGER NOT NULL DEFAULT 0,
    took_14         INTEGER NOT NULL DEFAULT 0,
    took_15         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (hour_ms, function)
) WITHOUT ROWID;

-- What operators did: one row before it is done, completed with what came of it.
CREATE TABLE audit (
    -- Time in 12 hexadecimal digits of milliseconds, a dot, and something random: newest last.
    audit_id TEXT    NOT NULL PRIMARY KEY,
    at_ms    INTEGER NOT NULL,
    -- Name of the API token.
    token    TEXT    NOT NULL,
    action   TEXT    NOT NULL,
    task_id  TEXT,
    -- A JSON object: how it was asked for, without payload.
    detail   TEXT,
    -- Status of the answer; NULL if that is not known.
    status   INTEGER
) WITHOUT ROWID;
CREATE INDEX audit_by_task ON audit (task_id, audit_id) WHERE task_id IS NOT NULL;

-- What the scheduled jobs remember from one run to the next, each by its name.
CREATE TABLE jobs (
    job   TEXT    NOT NULL PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    -- JSON.
    value TEXT    NOT NULL
) WITHOUT ROWID;

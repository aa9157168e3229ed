-- Results and checkpoints, for queries. The objects hold the truth; these rows follow them.
-- Times are milliseconds since 1970. Every index costs a row with each write, so there are two.

CREATE TABLE tasks (
    task_id        TEXT    NOT NULL PRIMARY KEY,
    -- Version of the row: a write with a lower (epoch, n) changes nothing.
    epoch          INTEGER NOT NULL,
    n              INTEGER NOT NULL,
    generation     INTEGER NOT NULL,
    -- running, suspended, succeeded, failed; forgotten is a tombstone without payload.
    state          TEXT    NOT NULL,
    waiting        TEXT,
    resumable      INTEGER NOT NULL DEFAULT 0,
    kind           TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    tenant         TEXT    NOT NULL DEFAULT '',
    key            TEXT,
    function       TEXT    NOT NULL,
    attempts       INTEGER NOT NULL DEFAULT 0,
    claims         INTEGER NOT NULL DEFAULT 0,
    revivals       INTEGER NOT NULL DEFAULT 0,
    duplicates     INTEGER NOT NULL DEFAULT 0,
    created_ms     INTEGER NOT NULL,
    updated_ms     INTEGER NOT NULL,
    finished_ms    INTEGER,
    expires_ms     INTEGER,
    -- When this row should have changed: next alarm, expiry, or the end of a tombstone.
    due_ms         INTEGER NOT NULL,
    error_code     TEXT,
    error_message  TEXT,
    error_step     TEXT,
    answer_status  INTEGER,
    answer_headers TEXT,
    answer_body    BLOB,
    -- Why D1 refused the whole row, if it did; the object still has everything.
    stub_reason    TEXT
) WITHOUT ROWID;

CREATE INDEX tasks_by_created ON tasks (created_ms);
CREATE INDEX tasks_by_due ON tasks (due_ms);

CREATE TABLE checkpoints (
    task_id    TEXT    NOT NULL,
    generation INTEGER NOT NULL,
    step       TEXT    NOT NULL,
    place      INTEGER NOT NULL,
    fence      INTEGER NOT NULL,
    tries      INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    failed     INTEGER NOT NULL,
    outcome    TEXT    NOT NULL,
    PRIMARY KEY (task_id, generation, step)
) WITHOUT ROWID;

-- What the list shows of waiting, undoing and cancelling tasks. The words of `state` and `waiting` are those of
-- the task's JSON: state may also be pending, compensating or cancelled.

-- Name of the signal, or of the step that waits.
ALTER TABLE tasks ADD COLUMN waiting_name TEXT;
-- complete, partial.
ALTER TABLE tasks ADD COLUMN undone TEXT;
-- requested, too_late.
ALTER TABLE tasks ADD COLUMN cancel TEXT;

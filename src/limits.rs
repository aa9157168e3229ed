//! Every number of the runtime, with its unit and its reason.
//!
//! Numbers that come from the platform name the page they stand on; see README, "Limits".

/// Largest request body. Above it: 413 before anything is written. One object or D1 row holds 2 MB,
/// and a body shares its row with the state of the task.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// Largest body of a stored answer, for the same reason.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Largest recorded outcome of one step.
pub const MAX_OUTCOME_BYTES: usize = 1 << 20;

/// Largest recorded answer of a gateway's origin: one of the largest that is kept, as base64, with its
/// fields. It has a row of its own, and fits.
pub const MAX_ORIGIN_OUTCOME_BYTES: usize = 1_500_000;

/// Largest input of an undo handler that a step names: it shares a row with the step's outcome.
pub const MAX_UNDO_INPUT_BYTES: usize = 256 << 10;

/// Largest row: the platform allows 2 MB for a value together with its key (Durable Objects, limits).
pub const MAX_ROW_BYTES: usize = 1_990_000;

/// Largest header block kept of a delivery or an answer; the platform allows 128 KB each way.
pub const MAX_HEADER_BYTES: usize = 16 << 10;

/// Longest message of a failure that is kept, in bytes; it is shown in lists.
pub const MAX_MESSAGE_BYTES: usize = 2 << 10;

/// Most details of a failure that are kept, in bytes of JSON; larger ones are left out.
pub const MAX_DETAILS_BYTES: usize = 4 << 10;

/// Items of one delivery that is split into tasks: each is a request to an object, of which the paid plan
/// allows 10,000 in one invocation (Workers, limits).
pub const MAX_SPLIT_ITEMS: usize = 5_000;

/// Items of one delivery that are begun at a time.
pub const SPLIT_AT_A_TIME: usize = 16;

/// Longest idempotency key, in visible ASCII characters.
pub const MAX_KEY_CHARS: usize = 255;

/// Most signatures that one delivery may carry. Senders give one for each secret while they rotate
/// them: two or three.
pub const MAX_SIGNATURES: usize = 16;

/// Longest step, branch or function name.
pub const MAX_NAME_BYTES: usize = 200;

/// Longest path of a branch. With a name it stays below the 2,048 bytes that a key of an object's storage
/// can have.
pub const MAX_BRANCH_BYTES: usize = 1_000;

/// Deepest nesting of a JSON body that a function reads.
pub const MAX_JSON_DEPTH: usize = 128;

/// Bodies up to this size live in the row of the task itself; larger ones in a row of their own.
/// A row more costs as much as six requests; copying this much costs nothing that can be measured.
pub const INLINE_BYTES: usize = 32 << 10;

/// How long a sender waits for an answer before it gets a 202. Senders give 3 s at the least.
pub const DEFAULT_RESPOND_WITHIN_MS: u64 = 2_500;
/// Most that a source or function may choose; a duplicate waits in the object, which is billed.
pub const MAX_RESPOND_WITHIN_MS: u64 = 5_000;

/// What the platform gives `waitUntil` after the answer or after the sender has hung up.
pub const PLATFORM_CUT_MS: u64 = 30_000;
/// A slice starts no new step after this.
pub const DEFAULT_SLICE_BUDGET_MS: u64 = 25_000;
/// Between the end of a function and the platform's cut: time to tell the object.
pub const CUT_MARGIN_MS: u64 = 1_000;
/// Between the end of the longest slice and the end of its lease.
pub const LEASE_MARGIN_MS: u64 = 1_000;
/// The right to act; never extended. Longer than `respond_within`, the cut, the CPU limit (30 s) and a margin together.
pub const DEFAULT_LEASE_MS: u64 = 75_000;
/// Longest step of a function that declares long ones. The platform lets an object wait for 15 minutes;
/// the rest is for the slice around the step and for its lease.
pub const MAX_LONG_STEP_MS: u64 = 840_000;
/// Longest lease: a crashed slice is noticed only at its end.
pub const MAX_LEASE_MS: u64 = 900_000;
/// Default step timeout: this, or 60 % of the slice budget if that is less.
pub const DEFAULT_STEP_TIMEOUT_MS: u64 = 15_000;

/// Attempts without progress before a task fails.
pub const DEFAULT_MAX_ATTEMPTS: u32 = 5;
/// The same for a gateway, whose client sends again by itself.
pub const GATEWAY_ATTEMPTS: u32 = 3;
/// Most attempts that a function may ask for.
pub const MAX_ATTEMPTS: u32 = 100;
/// Revivals and restarts of one key; never reset.
pub const MAX_REVIVALS: u32 = 10;

/// Default retention: longer than the longest retry plan of the providers (Stripe: 3 days).
pub const DEFAULT_RETENTION_SUCCEEDED_MS: u64 = 7 * 24 * 3_600_000;
/// Failures are looked at by people, who have weekends.
pub const DEFAULT_RETENTION_FAILED_MS: u64 = 30 * 24 * 3_600_000;
/// How much longer than its sender repeats a delivery a task is kept at the least: repeats can be late.
pub const REPEAT_MARGIN_MS: u64 = 24 * 3_600_000;
/// Longest retention.
pub const MAX_RETENTION_MS: u64 = 3_650 * 24 * 3_600_000;
/// A tombstone outlives every late write of the task that it stands for.
pub const TOMBSTONE_MS: u64 = 24 * 3_600_000;

/// A ticket that nobody claims is replaced after this, then after twice as long, …
pub const TICKET_UNCLAIMED_MS: u64 = 10_000;
/// … up to this.
pub const TICKET_BACKOFF_MAX_MS: u64 = 900_000;
/// Wait before the second attempt; doubled for each further one.
pub const ATTEMPT_BACKOFF_MS: u64 = 1_000;
/// Longest wait between attempts.
pub const ATTEMPT_BACKOFF_MAX_MS: u64 = 300_000;
/// First wait after a flush to D1 failed; doubled for each further one, with full jitter.
pub const FLUSH_BACKOFF_MS: u64 = 1_000;
/// Longest wait between flushes. They are never given up.
pub const FLUSH_BACKOFF_MAX_MS: u64 = 900_000;
/// A flush that has not answered by then counts as failed; it may still arrive.
pub const FLUSH_TIMEOUT_MS: u64 = 10_000;
/// A backoff this short is waited for by a duplicate, as if the task were running.
pub const BRIEF_WAIT_MS: u64 = 5_000;

/// Duplicates that wait in one object at a time; further ones get their 202 or 409 at once.
pub const MAX_JOINED: usize = 128;
/// Longest single wait in the object, which is billed by wall time.
pub const MAX_JOIN_MS: u64 = 5_000;
/// Longest wait that a caller can ask for (`Prefer: wait`, `?wait=`).
pub const MAX_PREFER_WAIT_MS: u64 = 25_000;

/// Records in one message.
pub const MAX_RECORDS_PER_CALL: usize = 256;
/// Cells that an object reads at a time: each can have 2 MB, and it has 128 MB of memory.
pub const CELLS_AT_A_TIME: usize = 16;
/// Records of a journal in one reply.
pub const JOURNAL_PAGE: usize = 500;
/// Bytes of a journal in one reply, but for a single larger record.
pub const JOURNAL_PAGE_BYTES: usize = 4 << 20;
/// Steps of one generation of a task: a slice that resumes reads the journal of all that it replays.
/// `save` and `continue_as` are for what is longer.
pub const MAX_STEPS: u32 = 100_000;
/// Outcomes and undo inputs that a slice may have to read when it resumes, in bytes; a Worker has
/// 128 MB of memory for all that it runs at a time.
pub const MAX_STATE_BYTES: usize = 32 << 20;

/// Largest payload of a signal: it is kept in the object until somebody waits for it.
pub const MAX_SIGNAL_BYTES: usize = 256 << 10;
/// Signals that are kept for a task which does not wait for them; their names are part of its row.
pub const MAX_UNREAD: usize = 1_000;
/// Signals of one task, ever: each leaves a trace by which a repeat is known.
pub const MAX_SIGNALS: u32 = 100_000;
/// Longest name of a signal.
pub const MAX_SIGNAL_NAME_CHARS: usize = 100;
/// Steps and waits of one task that are under way at a time: its fan-out. What it waits for is part of
/// its row.
pub const MAX_FAN_OUT: usize = 1_000;
/// Parents, grandparents and so on of one task.
pub const MAX_CHILD_DEPTH: usize = 32;
/// Tasks that wait for the end of one task.
pub const MAX_PARENTS: usize = 1_000;
/// Longest sleep and longest wait for a signal: ten years.
pub const MAX_SLEEP_MS: u64 = 3_650 * 24 * 3_600_000;
/// Furthest that an alarm is set ahead. Timers of 2^31 ms (24.8 days) and more have fired at once on
/// more than one engine; a longer sleep is slept in pieces.
pub const MAX_ALARM_MS: u64 = 20 * 24 * 3_600_000;
/// Wait after a run of the alarm that failed; doubled for each further one, up to 15 minutes.
pub const FAILED_RING_MS: u64 = 2_000;
/// Pause after a run of the alarm that found nothing due; doubled with each further one, …
pub const IDLE_RING_MS: u64 = 8;
/// … up to this: what becomes due meanwhile is late by no more.
pub const IDLE_RING_MAX_MS: u64 = 4_000;
/// A wait up to this is waited for within the slice; a longer one suspends it.
pub const INLINE_WAIT_MS: u64 = 1_000;
/// Largest saved cursor.
pub const MAX_CURSOR_BYTES: usize = 1 << 20;
/// Names of steps that a saved cursor can skip.
pub const MAX_SKIPS: usize = 1_000;
/// Tries of one undo handler.
pub const UNDO_TRIES: u32 = 5;
/// First look at a child whose end has not been heard of; doubled up to [`CHILD_LOOK_MAX_MS`].
pub const CHILD_LOOK_MS: u64 = 30_000;
/// Longest time between two such looks.
pub const CHILD_LOOK_MAX_MS: u64 = 900_000;
/// Longest wait that a `Retry-After` of another service is followed for.
pub const MAX_RETRY_AFTER_MS: u64 = 3_600_000;

/// Requests and messages of one slice on the paid plan, which allows 10,000 (Workers, limits); the
/// rest is for what one step may send.
pub const PAID_SUBREQUESTS: u32 = 9_000;
/// Messages of one slice on the free plan, which allows 1,000 to the platform's own services.
pub const FREE_SUBREQUESTS: u32 = 900;
/// Requests to the outside of one slice on the free plan, which allows 50.
pub const FREE_FETCHES: u32 = 45;

/// Hops that one chain of continuations takes before the alarm goes on at depth 0; the platform
/// stops a chain at 16.
pub const MAX_HOPS: u32 = 8;

/// Rows that the cleaner and the rescuer look at in one statement, in the order in which they are due. So
/// no statement takes longer for what lies behind them.
pub const CRON_ROWS: u32 = 1_000;
/// Checkpoints that the cleaner deletes in one statement: far from the 30 s that a statement may take.
pub const CLEAN_CHECKPOINTS: u32 = 2_000;
/// An expired row whose object has not replaced it by a tombstone within this is deleted without.
pub const ORPHAN_GRACE_MS: u64 = 3_600_000;
/// Wall time that one cron run uses; the next one goes on where it stopped.
pub const CRON_BUDGET_MS: u64 = 25_000;
/// A database that does not answer the scheduled jobs within this is left alone until the next run.
pub const CRON_D1_MS: u64 = 5_000;
/// The rescuer looks at tasks that should have moved this long ago.
pub const RESCUE_AFTER_MS: u64 = 120_000;
/// A task that waits for longer than this is worth a notification, unless the endpoint says otherwise: a day.
pub const NOTICE_WAITING_MS: u64 = 24 * 3_600_000;
/// Duplicates are counted in memory for so long at the least, and then until something else writes.
pub const TALLY_MS: u64 = 60_000;
/// Labels of one task.
pub const MAX_LABELS: usize = 16;
/// Longest name of a label.
pub const MAX_LABEL_NAME_CHARS: usize = 64;
/// Longest value of a label; the rest is cut off.
pub const MAX_LABEL_CHARS: usize = 200;
/// Objects that the sweep asks in one run, of all databases together: each is a request.
pub const SWEEP_OBJECTS: u32 = 200;
/// Objects that it asks for one database at the least.
pub const SWEEP_OBJECTS_MIN: u32 = 10;
/// An alarm may be this much later than what is due: a try that is under way moves the alarm (20 s), and
/// so does one that rings too early (4 s).
pub const ALARM_SLACK_MS: u64 = 30_000;
/// An alarm that has not rung this long after its time never will; the platform may be a minute late.
pub const DEAD_ALARM_MS: u64 = 120_000;
/// Rows of a tombstone are looked through for checkpoints this long after it was placed: until then one
/// that is on its way may still come in before it.
pub const HORIZON_LAG_MS: u64 = 60_000;
/// How long statistics are kept by the hour.
pub const STATS_MS: u64 = 400 * 24 * 3_600_000;
/// How long it is kept what operators did.
pub const AUDIT_MS: u64 = 90 * 24 * 3_600_000;
/// Longest time that statistics are asked for at once.
pub const STATS_SPAN_MS: u64 = 31 * 24 * 3_600_000;
/// Latest time that a query may name: later ones would be compared as rounded numbers.
pub const MAX_TIME_MS: u64 = (1 << 52) - 1;
/// Rows of one answer of statistics: above it the time has to be shorter.
pub const STATS_ROWS: u32 = 10_000;
/// How long tasks took, as statistics count it: up to each of these, and above.
pub const TOOK_MS: [u64; 15] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 3_600_000,
    86_400_000,
];
/// Open tasks of one state that `/metrics` counts; more are shown as this many.
pub const METRICS_CAP: u32 = 10_000;
/// Databases that rows are spread over: each is a binding, and is asked for every page of the list.
pub const MAX_DATABASES: u16 = 32;
/// Tasks that an operation on many takes at most, unless it says otherwise.
pub const BULK_TASKS: u64 = 1_000;
/// The most that it can say: beyond this its own journal would grow too long.
pub const MAX_BULK_TASKS: u64 = 1_000_000;
/// Rows of one page of the task list.
pub const LIST_PAGE: u32 = 50;
/// Largest page that can be asked for.
pub const LIST_PAGE_MAX: u32 = 200;
/// Rows of one database that one page of the list looks at, where no index knows what is asked for: a page
/// may be short then, and says how far it came. D1 gives a statement 30 s and bills the rows that it reads.
pub const LIST_SCAN_ROWS: u32 = 5_000;
/// Rows beyond those of the page that are looked at first: most pages are full by then.
pub const LIST_FIRST_ROWS: u32 = 250;
/// Keys of one beginning that are sorted by time; when there are more, the scan by time finds them.
pub const LIST_PREFIX_ROWS: u32 = 1_000;

/// How long one stream of events lasts. Its client comes again, so that no invocation becomes too large.
pub const EVENTS_MS: u64 = 300_000;
/// Requests of one stream: the free plan allows 1,000 to the platform's own services (Workers, limits).
pub const EVENTS_REQUESTS: u32 = 900;
/// Requests of one reading of the list, for each database, at most: two windows of each of two lists, and
/// what has become of the others.
pub const EVENTS_READING: u32 = 5;
/// When the client is to come again.
pub const EVENTS_RETRY_MS: u64 = 1_000;
/// A stream that has nothing to say shows that it lives; proxies end silent ones after a minute.
pub const EVENTS_HEARTBEAT_MS: u64 = 15_000;
/// How often a task that moves is looked at.
pub const EVENTS_LOOK_MS: u64 = 1_000;
/// How often a task that waits, or has failed for now, is looked at: rarer, since it may wait for years.
pub const EVENTS_IDLE_MS: u64 = 3_000;
/// How often the list is read for events.
pub const EVENTS_READ_MS: u64 = 2_000;
/// Tasks of one such reading: this many of the newest, and of the open ones.
pub const EVENTS_TASKS: u32 = 100;
/// Rows of one database that one such reading looks at, for either.
pub const EVENTS_ROWS: u32 = 400;

/// Hashes of one API token: the one that is made now, and those that it replaces.
pub const MAX_TOKEN_HASHES: usize = 4;
/// Revisions of a flow that are known; the oldest are forgotten first.
pub const MAX_FLOW_REVISIONS: usize = 100;
/// How long an instance goes by what it has heard of a flow's revisions.
pub const FLOW_CACHE_MS: u64 = 2_000;
/// How long it goes by what it has heard of flows that wait for the ends of others.
pub const LISTENERS_CACHE_MS: u64 = 10_000;
/// Tasks that one run of the scheduled jobs begins for schedules, at most.
pub const SCHEDULED_BEGINS: u32 = 200;
/// Flows of which an instance remembers that.
pub const FLOW_CACHE: usize = 512;
/// Flows that are listed.
pub const MAX_FLOWS_LISTED: u32 = 1_000;
/// How long an operator's action waits for its row of the audit.
pub const AUDIT_WAIT_MS: u64 = 1_000;

/// Values of one loop of a flow: each turn has records of its own.
pub const MAX_FLOW_VALUES: usize = 1_000;
/// Longest key of the key-value store, and longest namespace.
pub const MAX_KV_KEY_CHARS: usize = 255;
/// Largest value of the key-value store, as JSON: each is read and written as a whole.
pub const MAX_KV_VALUE_BYTES: usize = 128 << 10;
/// Largest value that D1 gets to see; of a larger one it has the rest of the row.
pub const MAX_KV_MIRRORED_BYTES: usize = 32 << 10;
/// Longest time that a value is set for, other than for good: ten years.
pub const MAX_KV_TTL_MS: u64 = 3_650 * 24 * 3_600_000;
/// How long the object of a key that is gone knows its last version: whoever has read it and sets it by its
/// version may do so late.
pub const KV_TRACE_MS: u64 = 7 * 24 * 3_600_000;
/// Keys that are listed at once.
pub const MAX_KV_KEYS: u32 = 1_000;
/// Rows of keys that are gone which the cleaner deletes in one statement.
pub const CLEAN_KEYS: u32 = 1_000;
/// First look at the holders of a lock that somebody waits for; then after twice the time, …
pub const LOCK_LOOK_MS: u64 = 2_000;
/// … up to this.
pub const LOCK_LOOK_MAX_MS: u64 = 30_000;
/// A task that waits for a lock asks again after this, should its letter not come.
pub const LOCK_ASK_MS: u64 = 900_000;
/// Most tasks that can wait for one lock: they are part of its row.
pub const MAX_LOCK_QUEUE: u32 = 5_000;
/// Largest file of a flow: people write them, and each expression of it is compiled.
pub const MAX_FLOW_BYTES: usize = 64 << 10;
/// Values of one flow, after its anchors and defaults are put in.
pub const MAX_FLOW_NODES: usize = 20_000;
/// Bytes of text of one flow, after its anchors are put in.
pub const MAX_FLOW_TEXT_BYTES: usize = 256 << 10;
/// Levels of maps and lists in a flow.
pub const MAX_FLOW_DEPTH: usize = 64;
/// Problems of one flow that are told; there may be more.
pub const MAX_DIAGNOSTICS: usize = 100;
/// Largest text with expressions.
pub const MAX_EXPRESSION_BYTES: usize = 64 << 10;
/// Deepest nesting of one expression.
pub const MAX_EXPRESSION_DEPTH: usize = 32;
/// Deepest nesting of tags in a text.
pub const MAX_TAG_DEPTH: usize = 12;
/// What one rendering may do: the engine's instructions, with one more for each 64 bytes that are made or read.
pub const EXPRESSION_FUEL: u64 = 200_000;
/// Largest result of a rendering.
pub const MAX_EXPRESSION_RESULT_BYTES: usize = 256 << 10;
/// Secrets, keys and texts to render that one rendering may ask for.
pub const MAX_EXPRESSION_ASKS: usize = 64;
/// `render` within `render`.
pub const MAX_RENDER_DEPTH: usize = 4;
/// Items of a range.
pub const MAX_RANGE_ITEMS: u64 = 10_000;
/// Most of a text that a message quotes.
pub const MAX_EXPRESSION_MESSAGE_BYTES: usize = 200;
/// Longest program of the filter `jq`.
pub const MAX_JQ_BYTES: usize = 1 << 10;
/// What one run of it may do: four for each step, one for each value that it looks at or makes, and one more for each
/// 32 bytes of them.
pub const JQ_FUEL: usize = 500_000;

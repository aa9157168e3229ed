//! Native tests of the pure parts: fast, no workerd.

mod access;
mod author;
mod author_ends;
mod author_faults;
mod author_steps;
mod author_waits;
mod bench;
mod bulk;
mod conformance;
mod crashes;
mod cron;
mod cron_flows;
mod driver;
mod driver_faults;
mod driver_functions;
mod flow;
mod flow_docs;
mod flow_run;
#[cfg(feature = "lab")]
mod fuzz_corpus;
mod gateway;
#[path = "../chaos/history/mod.rs"]
mod history;
#[cfg(feature = "lab")]
mod lab_check;
#[cfg(feature = "lab")]
mod lab_check_nested;
#[cfg(feature = "lab")]
mod lab_check_parts;
#[cfg(feature = "lab")]
mod lab_check_steps;
#[cfg(feature = "lab")]
mod lab_run;
#[cfg(feature = "lab")]
mod lab_run_crash;
#[cfg(feature = "lab")]
mod lab_run_nested;
#[cfg(feature = "lab")]
mod lab_run_save;
#[cfg(feature = "lab")]
mod lab_run_undo;
#[cfg(feature = "lab")]
mod lab_run_waits;
mod list;
mod list_events;
mod list_plans;
mod list_world;
mod lock_props;
mod locks;
mod notify;
mod openapi;
mod payment;
mod previous;
mod protocol_again;
mod protocol_cancel;
mod protocol_continue;
mod protocol_edges;
mod protocol_exact;
mod protocol_family;
mod protocol_faults;
mod protocol_fixture;
mod protocol_invariant;
mod protocol_keeps;
mod protocol_ledger;
mod protocol_messages;
mod protocol_notices;
mod protocol_outbox;
mod protocol_progress;
mod protocol_props;
mod protocol_retry;
mod protocol_scenarios;
mod protocol_slices;
mod protocol_table;
mod protocol_table_events;
mod protocol_table_states;
mod protocol_undo;
mod protocol_waits;
mod protocol_watch;
mod protocol_words;
mod protocol_world;
mod scaling;
mod sql;
mod sql_audit;
mod sql_counts;
mod sql_jobs;
mod sql_kv;
mod sql_stats;
mod store;
mod webhook_packs;
mod webhook_vectors;

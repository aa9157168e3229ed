//! Tasks that hold others.

use super::super::fields::Fields;
use super::super::reader::{Call, Reader};
use super::super::spec::{About, Kind, PropertySpec, TypeSpec, may, need, refused};
use crate::flow::model::{Block, Each, Loop, Pause, Property, Subflow, Work};
use serde_json::Value;

const MANY: u64 = u32::MAX as u64;

const ERRORS: PropertySpec = may(
    "errors",
    Kind::MoreTasks,
    "When one of the tasks inside has failed.",
);
const FINALLY: PropertySpec = may("finally", Kind::MoreTasks, "At the end, in any case.");
const TASKS: PropertySpec = need("tasks", Kind::Tasks, "The tasks inside.");

fn literal(value: impl Into<Value>) -> Property {
    Property::Literal(value.into())
}

/// The types.
pub static FLOWABLE: &[TypeSpec<Work>] = &[
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.If",
            aliases: &["io.kestra.core.tasks.flows.If"],
            doc: "One of two branches.",
            properties: &[
                need("condition", Kind::Truth, "Truthy or falsy, as a text."),
                need("then", Kind::Tasks, "If it is truthy."),
                may("else", Kind::MoreTasks, "If it is falsy."),
                ERRORS,
                FINALLY,
            ],
        },
        build: |fields, _| Work::If {
            condition: fields.needed("condition"),
            then: fields.tasks("then"),
            otherwise: fields.tasks("else"),
            errors: fields.tasks("errors"),
            finally: fields.tasks("finally"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.Switch",
            aliases: &["io.kestra.core.tasks.flows.Switch"],
            doc: "One of several branches, by a value.",
            properties: &[
                need("value", Kind::Text, "The value, as a text."),
                may("cases", Kind::Cases, "Tasks by value."),
                may("defaults", Kind::MoreTasks, "If no value fits."),
                ERRORS,
                FINALLY,
            ],
        },
        build: switch,
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.Sequential",
            aliases: &["io.kestra.core.tasks.flows.Sequential"],
            doc: "Tasks one after the other.",
            properties: &[TASKS, ERRORS, FINALLY],
        },
        build: |fields, _| Work::Sequential(fields.block()),
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.AllowFailure",
            aliases: &["io.kestra.core.tasks.flows.AllowFailure"],
            doc: "Tasks one after the other; a failure among them is a warning.",
            properties: &[TASKS, ERRORS, FINALLY],
        },
        build: |fields, _| Work::AllowFailure(fields.block()),
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.Parallel",
            aliases: &["io.kestra.core.tasks.flows.Parallel"],
            doc: "Tasks at the same time.",
            properties: &[
                may(
                    "concurrent",
                    Kind::Count(0, MANY),
                    "How many at once; 0, or nothing: all.",
                ),
                TASKS,
                ERRORS,
                FINALLY,
            ],
        },
        build: |fields, _| Work::Parallel {
            concurrent: fields.small("concurrent").unwrap_or(0),
            block: fields.block(),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.ForEach",
            aliases: &[],
            doc: "The same tasks for each value of a list.",
            properties: &[
                need(
                    "values",
                    Kind::Items,
                    "A list, or a text that holds one in JSON.",
                ),
                may(
                    "concurrencyLimit",
                    Kind::Count(0, MANY),
                    "Values at once: 1 if there is none, 0: all.",
                ),
                TASKS,
                ERRORS,
                FINALLY,
            ],
        },
        build: |fields, _| each(fields, "values", "concurrencyLimit", 1),
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.EachSequential",
            aliases: &["io.kestra.core.tasks.flows.EachSequential"],
            doc: "The older form of `flow.ForEach`, one value after the other.",
            properties: &[
                need(
                    "value",
                    Kind::Items,
                    "A list, or a text that holds one in JSON.",
                ),
                TASKS,
                ERRORS,
                FINALLY,
            ],
        },
        build: |fields, _| each(fields, "value", "concurrent", 1),
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.EachParallel",
            aliases: &["io.kestra.core.tasks.flows.EachParallel"],
            doc: "The older form of `flow.ForEach`, all values at once.",
            properties: &[
                need(
                    "value",
                    Kind::Items,
                    "A list, or a text that holds one in JSON.",
                ),
                may(
                    "concurrent",
                    Kind::Count(0, MANY),
                    "Values at once; 0, or nothing: all.",
                ),
                TASKS,
                ERRORS,
                FINALLY,
            ],
        },
        build: |fields, _| each(fields, "value", "concurrent", 0),
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.LoopUntil",
            aliases: &[
                "io.kestra.plugin.core.flow.WaitFor",
                "io.kestra.core.tasks.flows.WaitFor",
            ],
            doc: "The same tasks until a condition holds.",
            properties: &[
                need(
                    "condition",
                    Kind::Truth,
                    "It ends when this is truthy, after a turn.",
                ),
                may("checkFrequency", Kind::Object(FREQUENCY), "Its bounds."),
                may(
                    "failOnMaxReached",
                    Kind::Truth,
                    "Whether reaching a bound is a failure.",
                ),
                TASKS,
                ERRORS,
                FINALLY,
            ],
        },
        build: |fields, _| {
            let mut frequency = fields.fields("checkFrequency");
            let mut bound = |name| frequency.as_mut().and_then(|fields| fields.property(name));
            Work::LoopUntil(Loop {
                interval: bound("interval"),
                max_iterations: bound("maxIterations"),
                max_duration: bound("maxDuration"),
                condition: fields.needed("condition"),
                fail_on_max_reached: fields.property("failOnMaxReached"),
                block: fields.block(),
            })
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.Pause",
            aliases: &["io.kestra.core.tasks.flows.Pause"],
            doc: "Waits for a signal that has the task's id as its name, or for some time.",
            properties: &[
                may(
                    "pauseDuration",
                    Kind::Duration,
                    "It goes on by itself then; without, it waits for the signal.",
                )
                .or(&["delay"]),
                may(
                    "behavior",
                    Kind::Choice(&["RESUME", "WARN", "FAIL", "CANCEL"]),
                    "What it does when the time is over; `RESUME` if there is none.",
                ),
                may("onResume", Kind::Inputs, "What the signal has to hold."),
                may("tasks", Kind::MoreTasks, "Tasks that follow, inside."),
                refused("onPause", "a task before the pause does the same."),
                refused(
                    "errors",
                    "put the pause into a `flow.Sequential` with `errors`.",
                ),
                refused(
                    "finally",
                    "put the pause into a `flow.Sequential` with `finally`.",
                ),
            ],
        },
        build: |fields, _| {
            Work::Pause(Pause {
                on_resume: fields.inputs("onResume").unwrap_or_default(),
                duration: fields.property("pauseDuration"),
                behavior: fields.property("behavior"),
                tasks: fields.tasks("tasks"),
            })
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.Subflow",
            aliases: &[
                "io.kestra.plugin.core.flow.Flow",
                "io.kestra.core.tasks.flows.Subflow",
                "io.kestra.core.tasks.flows.Flow",
            ],
            doc: "Another flow.",
            properties: &[
                need("namespace", Kind::Text, "Its namespace."),
                need("flowId", Kind::Text, "Its id."),
                may("inputs", Kind::Map, "Its inputs."),
                may("labels", Kind::Labels, "Labels of its execution."),
                may(
                    "inheritLabels",
                    Kind::Flag,
                    "Whether it has the labels of this execution too.",
                ),
                may(
                    "wait",
                    Kind::Truth,
                    "Whether to wait for its end; true if there is none.",
                ),
                may(
                    "transmitFailed",
                    Kind::Truth,
                    "Whether its failure is one of this task; true if there is none.",
                ),
                refused("revision", "a sub-flow runs in its current revision."),
                refused("outputs", "declare the `outputs` of the other flow."),
                refused("scheduleDate", "put a `flow.Sleep` before it."),
            ],
        },
        build: subflow,
    },
];

const FREQUENCY: &[PropertySpec] = &[
    may("interval", Kind::Duration, "Between two turns."),
    may("maxIterations", Kind::Whole, "Turns at most."),
    may("maxDuration", Kind::Duration, "Over all turns."),
];

fn switch(fields: &mut Fields, reader: &mut Reader<'_>) -> Work {
    if !fields.wrote("cases") && !fields.wrote("defaults") {
        let detail = "Either `cases` or `defaults` is needed.";
        reader.problem(fields.at, &fields.path, detail);
    }
    Work::Switch {
        value: fields.needed("value"),
        cases: fields.cases("cases").unwrap_or_default(),
        defaults: fields.tasks("defaults"),
        errors: fields.tasks("errors"),
        finally: fields.tasks("finally"),
    }
}

fn subflow(fields: &mut Fields, reader: &mut Reader<'_>) -> Work {
    let (at, path) = (fields.at_of("flowId"), fields.path_of("flowId"));
    let subflow = Subflow {
        namespace: fields.needed("namespace"),
        flow_id: fields.needed("flowId"),
        inputs: fields.property("inputs"),
        labels: fields.property("labels"),
        inherit_labels: fields.flag("inheritLabels").unwrap_or(false),
        wait: fields.property("wait"),
        transmit_failed: fields.property("transmitFailed"),
    };
    reader.calls.push(Call {
        namespace: subflow.namespace.clone(),
        flow_id: subflow.flow_id.clone(),
        at,
        path,
    });
    Work::Subflow(subflow)
}

fn each(fields: &mut Fields, values: &str, limit: &str, default: u32) -> Work {
    let block: Block = fields.block();
    Work::ForEach(Each {
        values: fields
            .property(values)
            .unwrap_or_else(|| literal(Vec::<Value>::new())),
        concurrency_limit: fields.small(limit).unwrap_or(default),
        block,
    })
}

//! Tasks that hold no others, but for those that send requests.

use super::super::fields::Fields;
use super::super::reader::Reader;
use super::super::spec::{About, Kind, PropertySpec, TypeSpec, ignored, may, need};
use crate::flow::model::{Property, Work};
use serde_json::Value;

const LEVELS: &[&str] = &["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];
const KV_TYPES: &[&str] = &[
    "NUMBER", "BOOLEAN", "STRING", "DATETIME", "DATE", "DURATION", "JSON",
];

const KEY: PropertySpec = need("key", Kind::Text, "The key.");
const NAMESPACE: PropertySpec = may("namespace", Kind::Text, "The flow's, if there is none.");
const ERROR_ON_MISSING: PropertySpec = may(
    "errorOnMissing",
    Kind::Truth,
    "Whether a missing key is a failure; false if there is none.",
);
const ERROR_MESSAGE: PropertySpec = may("errorMessage", Kind::Text, "Why it fails.");

/// The types.
pub static SIMPLE: &[TypeSpec<Work>] = &[
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.flow.Sleep",
            aliases: &["io.kestra.core.tasks.flows.Sleep"],
            doc: "Waits for some time.",
            properties: &[need("duration", Kind::Duration, "How long.")],
        },
        build: |fields, _| Work::Sleep {
            duration: fields.needed("duration"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.log.Log",
            aliases: &[
                "io.kestra.plugin.core.task.Log",
                "io.kestra.core.tasks.log.Log",
            ],
            doc: "Writes lines to the log of the execution.",
            properties: &[
                need("message", Kind::Lines, "A text, or a list of them."),
                may("level", Kind::Choice(LEVELS), "`INFO` if there is none."),
            ],
        },
        build: |fields, _| Work::Log {
            message: fields.needed("message"),
            level: fields.property("level"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.debug.Echo",
            aliases: &["io.kestra.core.tasks.debugs.Echo"],
            doc: "The older form of `log.Log`.",
            properties: &[
                need("format", Kind::Text, "The text."),
                may("level", Kind::Choice(LEVELS), "`INFO` if there is none."),
            ],
        },
        build: |fields, _| Work::Log {
            message: fields.needed("format"),
            level: fields.property("level"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.debug.Return",
            aliases: &["io.kestra.core.tasks.debugs.Return"],
            doc: "A text as output `value`.",
            properties: &[may("format", Kind::Text, "The text.")],
        },
        build: |fields, _| Work::Return {
            format: fields.property("format"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.output.OutputValues",
            aliases: &[],
            doc: "Values as output `values`.",
            properties: &[need("values", Kind::Map, "The values, by name.")],
        },
        build: |fields, _| Work::OutputValues {
            values: fields.needed("values"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.execution.SetVariables",
            aliases: &[],
            doc: "Sets variables of the execution.",
            properties: &[
                need("variables", Kind::Map, "The values, by name."),
                may(
                    "overwrite",
                    Kind::Flag,
                    "Whether those that are there may be replaced; true if there is none.",
                ),
            ],
        },
        build: set_variables,
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.execution.Fail",
            aliases: &["io.kestra.core.tasks.executions.Fail"],
            doc: "Fails.",
            properties: &[
                may("condition", Kind::Truth, "Only if this is truthy."),
                ERROR_MESSAGE,
            ],
        },
        build: |fields, _| Work::Fail {
            condition: fields.property("condition"),
            error_message: fields.property("errorMessage"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.execution.Assert",
            aliases: &[],
            doc: "Fails unless all conditions are truthy.",
            properties: &[
                need("conditions", Kind::Items, "The conditions."),
                ERROR_MESSAGE,
            ],
        },
        build: |fields, _| Work::Assert {
            conditions: fields.needed("conditions"),
            error_message: fields.property("errorMessage"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.execution.Labels",
            aliases: &["io.kestra.core.tasks.executions.Labels"],
            doc: "Adds labels to the execution.",
            properties: &[need("labels", Kind::Labels, "The labels.")],
        },
        build: |fields, _| Work::Labels {
            labels: fields.needed("labels"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.execution.Exit",
            aliases: &[],
            doc: "Ends the execution.",
            properties: &[may(
                "state",
                Kind::Choice(&["SUCCESS", "WARNING", "FAILED", "KILLED", "CANCELLED"]),
                "`SUCCESS` if there is none.",
            )
            .or(&["executionState"])],
        },
        build: |fields, _| Work::Exit {
            state: fields.property("state"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.kv.Get",
            aliases: &["io.kestra.plugin.core.tasks.kv.Get"],
            doc: "A value of the key-value store as output `value`.",
            properties: &[KEY, NAMESPACE, ERROR_ON_MISSING],
        },
        build: |fields, _| Work::KvGet {
            key: fields.needed("key"),
            namespace: fields.property("namespace"),
            error_on_missing: fields.property("errorOnMissing"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.kv.Set",
            aliases: &["io.kestra.plugin.core.tasks.kv.Set"],
            doc: "Sets a value of the key-value store.",
            properties: &[
                KEY,
                need("value", Kind::Any, "The value."),
                NAMESPACE,
                may(
                    "overwrite",
                    Kind::Truth,
                    "Whether one that is there is replaced; true if there is none.",
                ),
                may("ttl", Kind::Duration, "How long it stays."),
                may(
                    "kvType",
                    Kind::Choice(KV_TYPES),
                    "Its type; that of the value if there is none.",
                ),
                ignored("kvDescription"),
            ],
        },
        build: |fields, _| Work::KvSet {
            key: fields.needed("key"),
            value: fields.needed("value"),
            namespace: fields.property("namespace"),
            overwrite: fields.property("overwrite"),
            ttl: fields.property("ttl"),
            kind: fields.property("kvType"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.kv.Delete",
            aliases: &["io.kestra.plugin.core.tasks.kv.Delete"],
            doc: "Removes a key; output `deleted`.",
            properties: &[KEY, NAMESPACE, ERROR_ON_MISSING],
        },
        build: |fields, _| Work::KvDelete {
            key: fields.needed("key"),
            namespace: fields.property("namespace"),
            error_on_missing: fields.property("errorOnMissing"),
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.kv.GetKeys",
            aliases: &["io.kestra.plugin.core.tasks.kv.GetKeys"],
            doc: "The keys of the key-value store as output `keys`.",
            properties: &[
                may(
                    "prefix",
                    Kind::Text,
                    "Their beginning; all if there is none.",
                ),
                NAMESPACE,
            ],
        },
        build: |fields, _| Work::KvGetKeys {
            prefix: fields.property("prefix"),
            namespace: fields.property("namespace"),
        },
    },
];

/// Keeps the names, so that expressions can be looked at.
fn set_variables(fields: &mut Fields, reader: &mut Reader<'_>) -> Work {
    let variables = fields.needed("variables");
    let names: Option<Vec<String>> = match &variables {
        Property::Literal(Value::Object(map)) => Some(map.keys().cloned().collect()),
        Property::Map(pairs) => Some(pairs.iter().map(|(name, _)| name.clone()).collect()),
        _ => None,
    };
    reader.set_variables = match (reader.set_variables.take(), names) {
        (Some(mut known), Some(more)) => {
            known.extend(more);
            Some(known)
        }
        _ => None,
    };
    Work::SetVariables {
        variables,
        overwrite: fields.flag("overwrite").unwrap_or(true),
    }
}

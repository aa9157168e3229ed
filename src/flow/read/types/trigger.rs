//! What begins a flow.

use super::super::fields::Fields;
use super::super::reader::Reader;
use super::super::spec::{
    About, Kind, Naming, PropertySpec, TypeSpec, ignored, may, need, refused,
};
use crate::flow::model::{
    Condition, FlowTrigger, Property, Recover, Schedule, Signature, Trigger, Webhook,
};

/// States of an execution.
pub const STATES: &[&str] = &[
    "SUCCESS",
    "WARNING",
    "FAILED",
    "KILLED",
    "CANCELLED",
    "PAUSED",
    "RUNNING",
    "CREATED",
    "RETRIED",
    "SKIPPED",
    "QUEUED",
    "RETRYING",
    "RESTARTED",
    "KILLING",
];

const MAX_KEY_CHARS: usize = 256;

/// What every trigger has.
pub const TRIGGER: &[PropertySpec] = &[
    need("id", Kind::Name(Naming::Task), "Its name; once in a flow."),
    need("type", Kind::Plain, "What it is."),
    ignored("description"),
    may("disabled", Kind::Flag, "Whether it does nothing."),
    may("conditions", Kind::Conditions, "All of them have to hold."),
    may("when", Kind::Expression, "This has to be truthy."),
    may("inputs", Kind::Pairs, "Inputs of the flow."),
    ignored("logLevel"),
    ignored("logToFile"),
    ignored("workerGroup"),
    refused("stopAfter", "disable the trigger or the flow."),
    refused("labels", "give the flow `labels`; they may use `trigger`."),
];

const SIGNATURE: &[PropertySpec] = &[
    need("provider", Kind::Plain, "Name of a provider of signatures."),
    need("secret", Kind::Plain, "Name of the secret."),
];

/// `idempotency`, if it is a map.
pub const IDEMPOTENCY: &[PropertySpec] = &[
    may(
        "key",
        Kind::Expression,
        "The key; the `Idempotency-Key` header if there is none.",
    ),
    may(
        "fingerprint",
        Kind::Any,
        "What has to be equal under one key: the bytes of the request if there is none, nothing if it is `false`.",
    ),
    may("retention", Kind::Period, "How long the answer is kept."),
];

/// `preconditions` of a `trigger.Flow`.
pub const PRECONDITIONS: &[PropertySpec] = &[
    ignored("id"),
    need("flows", Kind::Values, "The flow that it waits for: one."),
    ignored("timeWindow"),
    ignored("resetOnSuccess"),
    refused("where", "write it as `conditions`."),
];

/// A flow of `preconditions`.
pub const PRECONDITION_FLOW: &[PropertySpec] = &[
    need("namespace", Kind::Plain, "Its namespace."),
    may("flowId", Kind::Plain, "Its id."),
    may("states", Kind::Words(STATES), "States that count."),
    refused("labels", "write it as a condition."),
];

/// The types.
pub static TRIGGERS: &[TypeSpec<Trigger>] = &[
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.trigger.Webhook",
            aliases: &["io.kestra.core.models.triggers.types.Webhook"],
            doc: "A delivery.",
            properties: &[
                need("key", Kind::Text, "The secret part of its address."),
                may("wait", Kind::Flag, "Whether the sender waits for the end."),
                may(
                    "returnOutputs",
                    Kind::Flag,
                    "Whether the answer is the outputs only.",
                ),
                may(
                    "responseContentType",
                    Kind::Word(&["application/json", "text/plain"]),
                    "Type of the answer.",
                ),
                may(
                    "responseCode",
                    Kind::Count(200, 599),
                    "The status of a success.",
                ),
                may(
                    "idempotency",
                    Kind::Idempotency,
                    "`on` (one execution for each key), `off`, or a map.",
                ),
                may(
                    "signature",
                    Kind::Object(SIGNATURE),
                    "A signature that is checked besides the key.",
                ),
                refused("fetchType", "bodies are handed to the flow as they are."),
            ],
        },
        build: webhook,
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.trigger.Schedule",
            aliases: &["io.kestra.core.models.triggers.types.Schedule"],
            doc: "A time.",
            properties: &[
                need("cron", Kind::Cron, "Five fields, or a word like `@daily`."),
                may(
                    "timezone",
                    Kind::Zone,
                    "A name like `Europe/Paris`; `UTC` if there is none.",
                ),
                may(
                    "scheduleConditions",
                    Kind::Conditions,
                    "The older form of `conditions`.",
                ),
                may(
                    "recoverMissedSchedules",
                    Kind::Word(&["ALL", "LAST", "NONE"]),
                    "What is made of times that were missed; `ALL` if there is none.",
                ),
                refused(
                    "backfill",
                    "send the executions of the past by their own keys.",
                ),
                refused("withSeconds", "a schedule has minutes at the least."),
                refused("lateMaximumDelay", "use `recoverMissedSchedules`."),
            ],
        },
        build: schedule,
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.trigger.Flow",
            aliases: &["io.kestra.core.models.triggers.types.Flow"],
            doc: "The end of another flow's execution.",
            properties: &[
                may(
                    "states",
                    Kind::Words(STATES),
                    "States that count; those in which an execution ends if there are none.",
                ),
                may(
                    "preconditions",
                    Kind::Preconditions,
                    "The flow that it waits for.",
                ),
            ],
        },
        build: |fields, _| {
            let mut conditions = conditions(fields);
            conditions.extend(fields.conditions("preconditions"));
            Trigger::Flow(FlowTrigger {
                id: fields.text("id").unwrap_or_default(),
                disabled: fields.flag("disabled").unwrap_or(false),
                states: fields.texts("states").unwrap_or_default(),
                conditions,
                inputs: fields.pairs("inputs").unwrap_or_default(),
            })
        },
    },
];

fn conditions(fields: &mut Fields) -> Vec<Condition> {
    let mut conditions = fields.conditions("conditions");
    conditions.extend(fields.template("when").map(Condition::Expression));
    conditions
}

fn webhook(fields: &mut Fields, reader: &mut Reader<'_>) -> Trigger {
    let (at, path) = (fields.at_of("key"), fields.path_of("key"));
    let key = fields.needed("key");
    if let Property::Literal(serde_json::Value::String(text)) = &key {
        let length = text.trim().chars().count();
        if !(1..=MAX_KEY_CHARS).contains(&length) {
            let detail = format!("It has {length} characters; 1 to {MAX_KEY_CHARS} are wanted.");
            reader.problem(at, &path, detail);
        }
    }
    let signature = fields.fields("signature").and_then(|mut signature| {
        Some(Signature {
            provider: signature.text("provider")?,
            secret: signature.text("secret")?,
        })
    });
    Trigger::Webhook(Webhook {
        id: fields.text("id").unwrap_or_default(),
        key,
        disabled: fields.flag("disabled").unwrap_or(false),
        conditions: conditions(fields),
        inputs: fields.pairs("inputs").unwrap_or_default(),
        wait: fields.flag("wait").unwrap_or(false),
        return_outputs: fields.flag("returnOutputs").unwrap_or(false),
        response_content_type: fields.text("responseContentType"),
        response_code: fields
            .count("responseCode")
            .and_then(|code| u16::try_from(code).ok()),
        idempotency: fields.idempotency("idempotency").unwrap_or_default(),
        signature,
    })
}

fn schedule(fields: &mut Fields, _: &mut Reader<'_>) -> Trigger {
    let mut conditions = conditions(fields);
    conditions.extend(fields.conditions("scheduleConditions"));
    let recover = match fields.text("recoverMissedSchedules").as_deref() {
        Some("LAST") => Recover::Last,
        Some("NONE") => Recover::None,
        _ => Recover::All,
    };
    Trigger::Schedule(Schedule {
        id: fields.text("id").unwrap_or_default(),
        cron: fields.text("cron").unwrap_or_default(),
        timezone: fields.text("timezone").unwrap_or_else(|| "UTC".to_owned()),
        disabled: fields.flag("disabled").unwrap_or(false),
        conditions,
        inputs: fields.pairs("inputs").unwrap_or_default(),
        recover,
    })
}

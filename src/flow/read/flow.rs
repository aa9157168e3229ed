//! The flow itself.

use super::fields::Fields;
use super::reader::Reader;
use super::spec::{Kind, Naming, PropertySpec, ignored, may, need, refused};
use super::{defaults, references};
use crate::flow::model::{AnswerTemplate, Concurrency, Flow, Overflow, Property};
use crate::flow::yaml::Node;

const CONCURRENCY: &[PropertySpec] = &[
    need("limit", Kind::Count(1, u32::MAX as u64), "At least 1."),
    may(
        "behavior",
        Kind::Word(&["QUEUE", "CANCEL", "FAIL"]),
        "What happens to the others; `QUEUE` if there is none.",
    ),
];

const ANSWER: &[PropertySpec] = &[
    may("status", Kind::Whole, "200 if there is none."),
    may("headers", Kind::Pairs, "Fields."),
    may("body", Kind::Any, "A text as it is, anything else as JSON."),
];

/// Properties of a flow.
pub const FLOW: &[PropertySpec] = &[
    need("id", Kind::Name(Naming::Flow), "Its name."),
    need("namespace", Kind::Name(Naming::Namespace), "Its namespace."),
    may("description", Kind::Prose, "What it is for."),
    may("labels", Kind::LabelPairs, "Labels of its executions."),
    may("inputs", Kind::Inputs, "Typed inputs."),
    may(
        "variables",
        Kind::Variables,
        "`vars`: kept as written; `render()` renders them.",
    ),
    may("outputs", Kind::Outputs, "Rendered at the end."),
    may("triggers", Kind::Triggers, "What begins it."),
    need("tasks", Kind::Tasks, "What it does."),
    may("errors", Kind::MoreTasks, "When one of them has failed."),
    may("finally", Kind::MoreTasks, "At the end, in any case."),
    may(
        "afterExecution",
        Kind::MoreTasks,
        "Once its state is known.",
    ),
    may(
        "concurrency",
        Kind::Object(CONCURRENCY),
        "How many of its executions run at once.",
    ),
    may(
        "pluginDefaults",
        Kind::Defaults,
        "Properties that tasks and triggers of a type have if they don't say otherwise.",
    )
    .or(&["taskDefaults"]),
    may("retry", Kind::Retry, "How a failed task is tried again."),
    may("disabled", Kind::Flag, "Whether it takes no deliveries."),
    may(
        "answer",
        Kind::Object(ANSWER),
        "The answer of its webhook, if it is to be another one than the document of the execution.",
    ),
    ignored("revision"),
    ignored("deleted"),
    ignored("extend"),
    ignored("tenantId"),
    ignored("workerGroup"),
    refused("sla", "give tasks a `timeout`."),
    refused("checks", "use `execution.Assert`."),
    refused(
        "listeners",
        "use `afterExecution`, or a `trigger.Flow` in another flow.",
    ),
];

/// Reads a flow; `None` if there is none.
pub fn flow(reader: &mut Reader<'_>, root: &Node) -> Option<Flow> {
    let entries = reader.map(root, "")?;
    for name in ["pluginDefaults", "taskDefaults"] {
        if let Some(node) = root.get(name).filter(|node| !node.is_null()) {
            defaults::read(reader, node, name);
        }
    }
    let mut fields = reader.fields(entries, root.at, "", "a flow", &[FLOW]);
    let flow = Flow {
        id: fields.text("id").unwrap_or_default(),
        namespace: fields.text("namespace").unwrap_or_default(),
        description: fields.text("description"),
        labels: labels(&mut fields, reader),
        inputs: fields.inputs("inputs").unwrap_or_default(),
        variables: fields.variables("variables").unwrap_or_default(),
        outputs: fields.outputs("outputs").unwrap_or_default(),
        triggers: fields.triggers("triggers").unwrap_or_default(),
        tasks: fields.tasks("tasks"),
        errors: fields.tasks("errors"),
        finally: fields.tasks("finally"),
        after_execution: fields.tasks("afterExecution"),
        concurrency: concurrency(&mut fields),
        retry: fields.retry("retry"),
        disabled: fields.flag("disabled").unwrap_or(false),
        answer: answer(&mut fields),
    };
    references::check(reader, &flow);
    recursion(reader, &flow);
    Some(flow)
}

/// Labels; those of the system are set by itself.
fn labels(fields: &mut Fields, reader: &mut Reader<'_>) -> Vec<(String, Property)> {
    let at = fields.at_of("labels");
    let labels = fields.pairs("labels").unwrap_or_default();
    for (name, _) in &labels {
        if name.starts_with("system.") && name != "system.readOnly" {
            let detail = format!("The label `{name}` is set by the system alone.");
            reader.problem(at, "labels", detail);
        }
    }
    labels
}

/// A flow that begins itself never ends.
fn recursion(reader: &mut Reader<'_>, flow: &Flow) {
    for call in std::mem::take(&mut reader.calls) {
        let same = |property: &Property, name: &str, variable: &str| match property {
            Property::Literal(value) => value.as_str() == Some(name),
            Property::Template(template) => {
                let source: String = template.source().split_whitespace().collect();
                source == format!("{{{{{variable}}}}}")
            }
            _ => false,
        };
        if same(&call.flow_id, &flow.id, "flow.id")
            && same(&call.namespace, &flow.namespace, "flow.namespace")
        {
            reader.problem(call.at, &call.path, "A flow can't begin itself.");
        }
    }
}

fn concurrency(fields: &mut Fields) -> Option<Concurrency> {
    let mut fields = fields.fields("concurrency")?;
    Some(Concurrency {
        limit: fields.small("limit")?,
        behavior: match fields.text("behavior").as_deref() {
            Some("CANCEL") => Overflow::Cancel,
            Some("FAIL") => Overflow::Fail,
            _ => Overflow::Queue,
        },
    })
}

fn answer(fields: &mut Fields) -> Option<AnswerTemplate> {
    let mut fields = fields.fields("answer")?;
    Some(AnswerTemplate {
        status: fields.property("status"),
        headers: fields.pairs("headers").unwrap_or_default(),
        body: fields.property("body"),
    })
}

//! Conditions of triggers.

use super::super::spec::{About, Kind, PropertySpec, TypeSpec, ignored, may, need};
use super::trigger::STATES;
use crate::flow::expression::Template;
use crate::flow::model::{Condition, Property};

const DAYS: &[&str] = &[
    "MONDAY",
    "TUESDAY",
    "WEDNESDAY",
    "THURSDAY",
    "FRIDAY",
    "SATURDAY",
    "SUNDAY",
];

fn is_trigger_date(date: &Property) -> bool {
    let Property::Template(template) = date else {
        return false;
    };
    let source: String = template.source().split_whitespace().collect();
    source == "{{trigger.date}}"
}

/// What every condition has.
pub const CONDITION: &[PropertySpec] = &[
    need("type", Kind::Plain, "What it is."),
    ignored("description"),
];

/// The types. What makes them gives none if something is missing, which has been told.
pub static CONDITIONS: &[TypeSpec<Option<Condition>>] = &[
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.condition.Expression",
            aliases: &[
                "io.kestra.plugin.core.condition.ExpressionCondition",
                "io.kestra.core.models.conditions.types.ExpressionCondition",
                "io.kestra.core.models.conditions.types.VariableCondition",
            ],
            doc: "An expression is truthy.",
            properties: &[need("expression", Kind::Expression, "The expression.")],
        },
        build: |fields, _| {
            let template: Template = fields.template("expression")?;
            Some(Condition::Expression(template))
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.condition.ExecutionStatus",
            aliases: &[
                "io.kestra.plugin.core.condition.ExecutionStatusCondition",
                "io.kestra.core.models.conditions.types.ExecutionStatusCondition",
            ],
            doc: "The execution has ended in a state.",
            properties: &[
                may("in", Kind::Words(STATES), "One of these."),
                may("notIn", Kind::Words(STATES), "None of these."),
            ],
        },
        build: |fields, _| {
            Some(Condition::ExecutionStatus {
                within: fields.texts("in").unwrap_or_default(),
                not_in: fields.texts("notIn").unwrap_or_default(),
            })
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.condition.ExecutionNamespace",
            aliases: &[
                "io.kestra.plugin.core.condition.ExecutionNamespaceCondition",
                "io.kestra.core.models.conditions.types.ExecutionNamespaceCondition",
            ],
            doc: "The execution is of a namespace.",
            properties: &[
                need("namespace", Kind::Plain, "The namespace."),
                may("prefix", Kind::Flag, "Whether it is only its beginning."),
                may(
                    "comparison",
                    Kind::Word(&["EQUALS", "PREFIX"]),
                    "The newer form of `prefix`.",
                ),
            ],
        },
        build: |fields, _| {
            let prefix = fields.flag("prefix").unwrap_or(false);
            Some(Condition::ExecutionNamespace {
                namespace: fields.text("namespace")?,
                prefix: prefix || fields.text("comparison").as_deref() == Some("PREFIX"),
            })
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.condition.ExecutionFlow",
            aliases: &[
                "io.kestra.plugin.core.condition.ExecutionFlowCondition",
                "io.kestra.core.models.conditions.types.ExecutionFlowCondition",
            ],
            doc: "The execution is of a flow.",
            properties: &[
                need("namespace", Kind::Plain, "The namespace."),
                need("flowId", Kind::Plain, "The flow."),
            ],
        },
        build: |fields, _| {
            Some(Condition::ExecutionFlow {
                namespace: fields.text("namespace")?,
                flow_id: fields.text("flowId")?,
            })
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.condition.DayWeek",
            aliases: &[
                "io.kestra.plugin.core.condition.DayWeekCondition",
                "io.kestra.core.models.conditions.types.DayWeekCondition",
            ],
            doc: "It is this day of the week.",
            properties: &[
                need("dayOfWeek", Kind::Word(DAYS), "The day."),
                may(
                    "date",
                    Kind::Text,
                    "Only `{{ trigger.date }}`, which it is anyway.",
                ),
            ],
        },
        build: |fields, reader| {
            let (at, path) = (fields.at_of("date"), fields.path_of("date"));
            if let Some(date) = fields.property("date")
                && !is_trigger_date(&date)
            {
                let detail = "Only `{{ trigger.date }}` is supported here.";
                reader.problem(at, &path, detail);
            }
            let name = fields.text("dayOfWeek")?;
            let day = DAYS.iter().zip(1..).find(|(day, _)| **day == name)?.1;
            Some(Condition::DayWeek { day })
        },
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.condition.Not",
            aliases: &[
                "io.kestra.plugin.core.condition.NotCondition",
                "io.kestra.core.models.conditions.types.NotCondition",
            ],
            doc: "None of these holds.",
            properties: &[need("conditions", Kind::Conditions, "The conditions.")],
        },
        build: |fields, _| Some(Condition::Not(fields.conditions("conditions"))),
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.condition.Or",
            aliases: &[
                "io.kestra.plugin.core.condition.OrCondition",
                "io.kestra.core.models.conditions.types.OrCondition",
            ],
            doc: "One of these holds.",
            properties: &[need("conditions", Kind::Conditions, "The conditions.")],
        },
        build: |fields, _| Some(Condition::Or(fields.conditions("conditions"))),
    },
];

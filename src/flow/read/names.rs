//! The nearest supported thing, and why others are not.

/// Longest name that something near is looked for.
const LONGEST: usize = 128;

/// The candidate that is nearest to a name, if one is near.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if name.len() > LONGEST {
        return None;
    }
    let lower = name.to_lowercase();
    let allowed = (lower.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| {
            let distance = strsim::osa_distance(&lower, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}

/// The supported type that is nearest to another one: its last part counts most.
pub fn nearest_type<'a>(name: &str, types: impl Iterator<Item = &'a str>) -> Option<String> {
    if name.len() > LONGEST {
        return None;
    }
    let parts = |name: &str| {
        let lower = name.to_lowercase();
        let mut parts = lower.rsplit('.').map(ToOwned::to_owned);
        (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        )
    };
    let (wanted, group) = parts(name);
    let allowed = (wanted.chars().count() / 3).clamp(1, 3);
    types
        .filter_map(|candidate| {
            let (last, its_group) = parts(candidate);
            let distance = strsim::osa_distance(&wanted, &last);
            let of_group = strsim::osa_distance(&group, &its_group);
            (distance <= allowed).then_some((distance, of_group, candidate))
        })
        .min_by_key(|(distance, of_group, _)| (*distance, *of_group))
        .filter(|(_, of_group, _)| *of_group == 0 || of_core(name))
        .map(|(_, _, candidate)| candidate.to_owned())
}

/// Whether it looks like a name of the core: plugins have names that end like those.
fn of_core(name: &str) -> bool {
    let plugin = name.strip_prefix("io.kestra.plugin.");
    plugin.is_none_or(|rest| rest.starts_with("core."))
}

/// Types that are known and not supported, by the beginning of their name, with the reason.
pub const UNSUPPORTED: &[(&str, &str)] = &[
    (
        "io.kestra.plugin.scripts.",
        "Script tasks need a process or a container, which can't run at the edge; call a service with `http.Request`, or write the function in Rust.",
    ),
    (
        "io.kestra.plugin.docker.",
        "Docker tasks need containers, which can't run at the edge; call a service with `http.Request`.",
    ),
    (
        "io.kestra.plugin.kubernetes.",
        "Kubernetes tasks need containers, which can't run at the edge; call a service with `http.Request`.",
    ),
    (
        "io.kestra.core.tasks.scripts.",
        "Script tasks need a process or a container, which can't run at the edge; call a service with `http.Request`.",
    ),
    (
        "io.kestra.plugin.core.runner.",
        "Runners need a process or a container, which can't run at the edge.",
    ),
    (
        "io.kestra.plugin.core.flow.WorkingDirectory",
        "There are no local files at the edge; hand values on as outputs, in a `flow.Sequential`.",
    ),
    (
        "io.kestra.core.tasks.flows.WorkingDirectory",
        "There are no local files at the edge; hand values on as outputs, in a `flow.Sequential`.",
    ),
    (
        "io.kestra.plugin.core.flow.Dag",
        "Dependencies between tasks are not read; use `flow.Parallel` and `flow.Sequential`.",
    ),
    (
        "io.kestra.plugin.core.flow.ForEachItem",
        "There are no files to split; use `flow.ForEach` over a list.",
    ),
    (
        "io.kestra.plugin.core.http.Download",
        "There are no files to download to; `http.Request` has the body as an output.",
    ),
    (
        "io.kestra.plugin.core.http.Trigger",
        "Nothing is polled; use a `trigger.Schedule` with an `http.Request`.",
    ),
    (
        "io.kestra.plugin.core.storage.",
        "There is no internal storage of files; keep values with `kv.Set`.",
    ),
    (
        "io.kestra.plugin.core.execution.Purge",
        "Executions are removed by themselves when their retention is over.",
    ),
    (
        "io.kestra.plugin.core.log.",
        "Logs are kept with the execution, and are not read or purged by tasks.",
    ),
    (
        "io.kestra.plugin.core.condition.PublicHoliday",
        "There is no calendar of holidays here.",
    ),
    (
        "io.kestra.plugin.core.condition.",
        "This condition is not supported; write it as `condition.Expression`.",
    ),
    (
        "io.kestra.plugin.jdbc.",
        "Databases are not connected to from flows; call a service with `http.Request`.",
    ),
    (
        "io.kestra.plugin.core.",
        "This part of the core is not supported.",
    ),
    (
        "io.kestra.plugin.",
        "Plugins outside of the core are not there; most services can be called with `http.Request`.",
    ),
];

/// Of these only some types are supported, so another name can be a misspelling.
const PARTLY: &[&str] = &[
    "io.kestra.plugin.",
    "io.kestra.plugin.core.",
    "io.kestra.plugin.core.log.",
    "io.kestra.plugin.core.condition.",
];

/// Why a type is not supported, and whether it can be a misspelling.
pub fn unsupported(name: &str) -> Option<(&'static str, bool)> {
    let (beginning, reason) = UNSUPPORTED
        .iter()
        .find(|(beginning, _)| name.starts_with(beginning))?;
    Some((reason, PARTLY.contains(beginning)))
}

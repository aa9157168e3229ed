//! Operations on all tasks that match a filter: tried at once, carried out by a task of our own.

use super::App;
use super::ask::{self, NoReply};
use super::audit::{Act, audited};
use super::list;
use super::ports::{Edge, Level};
use super::serve::{Body, Exchange, read};
use super::within;
use crate::function::bulk::{BULK, BulkPage};
use crate::http::admit;
use crate::http::auth::Caller;
use crate::http::bulk::{Operation, Order, Report, Wish, tried};
use crate::http::code::Code;
use crate::http::document::TaskDocument;
use crate::http::filter::{self, Filter};
use crate::http::object_call::{Ask, Call, Told};
use crate::http::problem::Problem;
use crate::http::query;
use crate::http::reused;
use crate::http::steer;
use crate::limits;
use crate::protocol::{Begin, Retry};
use crate::store::d1::{self as sql, Action};
use crate::store::rows::Cursor;
use crate::types::{About, Answer, Database, Failure, Headers, Input, TaskId, TaskKey, TaskKind};
use crate::webhook::{KeyRule, single};
use futures::StreamExt as _;
use futures::stream;
use serde_json::json;

/// How long an object is asked, in milliseconds.
const PATIENCE_MS: u64 = 5_000;
/// Tasks that are steered at a time: the platform gives six connections.
const AT_A_TIME: usize = 5;
/// Pages that a dry run counts.
const DRY_PAGES: u32 = 10;
/// Tasks that it shows.
const SAMPLE: usize = 5;

/// An operation on many tasks: a dry run, unless it is said not to be one.
pub(super) async fn operate(
    edge: &Edge,
    exchange: &Exchange,
    body: &mut dyn Body,
    app: &App,
    operation: Operation,
    caller: &Caller,
) -> Result<Answer, Problem> {
    let mut wish = Wish::read(operation, &exchange.target)?;
    steer::without_body(&read(body).await?)?;
    let tenant = caller.only();
    list::confine(&mut wish.filter, tenant)?;
    let now_ms = edge.now_ms();
    wish.filter.created_before_ms = Some(
        wish.filter
            .created_before_ms
            .map_or(now_ms, |at| at.min(now_ms)),
    );
    let key = key(edge, &exchange.headers, tenant.unwrap_or_default())?;
    if wish.dry_run {
        return dry_run(edge, &wish).await;
    }
    let order = Order {
        operation,
        query: wish.query.clone(),
        before_ms: wish.filter.created_before_ms.unwrap_or(now_ms),
        most: wish.most,
        tenant: caller.tenant.clone(),
        by: caller.name.clone(),
    };
    let act = Act {
        caller,
        action: match operation {
            Operation::Cancel => "cancel_many",
            Operation::Retry => "retry_many",
            Operation::Undo => "undo_many",
            Operation::Forget => "forget_many",
        },
        // The task that carries it out.
        task_id: Some(key.task_id()),
        // A filter may hold a key: its parameters are named, not shown.
        detail: json!({ "filter": named(&order.query), "max": order.most }),
    };
    audited(edge, act, begin(edge, app, key, &order)).await
}

/// Names of the parameters of a query.
fn named(query: &str) -> Vec<String> {
    let pairs = query::parameters(&format!("?{query}"));
    pairs.into_iter().map(|(name, _)| name).collect()
}

async fn dry_run(edge: &Edge, wish: &Wish) -> Result<Answer, Problem> {
    let (mut matched, mut before, mut sample) = (0, None, Vec::new());
    for _ in 0..DRY_PAGES {
        let page = list::page(edge, &wish.filter, before, limits::LIST_PAGE_MAX).await?;
        let meant = page
            .tasks
            .iter()
            .filter(|task| is_meant(wish.operation, task));
        for task in meant {
            matched += 1;
            if sample.len() < SAMPLE && matched <= wish.most {
                // Steering is not looking: that is another right.
                sample.push(json!({ "task_id": task.task_id, "state": task.state }));
            }
        }
        before = page.next;
        if before.is_none() || matched > wish.most {
            break;
        }
    }
    // Whoever may reach the first thousand only wants to know that there are more.
    let complete = before.is_none() && matched <= wish.most;
    Ok(tried(wish, matched.min(wish.most), complete, &sample))
}

/// Whether it is worth asking: in its state, and none of our own that carry out such operations.
fn is_meant(operation: Operation, task: &TaskDocument) -> bool {
    operation.takes(task.state) && task.function != BULK
}

/// Names the task that carries it out, under the tenant of who asks for it. With an `Idempotency-Key`, the same
/// request begins it once.
fn key(edge: &Edge, headers: &Headers, tenant: &str) -> Result<TaskKey, Problem> {
    let key = match single(headers, "idempotency-key") {
        Ok(None) => edge.token().as_str().to_owned(),
        _ => admit::key_of(&[KeyRule::IdempotencyKey], headers)?,
    };
    Ok(TaskKey::new(TaskKind::Function, BULK, tenant, &key))
}

/// Begins the task that carries it out.
async fn begin(edge: &Edge, app: &App, key: TaskKey, order: &Order) -> Result<Answer, Problem> {
    let function = app.function(BULK).ok_or_else(|| {
        Problem::new(
            Code::NotFound,
            "This deployment has no operations on many tasks.",
        )
    })?;
    let headers: Headers = std::iter::once(("content-type", "application/json")).collect();
    let print = format!(
        "{} {} {}",
        order.operation.as_str(),
        order.query,
        order.most
    );
    let id = key.task_id();
    let ask = Ask::Begin {
        begin: Box::new(Begin {
            op: edge.token(),
            key,
            function: BULK.to_owned(),
            policy: function.policy().clone(),
            fingerprint: Some(print),
            parts: Vec::new(),
            input: Input {
                headers: headers.clone(),
                // An order holds texts and numbers only.
                body: serde_json::to_vec(order).unwrap_or_default(),
            },
            claims: false,
            hop: 0,
            parent: None,
            lineage: Vec::new(),
            about: About::default(),
        }),
        input_headers: headers,
        wait_ms: 0,
    };
    let told = asked(edge, id, ask)
        .await
        .map_err(|error| unavailable(edge, id, &error))?;
    match told {
        Told::Stands(standing) => {
            let task = TaskDocument::of(&standing.summary);
            let mut answer = task.to_answer(202);
            answer.headers.push("location", task.location());
            answer.headers.push("retry-after", "1");
            Ok(answer)
        }
        Told::KeyReused => Err(reused::key_reused(id, &[])),
        other => Err(unavailable(edge, id, other.name())),
    }
}

fn unavailable(edge: &Edge, id: TaskId, why: &str) -> Problem {
    edge.log(
        Level::Error,
        "object",
        json!({"task_id": id.to_string(), "error": why}),
    );
    Problem::new(Code::Unavailable, "The task's object did not answer.").task(id)
}

async fn asked(edge: &Edge, id: TaskId, ask: Ask) -> Result<Told, String> {
    let call = Call { task_id: id, ask };
    match ask::ask(edge, &call, edge.now_ms() + PATIENCE_MS).await {
        Ok(reply) => match reply.told {
            Told::Unavailable(why) => Err(why),
            told => Ok(told),
        },
        Err(NoReply::Overloaded) => Err("the object is overloaded".to_owned()),
        Err(NoReply::Unreachable(why)) => Err(why),
    }
}

/// Carries an operation out for the next tasks. Done once more it does no harm: each operation has an id that
/// follows from the task that carries it out.
pub(super) async fn page(edge: Edge, own: TaskId, page: BulkPage) -> Result<Report, Failure> {
    let order = &page.order;
    let fault = |why: String| Failure::terminal("order_invalid", why);
    let mut filter: Filter = filter::read(&format!("?{}", order.query))
        .map_err(|problem| fault(problem.detail.clone()))?;
    filter.created_before_ms = Some(
        filter
            .created_before_ms
            .map_or(order.before_ms, |at| at.min(order.before_ms)),
    );
    let tenant = Some(order.tenant.as_str()).filter(|tenant| !tenant.is_empty());
    list::confine(&mut filter, tenant).map_err(|problem| fault(problem.detail))?;
    let after = match &page.after {
        None => None,
        Some(word) => {
            Some(Cursor::read(word).ok_or_else(|| fault(format!("{word:?} is no cursor")))?)
        }
    };
    let most = u32::try_from(page.most).unwrap_or(limits::LIST_PAGE_MAX);
    let found = list::page(&edge, &filter, after, most.min(limits::LIST_PAGE_MAX)).await;
    let found = found.map_err(|problem| Failure::retryable("list_unavailable", problem.detail))?;
    let mut report = Report {
        next_cursor: found.next.map(Cursor::word),
        ..Report::default()
    };
    let meant: Vec<TaskDocument> = found
        .tasks
        .into_iter()
        .filter(|task| is_meant(order.operation, task))
        .collect();
    written_down(&edge, own, order, &meant).await;
    let each = meant
        .into_iter()
        .map(|task| one(&edge, own, order.operation, task.task_id));
    let mut outcomes = stream::iter(each).buffer_unordered(AT_A_TIME);
    while let Some(outcome) = outcomes.next().await {
        report.matched += 1;
        match outcome? {
            None => report.done += 1,
            Some(code) => *report.refused.entry(code.to_owned()).or_default() += 1,
        }
    }
    Ok(report)
}

/// Writes down what is about to be done to each of them, and by whom. As with any operation, a database that does
/// not answer holds nobody up: the log has who asked for all of it.
async fn written_down(edge: &Edge, own: TaskId, order: &Order, tasks: &[TaskDocument]) {
    if tasks.is_empty() {
        return;
    }
    let at_ms = edge.now_ms();
    let detail = json!({ "operation": own.to_string() }).to_string();
    let rows = tasks.iter().map(|task| {
        sql::audit_begins(&Action {
            audit_id: sql::audit_id(at_ms, edge.token().as_str()),
            at_ms,
            token: order.by.clone(),
            action: order.operation.as_str(),
            task_id: Some(task.task_id.to_string()),
            detail: Some(detail.clone()),
        })
    });
    let sent = edge.d1(Database::default(), rows.collect());
    let written = within(edge, limits::AUDIT_WAIT_MS, sent).await;
    if !matches!(written, Some(Ok(_))) {
        let fields = json!({ "task_id": own.to_string(), "rows": tasks.len() });
        edge.log(Level::Error, "audit_row", fields);
    }
}

/// Steers one task: nothing if it is done, or the code of why it is not.
async fn one(
    edge: &Edge,
    own: TaskId,
    operation: Operation,
    id: TaskId,
) -> Result<Option<&'static str>, Failure> {
    let op = format!("{}:bulk:{own}", operation.as_str());
    let ask = match operation {
        Operation::Cancel => Ask::Cancel { op },
        Operation::Undo => Ask::Undo { op },
        Operation::Forget => Ask::Delete,
        Operation::Retry => Ask::Retry {
            retry: Box::new(Retry {
                op,
                ..Retry::default()
            }),
            has_input: false,
        },
    };
    let told = asked(edge, id, ask).await;
    let told =
        told.map_err(|why| Failure::retryable("object_unreachable", format!("task {id}: {why}")))?;
    Ok(refusal(operation, &told, id))
}

fn refusal(operation: Operation, told: &Told, id: TaskId) -> Option<&'static str> {
    let steered = match operation {
        Operation::Cancel => steer::Operation::Cancel,
        Operation::Undo => steer::Operation::Undo,
        Operation::Retry => steer::Operation::Retry,
        Operation::Forget => {
            return match told {
                // Somebody else was faster, or this is the second time.
                Told::Done | Told::NotFound => None,
                _ => Some(Code::TaskInProgress.as_str()),
            };
        }
    };
    match steer::answer(steered, told, id) {
        Some(Ok(_)) => None,
        Some(Err(problem)) => Some(problem.code.as_str()),
        None => Some(Code::Unavailable.as_str()),
    }
}

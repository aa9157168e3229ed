//! Lists of tasks: in order, or beside each other; what follows a failure, and what follows in any case.

use super::super::ctx::Ctx;
use super::execution::{Course, Execution, Stopped};
use super::task::shown;
use crate::flow::model::{Block, Task};
use crate::flow::plan::{Frame, State};
use futures::future::LocalBoxFuture;
use futures::stream::{self, StreamExt as _};

impl Execution {
    /// Tasks in order, up to the first that fails.
    pub(super) fn list<'a>(
        &'a self,
        ctx: &'a Ctx,
        tasks: &'a [Task],
        frame: &'a Frame,
    ) -> LocalBoxFuture<'a, Course> {
        Box::pin(async move {
            let mut state = State::Success;
            for (place, task) in tasks.iter().enumerate() {
                let frame = at(frame, place);
                state = state.with(self.task(ctx, task, &frame).await?);
                if let Some(exit) = self.exit.get() {
                    return Err(Stopped::Exit(exit));
                }
            }
            Ok(state)
        })
    }

    /// Tasks beside each other, each in a branch of its own; `most` at once, all if it is 0.
    pub(super) async fn beside(
        &self,
        ctx: &Ctx,
        tasks: &[Task],
        most: usize,
        frame: &Frame,
    ) -> Course {
        let most = if most == 0 { tasks.len().max(1) } else { most };
        let work = tasks.iter().enumerate().map(|(place, task)| {
            let ctx = ctx.branch(&task.id);
            let frame = at(frame, place);
            async move { self.task(&ctx, task, &frame).await }
        });
        let ended: Vec<Course> = stream::iter(work)
            .buffered(most.min(MAX_BESIDE))
            .collect()
            .await;
        together(ended)
    }

    /// A block: its tasks by `main`, then what deals with a failure, then what comes in any case. The failure stays one.
    pub(super) async fn block(
        &self,
        ctx: &Ctx,
        block: (&[Task], &[Task]),
        frame: &Frame,
        main: LocalBoxFuture<'_, Course>,
    ) -> Course {
        let (errors, finally) = block;
        let mut course = main.await;
        if let Err(Stopped::Failed { task_id, failure }) = &course {
            let mut frame = at(frame, ERRORS);
            frame.error = Some(shown(task_id, failure));
            frame.state = Some(State::Failed);
            // Branches of their own: a later attempt that succeeds does not come here.
            let within = ctx.within("%errors");
            // The first failure counts.
            if let Err(exit @ Stopped::Exit(_)) = self.list(&within, errors, &frame).await {
                course = Err(exit);
            }
        }
        if finally.is_empty() {
            return course;
        }
        let mut frame = at(frame, FINALLY);
        frame.state = Some(match &course {
            Ok(state) | Err(Stopped::Exit(state)) => *state,
            Err(Stopped::Failed { .. }) => State::Failed,
        });
        let exit = self.exit.take();
        let ended = self.list(&ctx.within("%finally"), finally, &frame).await;
        self.exit.set(exit.or(self.exit.get()));
        match (course, ended) {
            (Ok(state), Ok(more)) => Ok(state.with(more)),
            (Err(stopped), _) | (Ok(_), Err(stopped)) => Err(stopped),
        }
    }

    pub(super) async fn in_order(&self, ctx: &Ctx, block: &Block, frame: &Frame) -> Course {
        let main = self.list(ctx, &block.tasks, frame);
        self.block(ctx, (&block.errors, &block.finally), frame, main)
            .await
    }
}

/// So many tasks of one list are under way at once.
pub(super) const MAX_BESIDE: usize = 64;

/// What came of tasks beside each other: the first that stopped, in their order.
pub(super) fn together(ended: Vec<Course>) -> Course {
    ended
        .into_iter()
        .try_fold(State::Success, |state, course| Ok(state.with(course?)))
}

/// Behind all tasks of a list.
const ERRORS: usize = usize::MAX - 2;
const FINALLY: usize = usize::MAX - 1;

/// The frame at a place in its list.
pub(super) fn at(frame: &Frame, place: usize) -> Frame {
    let mut frame = frame.clone();
    frame.place.push(place);
    frame
}

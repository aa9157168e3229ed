//! Progress of constant size, for long loops.

use super::ctx::Ctx;
use super::engine::{MAX_KEPT_BYTES, kept_bytes};
use super::step::{read, to_json};
use crate::limits;
use crate::protocol::Cursor;
use crate::types::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Code of the failure by which a function starts over.
pub(super) const CONTINUE_AS: &str = "continue_as";

impl Ctx {
    /// Keeps a cursor in place of the last one: a run that starts again gets it from
    /// [`Ctx::saved`]. What the function has done since it asked for its progress is not replayed
    /// any more, so a loop of a million turns costs the same to resume as one of ten.
    ///
    /// Call [`Ctx::saved`] before the loop, and save at the end of each turn, with nothing under way in
    /// any branch.
    ///
    /// # Errors
    /// Terminal if the cursor is too large (`cursor_too_large`) or has no JSON form, if something is
    /// under way (`save_beside_work`), or if the loop has steps of too many names (`too_many_names`).
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function};
    ///
    /// async fn import(ctx: Ctx, pages: u32) -> Result<u32, Failure> {
    ///     let mut page: u32 = ctx.saved()?.unwrap_or_default();
    ///     while page < pages {
    ///         ctx.step("page", || async { Ok(()) }).await?;
    ///         page += 1;
    ///         ctx.save(&page).await?;
    ///     }
    ///     Ok(page)
    /// }
    /// # use onceward::testing::Bench;
    /// # let mut bench = Bench::new(Function::new("import", import));
    /// # bench.deliver("k", onceward::types::Input { body: b"20".to_vec(), ..Default::default() }).unwrap();
    /// # bench.run_until_idle();
    /// # assert_eq!(bench.answer("k").unwrap().body, b"20");
    /// ```
    pub async fn save<C: Serialize>(&self, cursor: &C) -> Result<(), Failure> {
        let text = to_json(cursor)?;
        if text.len() > limits::MAX_CURSOR_BYTES {
            let (got, most) = (text.len(), limits::MAX_CURSOR_BYTES);
            let message = format!("the cursor has {got} bytes; a cursor can have {most}");
            return Err(Failure::terminal("cursor_too_large", message));
        }
        let run = &self.run;
        let skips = run.skips();
        if !skips.is_empty() && run.is_busy() {
            let message = "something of this task is under way in another branch, and the saved progress would skip it; save when it has ended";
            return Err(Failure::terminal("save_beside_work", message));
        }
        if skips.len() > limits::MAX_SKIPS {
            let (got, most) = (skips.len(), limits::MAX_SKIPS);
            let message = format!(
                "the loop before this save has steps of {got} names; {most} can be skipped when it resumes: give steps of a loop the same names in each turn"
            );
            return Err(Failure::terminal("too_many_names", message));
        }
        let names = skips.iter().map(|s| s.branch.len() + s.name.len() + 64);
        let kept = kept_bytes(&text) + names.sum::<usize>();
        if kept > MAX_KEPT_BYTES {
            let message = format!(
                "the cursor takes {kept} bytes on record, with the names of the steps that it skips; it can take {MAX_KEPT_BYTES}"
            );
            return Err(Failure::terminal("cursor_too_large", message));
        }
        let last = run.cursor.borrow().clone();
        if last
            .as_ref()
            .is_some_and(|last| last.text == text && last.skips == skips)
        {
            return Ok(());
        }
        let next = Cursor {
            fence: 0,
            n: last.map_or(0, |last| last.n) + 1,
            text,
            skips,
        };
        *run.cursor.borrow_mut() = Some(next.clone());
        *run.unsaved.borrow_mut() = Some(next);
        run.recorded().await;
        run.saved_behind();
        Ok(())
    }

    /// The cursor that was saved last in this generation.
    ///
    /// # Errors
    /// Terminal if it is not what the code now expects (`outcome_mismatch`).
    pub fn saved<C: DeserializeOwned>(&self) -> Result<Option<C>, Failure> {
        self.run.resume_from_cursor();
        let cursor = self.run.cursor.borrow();
        let cursor = cursor.as_ref().map(|cursor| read(&cursor.text, "cursor"));
        cursor.transpose()
    }

    /// Starts over with another input: the same task, the next generation, an empty journal. What can
    /// be undone stays known and is undone if the task fails later; unread signals are kept.
    ///
    /// Return its result from the function at once.
    ///
    /// # Errors
    /// Always: that is how the function ends. Terminal if the input is too large or has no JSON form.
    ///
    /// ```
    /// use onceward::function::{Ctx, Failure, Function};
    ///
    /// async fn countdown(ctx: Ctx, n: u32) -> Result<String, Failure> {
    ///     ctx.step("tick", || async { Ok(()) }).await?;
    ///     if n > 0 {
    ///         return ctx.continue_as(&(n - 1));
    ///     }
    ///     Ok("lift-off".to_owned())
    /// }
    /// # use onceward::testing::Bench;
    /// # let mut bench = Bench::new(Function::new("countdown", countdown));
    /// # bench.deliver("k", onceward::types::Input { body: b"3".to_vec(), ..Default::default() }).unwrap();
    /// # bench.run_until_idle();
    /// # assert_eq!(bench.answer("k").unwrap().body, br#""lift-off""#);
    /// # assert_eq!(bench.journal("k").len(), 1);
    /// ```
    pub fn continue_as<T, I: Serialize>(&self, input: &I) -> Result<T, Failure> {
        let text = to_json(input)?;
        if text.len() > limits::MAX_BODY_BYTES {
            let (got, most) = (text.len(), limits::MAX_BODY_BYTES);
            let message = format!("the next input has {got} bytes; an input can have {most}");
            return Err(Failure::terminal("input_too_large", message));
        }
        *self.run.next_input.borrow_mut() = Some(text.into_bytes());
        Err(Failure::terminal(
            CONTINUE_AS,
            "the function starts over; return this from it",
        ))
    }
}

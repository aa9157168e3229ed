//! Guards of the machine, taken away one at a time: not in its code, but by changing what it is shown
//! or what it says (`blind`). The model must notice each.

use crate::monitor as m;
use crate::states as s;

macro_rules! mutants {
    ($($mutant:ident: $without:literal, $scene:literal, $by:path;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant { $($mutant),* }

        /// Each with what it is without, the bound that is searched for it, and the property that must
        /// notice it.
        pub const ALL: &[(Mutant, &str, &str, &str)] =
            &[$((Mutant::$mutant, $without, $scene, $by)),*];
    };
}

mutants! {
    // Who may act.
    AnyProof: "fence and token compared", "slices", m::STALE;
    AnyToken: "token compared, where fences begin anew after a deletion", "old slices", m::STALE;
    LeaseNotHeld: "a valid lease respected by the alarm", "clock", m::LEASE;
    AnyTicket: "tickets compared", "attempts", m::TICKET;
    TicketStays: "the ticket used up by its claim", "slices", s::ALONE;
    OldTicketToo: "an older ticket void once there is a newer one", "attempts", m::LEASE;
    ClaimUnknown: "`op` of a claim known", "slices", m::REPEAT;
    ClockGoesBack: "the latest time that was seen", "clock", m::LEASE;
    NoMargin: "the margin of a lease", "skew", s::ALONE;
    LateSuspension: "a suspension refused after its lease", "attempts", m::STALE;
    SuspensionsUncounted: "the count of a lease's suspensions", "naps", m::BESIDE;
    LeaseOutlivesGeneration: "the lease ended by a retry", "from a step", m::STALE;
    ChainEndless: "hops counted", "as a child", m::CHAIN;
    // What is recorded.
    JournalHidden: "the journal shown to the claimer", "slices", m::EFFECT;
    LastOutcomeWins: "the first outcome wins", "slices", m::RECORD;
    DeadlineMoves: "the first deadline stays, should a slice set another", "both", m::DEADLINE;
    TimeIgnored: "the time of a sleep compared", "sleep", m::SLEPT;
    SavesUncounted: "the count of a lease's saves", "progress", m::CURSOR;
    FinishUnknown: "`op` of a finish known", "slices", m::REPEAT;
    SuspendUnknown: "`op` of a suspension known", "attempts", m::REPEAT;
    FinalIsRevived: "a success taken for final", "old slices", m::FINAL;
    BeginUnknown: "`op` of a delivery known", "attempts", m::DELIVERY;
    AnyBody: "fingerprints compared", "slices", m::ANSWER;
    UsedUpIsNew: "an expired key refused for its time", "less is kept", m::USED_UP;
    NoAttempts: "lost leases counted", "attempts", m::ATTEMPTS;
    SuspendTakesBack: "progress asked for before a claim is taken back", "attempts", m::ATTEMPTS;
    // What goes on by itself.
    NoAlarm: "the alarm set", "clock", s::ALARM;
    AlarmIdle: "the alarm moving things on", "slices", s::ENDS;
    SignalUnknown: "`id` of a signal known", "signal", m::SIGNAL;
    SignalLost: "a signal kept that nobody waits for yet", "signal", s::ENDS;
    AnyGeneration: "the generation of a child's parent compared", "with a child", m::ANOTHERS;
    ChildForgotten: "children told of a cancellation", "with a child", s::OWED;
    DebtGivenUp: "a debt tried again", "as a child", s::OWED;
    ForgottenThoughOwed: "a debt kept beyond retention", "as a child", s::OWED;
    // How it ends.
    NoCancel: "the wish of an operator seen by a finish", "cancel", s::WISH;
    CancelSleeps: "the wish of an operator seen by a suspension", "naps", s::WISH;
    CancelAtOnce: "a valid lease respected by a cancellation", "cancel", m::BESIDE;
    CancelAnyTime: "a cancellation too late for a success", "cancel", m::FINAL;
    NothingToUndo: "what can be undone looked up", "cancel", s::UNDONE;
    LateUndoIgnored: "what is reported late undone as well", "cancel", s::UNDONE;
    ContinueForgets: "what can be undone kept for the next generation", "continued", s::UNDONE;
    HandlersHidden: "what came of undoing shown to the claimer", "undoing", m::ONCE;
    UndoHidden: "what can be undone shown to the claimer", "undoing", s::ALL_OF_IT;
    PartlyIsAll: "what is not undone told apart", "restart", m::PARTLY;
    UndoneIsKept: "the journal emptied after undoing", "restart", m::FRESH;
    AnswerHidden: "the answer shown while a success is undone", "undo of", m::FINAL;
    OperationUnknown: "`op` of an operator known", "retry", m::STEERED;
    // D1, and the end of retention.
    FlagForVersion: "the version of a flush (a flag instead)", "retention", s::PROJECTED;
    HigherRowIgnored: "a higher row of D1 noticed", "old slices", s::PROJECTED;
    OlderRowWins: "versions compared by D1", "retention", s::BURIED;
    AnyTombstone: "the version of a tombstone", "deletion", m::LIVING;
    DeletesTheLiving: "the look at the task before it is deleted", "retention", m::LIVING;
    DeletesRunning: "the state seen by an operator's deletion", "old slices", m::LIVING;
}

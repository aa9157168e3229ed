//! Times of schedules: over changes of the clocks, after outages, looked at twice.

use super::*;

fn schedule(cron: &str, timezone: &str, recover: Recover) -> Schedule {
    Schedule {
        id: "at".into(),
        cron: cron.into(),
        timezone: timezone.into(),
        disabled: false,
        conditions: Vec::new(),
        inputs: Vec::new(),
        recover,
    }
}

fn ms(text: &str) -> u64 {
    let at: Timestamp = text.parse().expect("a time");
    u64::try_from(at.as_millisecond()).expect("after 1970")
}

fn text(ms: u64) -> String {
    fire_key("", ms)[1..].to_owned()
}

/// The times between two texts, all of them.
fn times(cron: &str, zone: &str, after: &str, until: &str) -> Vec<String> {
    let schedule = schedule(cron, zone, Recover::All);
    let due = due(&schedule, (ms(after), ms(until)), |_| Ok(true)).expect("due");
    assert_eq!(due.until_ms, ms(until), "all of it was looked at");
    due.times.iter().copied().map(text).collect()
}

#[test]
fn a_stretch_is_open_at_its_beginning_and_closed_at_its_end() {
    let found = times(
        "* * * * *",
        "UTC",
        "2026-11-30T10:00:00Z",
        "2026-11-30T10:02:00Z",
    );
    assert_eq!(found, ["2026-11-30T10:01:00Z", "2026-11-30T10:02:00Z"]);
    assert!(
        times(
            "* * * * *",
            "UTC",
            "2026-11-30T10:00:00Z",
            "2026-11-30T10:00:59Z"
        )
        .is_empty()
    );
    // A clock that stepped back.
    let at = schedule("* * * * *", "UTC", Recover::All);
    let back = due(
        &at,
        (ms("2026-11-30T10:05:00Z"), ms("2026-11-30T10:01:00Z")),
        |_| Ok(true),
    );
    assert!(back.expect("due").times.is_empty());
}

#[test]
fn stretches_side_by_side_give_each_time_once() {
    let from = ms("2026-03-28T22:00:00Z");
    let whole = times(
        "*/7 * * * *",
        "Europe/Paris",
        "2026-03-28T22:00:00Z",
        "2026-03-29T04:00:00Z",
    );
    let at = schedule("*/7 * * * *", "Europe/Paris", Recover::All);
    let mut pieces = Vec::new();
    for n in 0..360 {
        let stretch = (from + n * 60_000, from + (n + 1) * 60_000);
        pieces.extend(due(&at, stretch, |_| Ok(true)).expect("due").times);
    }
    assert_eq!(pieces.iter().copied().map(text).collect::<Vec<_>>(), whole);
}

#[test]
fn a_time_that_the_clocks_leave_out_is_the_moment_after() {
    // Paris goes from 02:00 to 03:00 at 01:00 UTC; New York at 07:00 UTC.
    for (cron, zone, after, until, want) in [
        (
            "30 2 * * *",
            "Europe/Paris",
            "2026-03-28T12:00:00Z",
            "2026-03-30T12:00:00Z",
            vec!["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
        ),
        (
            "30 2 * * *",
            "America/New_York",
            "2026-03-07T12:00:00Z",
            "2026-03-09T12:00:00Z",
            vec!["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"],
        ),
        (
            "*/30 * * * *",
            "Europe/Paris",
            "2026-03-29T00:00:00Z",
            "2026-03-29T02:00:00Z",
            vec![
                "2026-03-29T00:30:00Z",
                "2026-03-29T01:00:00Z",
                "2026-03-29T01:30:00Z",
                "2026-03-29T02:00:00Z",
            ],
        ),
    ] {
        assert_eq!(times(cron, zone, after, until), want, "{cron} {zone}");
    }
}

#[test]
fn a_time_of_the_day_that_the_clocks_repeat_comes_once() {
    // Paris goes from 03:00 to 02:00 at 01:00 UTC; New York from 02:00 to 01:00 at 06:00 UTC.
    for (cron, zone, after, until, want) in [
        (
            "30 2 * * *",
            "Europe/Paris",
            "2026-10-24T12:00:00Z",
            "2026-10-26T12:00:00Z",
            vec!["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
        ),
        (
            "30 1 * * *",
            "America/New_York",
            "2026-10-31T12:00:00Z",
            "2026-11-02T12:00:00Z",
            vec!["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"],
        ),
        (
            "*/30 * * * *",
            "Europe/Paris",
            "2026-10-25T00:00:00Z",
            "2026-10-25T02:00:00Z",
            vec![
                "2026-10-25T00:30:00Z",
                "2026-10-25T01:00:00Z",
                "2026-10-25T01:30:00Z",
                "2026-10-25T02:00:00Z",
            ],
        ),
    ] {
        assert_eq!(times(cron, zone, after, until), want, "{cron} {zone}");
        // The same in small stretches.
        let at = schedule(cron, zone, Recover::All);
        let (mut from, end, mut pieces) = (ms(after), ms(until), Vec::new());
        while from < end {
            let to = end.min(from + 11 * 60_000);
            pieces.extend(due(&at, (from, to), |_| Ok(true)).expect("due").times);
            from = to;
        }
        assert_eq!(
            pieces.iter().copied().map(text).collect::<Vec<_>>(),
            want,
            "{cron} {zone}"
        );
    }
}

#[test]
fn what_was_missed_is_made_up_for_as_the_schedule_wants() {
    let stretch = (ms("2026-11-30T10:00:30Z"), ms("2026-11-30T13:01:05Z"));
    let of = |cron: &str, recover| {
        let due = due(&schedule(cron, "UTC", recover), stretch, |_| Ok(true)).expect("due");
        due.times.iter().copied().map(text).collect::<Vec<_>>()
    };
    assert_eq!(
        of("0 * * * *", Recover::All),
        [
            "2026-11-30T11:00:00Z",
            "2026-11-30T12:00:00Z",
            "2026-11-30T13:00:00Z"
        ]
    );
    // 13:00 is no more than a minute ago: it comes in any case.
    assert_eq!(
        of("0 * * * *", Recover::Last),
        ["2026-11-30T12:00:00Z", "2026-11-30T13:00:00Z"]
    );
    assert_eq!(of("0 * * * *", Recover::None), ["2026-11-30T13:00:00Z"]);
    assert_eq!(of("30 * * * *", Recover::Last), ["2026-11-30T12:30:00Z"]);
    assert!(of("30 * * * *", Recover::None).is_empty());
}

#[test]
fn a_long_outage_is_made_up_for_in_pieces() {
    let at = schedule("* * * * *", "UTC", Recover::All);
    let (mut after, until) = (ms("2026-11-30T00:00:00Z"), ms("2026-11-30T04:00:00Z"));
    let (mut all, mut looks) = (Vec::new(), 0);
    while after < until {
        let found = due(&at, (after, until), |_| Ok(true)).expect("due");
        assert!(found.times.len() <= MAX_DUE && found.until_ms > after);
        all.extend(found.times);
        after = found.until_ms;
        looks += 1;
    }
    assert_eq!((all.len(), looks), (240, 3));
    // Years of it cost no more than that where the last one counts.
    let last = schedule("* * * * *", "UTC", Recover::Last);
    let found = due(&last, (ms("2016-01-01T00:00:00Z"), until), |_| Ok(true)).expect("due");
    assert_eq!(found.times.len(), 3);
    assert_eq!(found.until_ms, until);
}

#[test]
fn conditions_are_asked_of_each_time() {
    let stretch = (ms("2026-11-30T00:00:00Z"), ms("2026-11-30T12:00:30Z"));
    let even = |at: u64| Ok((at / 3_600_000).is_multiple_of(2));
    let of = |recover| {
        let due = due(&schedule("0 * * * *", "UTC", recover), stretch, even).expect("due");
        due.times.iter().copied().map(text).collect::<Vec<_>>()
    };
    assert_eq!(of(Recover::All).len(), 6);
    assert_eq!(
        of(Recover::Last),
        ["2026-11-30T10:00:00Z", "2026-11-30T12:00:00Z"]
    );
    let fails = due(&schedule("0 * * * *", "UTC", Recover::All), stretch, |_| {
        Err("no".into())
    });
    assert_eq!(fails, Err("no".to_owned()));
}

#[test]
fn a_day_that_never_comes_and_a_schedule_that_is_off_are_never_due() {
    assert!(
        times(
            "0 0 30 2 *",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2027-01-01T00:00:00Z"
        )
        .is_empty()
    );
    let off = Schedule {
        disabled: true,
        ..schedule("* * * * *", "UTC", Recover::All)
    };
    let found = due(&off, (0, ms("2026-01-01T00:00:00Z")), |_| Ok(true)).expect("due");
    assert_eq!(
        (found.times.len(), found.until_ms),
        (0, ms("2026-01-01T00:00:00Z"))
    );
}

#[test]
fn what_an_execution_is_told_is_in_the_zone_of_its_schedule() {
    let paris = schedule("30 2 * * *", "Europe/Paris", Recover::All);
    let trigger = fire_variables(&paris, ms("2026-03-29T01:00:00Z")).expect("variables");
    assert_eq!(trigger["date"], "2026-03-29T03:00:00+02:00");
    assert_eq!(trigger["previous"], "2026-03-28T02:30:00+01:00");
    assert_eq!(trigger["next"], "2026-03-30T02:30:00+02:00");
    let utc = schedule("@daily", "UTC", Recover::All);
    let trigger = fire_variables(&utc, ms("2026-03-29T00:00:00Z")).expect("variables");
    assert_eq!(trigger["date"], "2026-03-29T00:00:00Z");
}

//! Gateways on the whole runtime, with faults before and after every effect: what an origin sees and what clients are told.

use crate::chance::Fate;
use crate::exec::Event;
use crate::workers::{self, Request};
use crate::world::{TOKEN, World};
use onceward::types::{Answer, Headers};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Clients act, and faults strike, for so long.
const RAGE_MS: u64 = 180_000;
/// Then everything comes to rest.
const ALONE_MS: u64 = 45 * 60_000;
const SEEDS: u64 = 24;

/// What each client was told, but for what says to come again.
type Told = Rc<RefCell<Vec<Answer>>>;

fn request(gateway: &str, method: &'static str) -> Request {
    let mut headers = Headers::default();
    headers.push("idempotency-key", "\"one\"");
    headers.push("authorization", format!("Bearer {TOKEN}"));
    Request {
        method,
        target: format!("/proxy/{gateway}{}", target(gateway)),
        headers,
        body: b"{}".to_vec(),
    }
}

fn target(gateway: &str) -> String {
    format!("/shop/700/{gateway}")
}

/// True for an answer that is kept: the origin's, or what stands for it.
fn is_final(answer: &Answer) -> bool {
    let kept = answer.headers.get("idempotency-expires").is_some();
    kept && matches!(answer.status, 201 | 504)
}

async fn client(world: Rc<World>, gateway: &'static str, who: u64, told: Told) {
    while world.elapsed_ms() < RAGE_MS {
        let patience = 300 + world.fate.below(gateway, "patience", 8_000);
        let answer = workers::request(&world, gateway, request(gateway, "POST"), Some(patience));
        if let Some(answer) = answer.await.filter(is_final) {
            told.borrow_mut().push(answer);
        }
        let pause = world.fate.below(gateway, "pause", 9_000) + who;
        world.exec.sleep(pause).await;
    }
}

fn passes(world: &World, ms: u64) {
    world.exec.run_until(world.now_ms() + ms);
}

/// One more delivery when all is calm.
fn last_word(world: &Rc<World>, gateway: &'static str) -> Answer {
    let told = Told::default();
    let (shared, world_) = (Rc::clone(&told), Rc::clone(world));
    let job = async move {
        let answer = workers::request(&world_, gateway, request(gateway, "POST"), None).await;
        shared.borrow_mut().extend(answer);
    };
    world
        .exec
        .spawn(&world.network, Event::first(), Box::pin(job));
    passes(world, 60_000);
    let answer = told.borrow_mut().pop();
    answer.expect("an answer when nothing goes wrong")
}

fn fields(answer: &Answer) -> Vec<(String, String)> {
    let fields = answer.headers.iter();
    let fields = fields.filter(|(name, _)| *name != "idempotent-replayed");
    fields.map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
}

/// Runs one life of both gateways. Gives the status that each ended with.
fn live(seed: u64) -> [u16; 2] {
    let fate = Fate::new(
        seed,
        [100, 250, 400][usize::try_from(seed % 3).unwrap_or(0)],
        BTreeSet::new(),
    );
    let world = World::new(fate, None);
    let gateways = ["known", "unsure"];
    let told = gateways.map(|gateway| {
        let told = Told::default();
        for who in 0..3 {
            let job = client(Rc::clone(&world), gateway, who, Rc::clone(&told));
            world
                .exec
                .spawn(&world.network, Event::first(), Box::pin(job));
        }
        told
    });
    passes(&world, RAGE_MS);
    world.fate.calms();
    passes(&world, ALONE_MS);
    let mut statuses = [0; 2];
    for (n, gateway) in gateways.into_iter().enumerate() {
        let mut last = last_word(&world, gateway);
        if last.status == 500 || last.status == 202 {
            // It was resumed, and is over by now.
            last = last_word(&world, gateway);
        }
        let place = format!("seed {seed}, {gateway}");
        assert!(is_final(&last), "{place}: {last:?}");
        for earlier in told[n].borrow().iter() {
            let same = (earlier.status, &earlier.body) == (last.status, &last.body);
            assert!(same, "{place}: {earlier:?} became {last:?}");
            assert_eq!(fields(earlier), fields(&last), "{place}");
        }
        let calls = world.outside.calls();
        let calls: Vec<_> = calls
            .iter()
            .filter(|c| c.target == target(gateway))
            .collect();
        let keys: BTreeSet<&str> = calls.iter().map(|c| c.key.as_str()).collect();
        assert!(keys.len() <= 1, "{place}: {keys:?}");
        match gateway {
            "known" => {
                assert_eq!(last.status, 201, "{place}");
                let made = format!("{{\"id\":\"id-{}\"}}", calls[0].key);
                assert_eq!(last.body, made.as_bytes(), "{place}");
            }
            _ => assert!(calls.len() <= 1, "{place}: sent {} times", calls.len()),
        }
        statuses[n] = last.status;
    }
    assert!(
        world.broken.borrow().is_empty(),
        "{seed}: {:?}",
        world.broken.borrow()
    );
    statuses
}

#[test]
fn an_origin_is_asked_once_or_by_one_key_whatever_goes_wrong() {
    let ends: BTreeSet<[u16; 2]> = (0..SEEDS).map(live).collect();
    let want = BTreeSet::from([[201, 201], [201, 504]]);
    assert_eq!(ends, want, "both ends of the unsure one were seen");
}

/// What is passed through reaches the origin and comes back, and no object hears of it.
#[test]
fn what_is_passed_through_has_no_task() {
    let fate = Fate::new(1, 0, BTreeSet::new());
    let world = World::new(fate, None);
    let told = Told::default();
    for method in ["GET", "PUT", "DELETE"] {
        let (shared, told) = (Rc::clone(&world), Rc::clone(&told));
        let job = async move {
            let answer = workers::request(&shared, "through", request("known", method), None);
            let answer = answer.await;
            told.borrow_mut().extend(answer);
        };
        world
            .exec
            .spawn(&world.network, Event::first(), Box::pin(job));
        passes(&world, 5_000);
    }
    let told = told.borrow();
    assert_eq!(told.len(), 3);
    for answer in told.iter() {
        assert_eq!(answer.status, 201, "{answer:?}");
        assert_eq!(answer.body, br#"{"id":"id-"}"#, "no key was sent");
        assert_eq!(answer.headers.get("onceward-task-id"), None);
    }
    assert_eq!(world.outside.calls().len(), 3);
    assert_eq!(world.counts.messages.get(), 0, "no object was asked");
    let late = Rc::clone(&world);
    let seen = Told::default();
    let shared = Rc::clone(&seen);
    let mut slow = request("known", "GET");
    slow.target = "/proxy/known/shop/20000/x".into();
    let job = async move {
        let answer = workers::request(&late, "through", slow, None).await;
        shared.borrow_mut().extend(answer);
    };
    world
        .exec
        .spawn(&world.network, Event::first(), Box::pin(job));
    passes(&world, 60_000);
    let statuses: Vec<u16> = seen.borrow().iter().map(|a| a.status).collect();
    assert_eq!(statuses, [504], "15 s are over");
}

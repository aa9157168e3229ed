//! Kills and faults, at moments that the seed chooses.

use crate::programs::{below, pick};
use crate::support::chance::Chance;
use crate::support::{Request, Server, TOKEN, eventually};
use crate::town::Town;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const MESSAGES: [&str; 7] = [
    "begin", "claim", "record", "save", "suspend", "finish", "signal",
];
const SWITCHES: [&str; 3] = ["d1", "self", "object_reply"];
/// How often somebody is told how it goes.
const NEWS: Duration = Duration::from_secs(5);

pub struct Weather {
    chance: Chance,
    pub kills: Vec<u64>,
    /// Panics that the servers have printed.
    pub panics: usize,
    struck: BTreeMap<&'static str, u64>,
}

impl Weather {
    pub fn new(seed: u64) -> Self {
        Self {
            chance: Chance::new(seed),
            kills: Vec::new(),
            panics: 0,
            struck: BTreeMap::new(),
        }
    }

    /// How often each switch has struck.
    pub fn struck(&self) -> &BTreeMap<&'static str, u64> {
        &self.struck
    }

    /// Faults every half a second, a kill every eight.
    pub fn rages_until(&mut self, end: Instant, server: &mut Server, town: &Town) {
        let mut next_kill = Instant::now() + self.chance.ms(3_000, 9_000);
        let mut news = Instant::now();
        while Instant::now() < end {
            until_later(self.chance.ms(100, 900));
            if Instant::now() >= next_kill {
                self.kill(server, town);
                next_kill = Instant::now() + self.chance.ms(3_000, 12_000);
            }
            self.fault(town);
            if news.elapsed() >= NEWS {
                news = Instant::now();
                let (keys, calls) = (town.residents().len(), town.sink.total());
                let (at, kills) = (town.now() / 1_000, self.kills.len());
                eprintln!("chaos: {at:>4} s  {keys} keys, {calls} calls, {kills} kills");
            }
        }
    }

    fn kill(&mut self, server: &mut Server, town: &Town) {
        self.count(town, &SWITCHES);
        self.listen(server);
        self.kills.push(town.now());
        server.kill9();
        town.set_down(true);
        until_later(self.chance.ms(0, 1_500));
        server.restart();
        town.set_down(false);
    }

    fn listen(&mut self, server: &Server) {
        self.panics += server.output().matches("panicked at").count();
    }

    fn fault(&mut self, town: &Town) {
        let times = 1 + below(&mut self.chance, 4);
        let fault = match below(&mut self.chance, 8) {
            0 => json!({ "d1": "fail", "times": times * 4 }),
            1 => json!({ "d1": "apply_then_fail", "times": times }),
            2 => json!({ "d1": format!("stall:{}ms", 500 * times * times), "times": times }),
            3 => json!({ "self": "lose", "times": times }),
            4 => json!({ "self": "double", "times": times * 2 }),
            5 => json!({ "object_reply": "lose", "times": times }),
            _ => {
                let on = pick(&mut self.chance, &MESSAGES);
                json!({ "object_reply": "lose", "on": on, "times": times })
            }
        };
        // Setting one anew forgets how often it struck.
        let set = SWITCHES.iter().find(|switch| fault[**switch].is_string());
        self.count(town, set.map_or(&[], std::slice::from_ref));
        town.send(&Request::post("/lab/faults").bearer(TOKEN).json(&fault));
    }

    /// Adds how often these have struck since they were set.
    fn count(&mut self, town: &Town, switches: &[&'static str]) {
        let answer = town.send(&Request::get("/lab/faults").bearer(TOKEN));
        let faults = answer.map_or(Value::Null, |a| a.json());
        for switch in switches {
            let struck = faults[switch]["struck"].as_u64().unwrap_or(0);
            *self.struck.entry(switch).or_default() += struck;
        }
    }

    /// Switches everything off.
    pub fn calms(&mut self, server: &Server, town: &Town) {
        self.count(town, &SWITCHES);
        for switch in SWITCHES {
            eventually(|| {
                let off = Request::post("/lab/faults")
                    .bearer(TOKEN)
                    .json(&json!({ switch: "ok" }));
                let answer = server.try_send(&off).map_err(|e| e.to_string())?;
                crate::support::check(answer.status < 300, || answer.shown())
            });
        }
        self.listen(server);
        town.is_calm_from_now();
        eprintln!("chaos: faults stop after {} s", town.now() / 1_000);
    }
}

fn until_later(time: Duration) {
    std::thread::sleep(time);
}

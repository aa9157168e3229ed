//! Programs for the lab function, and what the checker has to know about each.

use crate::history::{Plan, Undoable};
use crate::support::chance::Chance;
use crate::support::{
    Settings as _, call, child, child_id, fail, parallel, program, repeat, signal, sleep,
};
use serde_json::{Value, json};

/// The signal that programs wait for.
pub const SIGNAL: &str = "go";
/// A kill costs an attempt, so these programs have many.
const ATTEMPTS: u32 = 50;

/// A program, its plan, and its children: the name of the step and the id of the task.
pub struct Made {
    pub body: Value,
    pub plan: Plan,
    pub children: Vec<(String, String)>,
}

/// Writes one program.
struct Writer<'a> {
    /// The address of a target.
    url: &'a dyn Fn(&str) -> String,
    key: &'a str,
    chance: &'a mut Chance,
    plan: Plan,
    children: Vec<(String, String)>,
}

pub fn below(chance: &mut Chance, n: u64) -> u64 {
    chance.next() % n
}

/// One of a list that is not empty.
pub fn pick<'a, T>(chance: &mut Chance, list: &'a [T]) -> &'a T {
    let index = below(chance, list.len() as u64);
    &list[usize::try_from(index).unwrap_or(0)]
}

/// A program for this key.
pub fn make(url: &dyn Fn(&str) -> String, key: &str, chance: &mut Chance) -> Made {
    let plan = Plan {
        paths: vec![Vec::new()],
        ends: "succeeded",
        ..Plan::default()
    };
    let mut writer = Writer {
        url,
        key,
        chance,
        plan,
        children: Vec::new(),
    };
    let (steps, attempts) = writer.steps();
    let body = program(steps)
        .short()
        .set("max_attempts", attempts)
        .set("steps_per_slice", *pick(writer.chance, &[1, 2, 3, 100]))
        .answer(json!({ "status": 201, "headers": { "x-chaos": key } }));
    Made {
        body,
        plan: writer.plan,
        children: writer.children,
    }
}

impl Writer<'_> {
    /// One of twelve kinds; its steps and its attempts.
    fn steps(&mut self) -> (Vec<Value>, u32) {
        let kind = below(self.chance, 12);
        let steps = match kind {
            0 | 1 => vec![self.call("a"), self.call("b"), self.call("c")],
            2 => vec![self.call("a"), self.nap(), self.call("b"), self.call("c")],
            3 => self.waiting(),
            4 => {
                self.plan.ends = "failed";
                let steps = ["a", "b", "c"].map(|name| self.undoable(name));
                steps.into_iter().chain([fail("terminal")]).collect()
            }
            5 => {
                let before = [self.undoable("a"), self.undoable("b")];
                let nap = self.nap();
                before
                    .into_iter()
                    .chain([nap, self.undoable("c")])
                    .collect()
            }
            6 => self.beside(),
            7 => vec![self.call("a"), self.turns("r"), self.call("b")],
            8 => vec![self.call("a"), self.child(), self.call("b")],
            9 => vec![self.saving(), self.call("b")],
            10 => vec![self.undoable("a"), self.flaky("b"), self.undoable("c")],
            _ => return (self.again(), 1),
        };
        (steps, ATTEMPTS)
    }

    /// A target of this key whose first words say what it answers; it is the next one on every path.
    fn target(&mut self, what: &str, name: &str) -> String {
        let target = format!("/{what}/{}/{name}", self.key);
        for path in &mut self.plan.paths {
            path.push(target.clone());
        }
        target
    }

    fn shop(&mut self, name: &str) -> String {
        let ms = below(self.chance, 120);
        self.target(&format!("shop/{ms}"), name)
    }

    fn call(&mut self, name: &str) -> Value {
        let target = self.shop(name);
        call(name, (self.url)(&target))
    }

    fn nap(&mut self) -> Value {
        let ms = 200 + below(self.chance, 3_000);
        sleep("nap", &format!("{ms}ms"))
    }

    fn undoable(&mut self, name: &str) -> Value {
        let target = self.shop(name);
        let undo = format!("/d/{}/{}/undo-{name}", below(self.chance, 40), self.key);
        self.plan.undoable.push(Undoable {
            step: name.to_owned(),
            target: target.clone(),
            undo: undo.clone(),
        });
        call(name, (self.url)(&target)).undo((self.url)(&undo))
    }

    /// Two signals, one after the other; of one key in five nobody sends them.
    fn waiting(&mut self) -> Vec<Value> {
        self.plan.signal = Some(SIGNAL.to_owned());
        self.plan.waits = below(self.chance, 5) == 0;
        vec![
            self.undoable("a"),
            repeat("twice", 2, &signal(SIGNAL)),
            self.call("b"),
        ]
    }

    fn beside(&mut self) -> Vec<Value> {
        let before = self.call("a");
        let common = self.plan.paths.concat();
        let mut paths = Vec::new();
        let branches = ["x", "y", "z"].map(|branch| {
            self.plan.paths = vec![common.clone()];
            let steps = [1, 2].map(|n| self.call(&format!("{branch}{n}"))).to_vec();
            paths.append(&mut self.plan.paths);
            steps
        });
        self.plan.paths = paths;
        vec![before, parallel("beside", branches), self.call("b")]
    }

    fn turns(&mut self, name: &str) -> Value {
        let step = self.call(name);
        self.count_turns(4);
        repeat("turns", 4, &step)
    }

    fn count_turns(&mut self, turns: usize) {
        if let Some(target) = self.plan.paths[0].last() {
            self.plan.turns.insert(target.clone(), turns);
        }
    }

    fn child(&mut self) -> Value {
        let key = format!("{}-child", self.key);
        let own = vec![self.call("child-a"), self.call("child-b")];
        let targets = self.plan.paths[0].iter().rev().take(2);
        self.plan.of_children = targets.cloned().collect();
        let body = program(own).short().set("max_attempts", ATTEMPTS);
        self.children.push(("own".to_owned(), child_id(&key)));
        child("own", &key, &body)
    }

    /// A loop that saves its progress: what lies before the last save is not read again.
    fn saving(&mut self) -> Value {
        let step = self.call("page");
        self.count_turns(3);
        let turn = vec![step, json!({ "do": "save", "cursor": "a page more" })];
        repeat("pages", 3, &parallel("page", [turn]))
    }

    /// Refused once, cut off once, then done.
    fn flaky(&mut self, name: &str) -> Value {
        let target = self.target("seq/503,drop,200", name);
        self.plan.failures.insert(target.clone(), 2);
        let retry = json!({ "max_attempts": 6, "initial": "100ms" });
        call(name, (self.url)(&target)).with("retry", retry)
    }

    /// Fails once, is undone, and starts over with the next delivery.
    fn again(&mut self) -> Vec<Value> {
        self.plan.starts_over = 10;
        self.plan.one_attempt = true;
        let steps = vec![self.undoable("a"), self.call("b")];
        let target = self.target("seq/503,200", "c");
        self.plan.failures.insert(target.clone(), 1);
        steps
            .into_iter()
            .chain([call("c", (self.url)(&target))])
            .collect()
    }
}

//! What a run has counted, for people.

const HOUR_MS: u64 = 3_600_000;

#[derive(Clone, Copy, Default)]
pub struct Figures {
    pub deliveries: usize,
    pub calls: usize,
    pub messages: u64,
    pub faults: usize,
    pub deaths: u64,
    pub resets: u64,
    pub alarms: u64,
    pub alarms_dropped: u64,
    pub hops: u64,
    pub deepest: u32,
    pub d1_calls: u64,
    pub cron_runs: u64,
    pub cut_off: u64,
    pub virtual_ms: u64,
    pub repeats: usize,
    /// Tasks of keys that were used again.
    pub reused: usize,
    pub undos: usize,
    pub lost: usize,
    pub wrong: usize,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut line = |name: &str, value: u64| writeln!(f, "  {name:<28} {value:>12}");
        line("simulated hours", self.virtual_ms / HOUR_MS)?;
        line("deliveries", self.deliveries as u64)?;
        line("tasks of keys used again", self.reused as u64)?;
        line("calls of the outside", self.calls as u64)?;
        line("  undos", self.undos as u64)?;
        line("  repeated, with a reason", self.repeats as u64)?;
        line("messages to objects", self.messages)?;
        line("D1 calls", self.d1_calls)?;
        line("runs of cron", self.cron_runs)?;
        line("continuations", self.hops)?;
        line("  deepest chain (of 16)", self.deepest.into())?;
        line("alarms", self.alarms)?;
        line("  given up by the platform", self.alarms_dropped)?;
        line("faults that struck", self.faults as u64)?;
        line("deaths", self.deaths)?;
        line("  resets by the platform", self.resets)?;
        line("  cut off by the platform", self.cut_off)?;
        line("lost", self.lost as u64)?;
        line("wrong", self.wrong as u64)
    }
}

impl Figures {
    pub fn add(&mut self, other: &Self) {
        self.deliveries += other.deliveries;
        self.calls += other.calls;
        self.messages += other.messages;
        self.faults += other.faults;
        self.deaths += other.deaths;
        self.resets += other.resets;
        self.alarms += other.alarms;
        self.alarms_dropped += other.alarms_dropped;
        self.hops += other.hops;
        self.deepest = self.deepest.max(other.deepest);
        self.d1_calls += other.d1_calls;
        self.cron_runs += other.cron_runs;
        self.cut_off += other.cut_off;
        self.virtual_ms += other.virtual_ms;
        self.repeats += other.repeats;
        self.reused += other.reused;
        self.undos += other.undos;
        self.lost += other.lost;
        self.wrong += other.wrong;
    }
}

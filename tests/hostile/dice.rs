//! Random choices for one request, all of them from the seed and the number of the request.

use crate::support::chance::Chance;

pub struct Dice(Chance);

impl Dice {
    /// Any request of a run can be made again by itself.
    pub fn of(seed: u64, number: u64) -> Self {
        let mut chance = Chance::new(seed.wrapping_add(number.wrapping_mul(0x2545_f491_4f6c_dd1d)));
        chance.next();
        Self(chance)
    }

    /// From 0 to one below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.0.next() % n).unwrap_or(0)
    }

    /// True so often of a hundred times.
    pub fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    pub fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap_or(0)
    }

    /// Bytes changed, left out, doubled, moved or put in.
    pub fn mutated(&mut self, bytes: &[u8]) -> Vec<u8> {
        const ODD: [&[u8]; 14] = [
            b"\"",
            b"{",
            b"[",
            b"\\",
            b"\0",
            b"\xff",
            b"\xc3\x28",
            b"-1",
            b"1e999",
            b"null",
            b"99999999999999999999",
            b"\\ud800",
            b",",
            b":",
        ];
        let mut out = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(out.len() + 1);
            let end = (at + 1 + self.below(8)).min(out.len());
            match self.below(6) {
                0 if at < out.len() => out[at] = self.byte(),
                1 => drop(out.drain(at.min(end)..end)),
                2 => {
                    let part = out[at.min(end)..end].to_vec();
                    out.splice(at..at, part);
                }
                3 => out.truncate(at),
                _ => {
                    let odd = self.pick(&ODD);
                    out.splice(at..at, odd.iter().copied());
                }
            }
        }
        out
    }
}

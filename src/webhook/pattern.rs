//! Which keys a route takes, where it takes fewer than all.

use super::key::KeyProblem;
use crate::limits::MAX_KEY_CHARS;

/// An alphabet and a length, narrower than what every key must be.
///
/// ```
/// use onceward::webhook::KeyPattern;
/// let pattern = KeyPattern::new("A-Za-z0-9_.:-", 16, 255).unwrap();
/// assert!(pattern.check("order:2026-11-30.7").is_ok());
/// assert!(pattern.check("short").is_err());
/// assert!(pattern.check("order/2026/11/30/7").is_err());
/// assert_eq!(pattern.to_string(), "[A-Za-z0-9_.:-]{16,255}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPattern {
    text: String,
    allowed: [bool; 128],
    min: usize,
    max: usize,
}

impl KeyPattern {
    /// An alphabet in the way of a bracket expression: characters, and ranges like `a-z`; a `-` that is
    /// first or last stands for itself. Then the least and the most characters of a key.
    ///
    /// # Errors
    /// Says what is wrong: a character that no key can have, a range that runs backwards, no character
    /// at all, or lengths outside of 1 to 255.
    pub fn new(alphabet: &str, min: usize, max: usize) -> Result<Self, String> {
        let mut allowed = [false; 128];
        let chars: Vec<char> = alphabet.chars().collect();
        let mut rest = chars.as_slice();
        while let [first, after @ ..] = rest {
            let (end, behind) = match after {
                ['-', end, behind @ ..] => (end, behind),
                _ => (first, after),
            };
            let visible = first.is_ascii_graphic() && end.is_ascii_graphic();
            if !visible || first > end {
                return Err(format!(
                    "key alphabet: {first:?} to {end:?} is no range of visible ASCII characters"
                ));
            }
            for c in *first..=*end {
                if let Some(place) = allowed.get_mut(c as usize) {
                    *place = true;
                }
            }
            rest = behind;
        }
        if !allowed.contains(&true) {
            return Err("key alphabet: it has no character".to_owned());
        }
        if min < 1 || max > MAX_KEY_CHARS || min > max {
            return Err(format!(
                "key length: got {min} to {max}, wanted a range within 1 to {MAX_KEY_CHARS}"
            ));
        }
        Ok(Self {
            text: alphabet.to_owned(),
            allowed,
            min,
            max,
        })
    }

    /// Least and most characters.
    pub fn chars(&self) -> (usize, usize) {
        (self.min, self.max)
    }

    /// Whether a key is one of these.
    ///
    /// # Errors
    /// [`KeyProblem::Malformed`], without the key.
    pub fn check(&self, key: &str) -> Result<(), KeyProblem> {
        let known = |byte: u8| self.allowed.get(usize::from(byte)).is_some_and(|a| *a);
        let why = if !key.bytes().all(known) {
            "it has a character that is not taken here; see the page of this route"
        } else if !(self.min..=self.max).contains(&key.len()) {
            "it is too short or too long for this route; see its page"
        } else {
            return Ok(());
        };
        Err(KeyProblem::Malformed {
            field: "the key".to_owned(),
            why,
        })
    }
}

impl std::fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}]{{{},{}}}", self.text, self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alphabets_are_read_like_bracket_expressions() {
        let takes = |alphabet, key: &str| {
            KeyPattern::new(alphabet, 1, 255)
                .expect("good")
                .check(key)
                .is_ok()
        };
        for (alphabet, key, want) in [
            ("a-c", "abc", true),
            ("a-c", "d", false),
            ("a-c", "-", false),
            ("ac-", "a-c", true),
            ("-a", "-a", true),
            ("a-cx-z", "az", true),
            ("a-c-e", "-", true),
            ("a-c-e", "d", false),
            ("!-~", "\"\\]~", true),
            ("a-z", "é", false),
            ("a-z", "a b", false),
        ] {
            assert_eq!(takes(alphabet, key), want, "[{alphabet}] {key:?}");
        }
    }

    #[test]
    fn lengths_are_inclusive() {
        let pattern = KeyPattern::new("a", 2, 4).expect("good");
        let lengths: Vec<usize> = (0..7)
            .filter(|n| pattern.check(&"a".repeat(*n)).is_ok())
            .collect();
        assert_eq!(lengths, [2, 3, 4]);
        assert_eq!(pattern.chars(), (2, 4));
    }

    #[test]
    fn what_makes_no_pattern_is_named() {
        for (alphabet, min, max, want) in [
            ("", 1, 2, "no character"),
            ("z-a", 1, 2, "no range"),
            ("é", 1, 2, "no range"),
            ("a-é", 1, 2, "no range"),
            (" ", 1, 2, "no range"),
            ("a", 0, 2, "within 1 to 255"),
            ("a", 3, 2, "within 1 to 255"),
            ("a", 1, 256, "within 1 to 255"),
        ] {
            let fault = KeyPattern::new(alphabet, min, max).expect_err("refused");
            assert!(fault.contains(want), "{alphabet:?}: {fault}");
        }
        let pattern = KeyPattern::new("a", 1, 1).expect("good");
        let problem = pattern.check("SEC-1").expect_err("refused").to_string();
        assert!(!problem.contains("SEC"), "{problem}");
    }
}

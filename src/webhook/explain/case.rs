//! One thing after the other is tried with a delivery, until something makes its signature hold.

use super::finding::Fact;
use super::search::{Hit, Search};
use super::{Hints, SecretAt, Verdict, bodies, fields, keys, urls};
use crate::types::Headers;
use crate::webhook::{Arrival, Refusal, Scheme, Secret, packs};

/// Most other header fields that are tried in the place of one that is missing.
const MAX_RENAMED: usize = 8;

/// One delivery on the table.
pub(super) struct Case<'a> {
    scheme: &'a Scheme,
    arrival: &'a Arrival<'a>,
    given: &'a [SecretAt<'a>],
    hints: &'a Hints<'a>,
    /// Those that can be read, and where they are in `given`.
    good: Vec<Secret>,
    of: Vec<usize>,
    pub search: Search,
    /// What makes the signature hold.
    pub proven: Vec<Fact>,
    /// What else was seen.
    pub facts: Vec<Fact>,
    pub matched: Option<usize>,
    pub skew_s: Option<i64>,
}

impl<'a> Case<'a> {
    pub fn new(
        scheme: &'a Scheme,
        arrival: &'a Arrival<'a>,
        given: &'a [SecretAt<'a>],
        hints: &'a Hints<'a>,
    ) -> Self {
        let mut case = Self {
            scheme,
            arrival,
            given,
            hints,
            good: Vec::new(),
            of: Vec::new(),
            search: Search::default(),
            proven: Vec::new(),
            facts: Vec::new(),
            matched: None,
            skew_s: None,
        };
        for (index, at) in given.iter().enumerate() {
            match Secret::read(at.text, scheme.key_form()) {
                Ok(secret) => {
                    case.good.push(secret);
                    case.of.push(index);
                }
                Err(fault) => case.facts.push(Fact::SecretFaulty {
                    secret: named(index, at),
                    fault,
                    live: !at.expired,
                }),
            }
        }
        case
    }

    /// The verdict, and all that can be found out about it.
    pub fn settle(&mut self) -> Verdict {
        if !self.scheme.is_signed() {
            self.facts.clear();
            self.proven.push(Fact::Unsigned);
            return Verdict::Unsigned;
        }
        let (live, live_of): (Vec<Secret>, Vec<usize>) = self
            .good
            .iter()
            .zip(&self.of)
            .filter(|(_, index)| !self.given[**index].expired)
            .map(|(secret, index)| (secret.clone(), *index))
            .unzip();
        let refusal = match self.scheme.verify(self.arrival, &live) {
            Ok(proof) => {
                self.matched = proof.secret.and_then(|place| live_of.get(place).copied());
                let blocked = self.is_blocked();
                self.proven.push(Fact::Holds);
                return if blocked {
                    Verdict::Closed
                } else {
                    Verdict::Accepted
                };
            }
            Err(refusal) => refusal,
        };
        let closed = refusal == Refusal::NoSecret || self.is_blocked();
        if refusal == Refusal::NoSecret {
            self.facts.push(Fact::Closed);
        }
        self.look(&refusal);
        if !self.tries(&refusal) && !self.good.is_empty() {
            self.facts.push(Fact::NoMatch {
                secrets: self.good.len(),
                tried: self.search.tried,
            });
        }
        if self.search.cut && self.proven.is_empty() {
            self.facts.push(Fact::Cut);
        }
        if closed {
            Verdict::Closed
        } else {
            Verdict::Refused
        }
    }

    /// One secret that can't be read, and no delivery of the source is taken.
    fn is_blocked(&self) -> bool {
        let mut facts = self.facts.iter();
        facts.any(|fact| matches!(fact, Fact::SecretFaulty { live: true, .. }))
    }

    /// What can be seen without trying anything.
    fn look(&mut self, refusal: &Refusal) {
        let headers = self.arrival.headers;
        for name in self.scheme.header_names() {
            if headers.iter().filter(|(n, _)| *n == name).count() > 1 {
                self.facts.push(Fact::HeaderRepeated { name });
            }
        }
        let repeated = !self.facts.is_empty()
            && matches!(self.facts.last(), Some(Fact::HeaderRepeated { .. }));
        match refusal {
            Refusal::Missing { header } => self.facts.push(Fact::HeaderMissing {
                name: header.clone(),
            }),
            Refusal::Malformed { header, why } if !repeated => {
                self.facts.push(Fact::HeaderMalformed {
                    name: header.clone(),
                    why,
                });
            }
            _ => {}
        }
        if self.scheme.needs_public_url() && self.arrival.public_url.is_none() {
            self.facts.push(Fact::UrlMissing);
        }
        let encoded = headers
            .get("content-encoding")
            .is_some_and(|e| e != "identity");
        let length = headers.get("content-length").and_then(|n| n.parse().ok());
        match length {
            _ if encoded => self.facts.push(Fact::BodyEncoded),
            Some(wanted) if wanted != self.arrival.body.len() => {
                self.facts.push(Fact::BodyLength {
                    got: self.arrival.body.len(),
                    wanted,
                });
            }
            _ => {}
        }
    }

    /// One thing after the other, until one makes the signature hold.
    fn tries(&mut self, refusal: &Refusal) -> bool {
        self.plain()
            || self.header_values(refusal)
            || self.header_names(refusal)
            || self.other_providers()
            || self.urls()
            || self.keys()
            || self.bodies()
    }

    /// With the expired secrets, and at any time.
    fn plain(&mut self) -> bool {
        let hit = self.search.holds(self.scheme, self.arrival, &self.good);
        self.found(hit, None)
    }

    /// A signature that is written in another way. Hex can be read as base64, so that what is refused
    /// as malformed is not all of it.
    fn header_values(&mut self, refusal: &Refusal) -> bool {
        let names = match refusal {
            Refusal::Malformed { header, .. } => vec![header.clone()],
            Refusal::Mismatch => self.scheme.header_names(),
            _ => Vec::new(),
        };
        names.into_iter().any(|name| {
            let Some(value) = self.arrival.headers.get(&name) else {
                return false;
            };
            let forms = fields::values(value, *refusal != Refusal::Mismatch);
            forms.into_iter().any(|(how, other)| {
                let mut headers = self.arrival.headers.clone();
                headers.set(&name, other);
                let hit = self.with_headers(&headers);
                let name = name.clone();
                self.found(hit, Some(Fact::HeaderForm { name, how }))
            })
        })
    }

    /// A signature under another name.
    fn header_names(&mut self, refusal: &Refusal) -> bool {
        let Refusal::Missing { header } = refusal else {
            return false;
        };
        let is_signature = |name: &str| name.contains("sig") || name.contains("hmac");
        let fields = self.arrival.headers.iter();
        let others: Vec<&str> = fields
            .filter(|(name, _)| is_signature(name))
            .map(|(_, value)| value)
            .take(MAX_RENAMED)
            .collect();
        others.into_iter().any(|value| {
            let mut headers = self.arrival.headers.clone();
            headers.set(header, value);
            let hit = self.with_headers(&headers);
            let name = header.clone();
            self.found(hit, Some(Fact::HeaderRenamed { name }))
        })
    }

    fn with_headers(&mut self, headers: &Headers) -> Option<Hit> {
        let arrival = Arrival {
            headers,
            ..*self.arrival
        };
        self.search.holds(self.scheme, &arrival, &self.good)
    }

    /// The rules of every other provider whose fields are there. Some share theirs.
    fn other_providers(&mut self) -> bool {
        let own = self.scheme.header_names();
        let (mut seen, mut holds) = (Vec::new(), Vec::new());
        let mut first = None;
        for pack in packs::names().filter_map(packs::by_name) {
            let names = pack.scheme.header_names();
            let is_there = |name: &String| self.arrival.headers.get(name).is_some();
            if pack.scheme == *self.scheme || !names.iter().any(is_there) {
                continue;
            }
            if names
                .iter()
                .any(|name| is_there(name) && !own.contains(name))
            {
                seen.push(pack.title);
            }
            let read = |(index, at): (usize, &SecretAt<'_>)| {
                let secret = Secret::read(at.text, pack.scheme.key_form()).ok()?;
                Some((index, secret))
            };
            let all = self.given.iter().enumerate().filter_map(read);
            let (of, secrets): (Vec<usize>, Vec<Secret>) = all.unzip();
            if let Some(hit) = self.search.holds(&pack.scheme, self.arrival, &secrets) {
                holds.push(pack.title);
                first.get_or_insert((hit, of));
            }
        }
        if let Some((hit, of)) = first {
            return self.found_in(Some(hit), Some(Fact::OtherProvider { titles: holds }), &of);
        }
        if !seen.is_empty() {
            self.facts.push(Fact::OtherHeaders { titles: seen });
        }
        false
    }

    fn urls(&mut self) -> bool {
        if !self.scheme.needs_public_url() {
            return false;
        }
        let Arrival {
            public_url, target, ..
        } = *self.arrival;
        let forms = urls::forms(public_url, target, self.hints.request_url);
        forms.into_iter().any(|(how, url)| {
            let arrival = Arrival {
                public_url: Some(&url),
                ..*self.arrival
            };
            let hit = self.search.holds(self.scheme, &arrival, &self.good);
            self.found(hit, Some(Fact::UrlForm { how }))
        })
    }

    fn keys(&mut self) -> bool {
        self.given.iter().enumerate().any(|(index, at)| {
            let forms = keys::forms(at.text, self.scheme.key_form());
            forms.into_iter().any(|(how, secret)| {
                let hit = self.search.holds(self.scheme, self.arrival, &[secret]);
                let secret = named(index, at);
                self.found_in(hit, Some(Fact::SecretForm { secret, how }), &[index])
            })
        })
    }

    fn bodies(&mut self) -> bool {
        if !self.scheme.covers_body() {
            return false;
        }
        let other = self.hints.other_body.map(|bytes| bodies::Form {
            says: "before or after its content encoding, whichever was not checked".to_owned(),
            bytes: bytes.to_vec(),
        });
        let forms = other.into_iter().chain(bodies::forms(self.arrival.body));
        forms.into_iter().any(|form| {
            let arrival = Arrival {
                body: &form.bytes,
                ..*self.arrival
            };
            let hit = self.search.holds(self.scheme, &arrival, &self.good);
            self.found(hit, Some(Fact::BodyForm { how: form.says }))
        })
    }

    /// Notes what has made the signature hold.
    fn found(&mut self, hit: Option<Hit>, fact: Option<Fact>) -> bool {
        let of = std::mem::take(&mut self.of);
        let found = self.found_in(hit, fact, &of);
        self.of = of;
        found
    }

    /// The same, where the secrets that were tried are at these places.
    fn found_in(&mut self, hit: Option<Hit>, fact: Option<Fact>, of: &[usize]) -> bool {
        let Some(Hit { place, skew_s }) = hit else {
            return false;
        };
        self.proven.extend(fact);
        if let Some(index) = of.get(place).copied() {
            self.matched = Some(index);
            let at = &self.given[index];
            if at.expired {
                let secret = named(index, at);
                self.proven.push(Fact::SecretExpired { secret });
            }
        }
        let (by_s, tolerance_s) = (skew_s.unsigned_abs(), self.scheme.tolerance_s().flatten());
        match skew_s {
            0 => return true,
            1.. => self.proven.push(Fact::TooOld { by_s, tolerance_s }),
            _ => self.proven.push(Fact::FromFuture { by_s, tolerance_s }),
        }
        self.skew_s = Some(skew_s);
        true
    }
}

/// How a secret is called in a sentence.
fn named(index: usize, at: &SecretAt<'_>) -> String {
    format!("{index} ({})", at.name)
}

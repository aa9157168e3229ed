//! How a sender is told "accepted, not finished", and that a task ended without an answer of its own.
//!
//! The contract says 202 with the task document, and 200 with it for a task that ended without an
//! answer. Some providers take a 202 for a failure, read the body as a command, or show it to people.
//!
//! | style | not finished (202) | ended without an answer (200) |
//! |---|---|---|
//! | `Contract` | as it is | as it is |
//! | `Ok200` | the same with 200 | as it is |
//! | `Empty200` | 200, no body | 200, no body |
//! | `Slack` | 200, no body | the same with `X-Slack-No-Retry: 1` |
//! | `TwiML` | 200, an empty `<Response/>` | the same |
//! | `DiscordDeferred` | the interaction is deferred | a message that only the caller sees |
//! | `Mailgun` | 200 | 406, on which Mailgun stops |
//!
//! `Location`, `Retry-After` and `Onceward-Task-Id` stay. A function's own answer is never touched.

use crate::types::Answer;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// An answer for Twilio that does nothing (twilio.com/docs, `TwiML` for messages and for calls).
const TWIML: &str = r#"<?xml version="1.0" encoding="UTF-8"?><Response/>"#;

/// What a provider gets where the contract gives a 202 or a task document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ack {
    /// 202 and 200 with the task document.
    #[default]
    Contract,
    /// 200 with the task document: for providers to which only 200 is success, such as Linear and Zoom.
    Ok200,
    /// 200 without a body: for providers that show or interpret it.
    Empty200,
    /// As `Empty200`: Slack shows the body of an answer to a slash command. What has ended is not to be
    /// sent again (docs.slack.dev, Events API, `X-Slack-No-Retry`).
    Slack,
    /// 200 with `TwiML` that does nothing: Twilio reads the answer as commands for the call or message.
    TwiML,
    /// Discord's interactions (docs.discord.com, Receiving and Responding): an answer later is announced;
    /// webhook events get a 204.
    DiscordDeferred,
    /// Mailgun repeats on everything but 200 and 406 (help.mailgun.com, Webhooks).
    Mailgun,
}

impl Ack {
    /// Every style.
    pub const ALL: &'static [Self] = &[
        Self::Contract,
        Self::Ok200,
        Self::Empty200,
        Self::Slack,
        Self::TwiML,
        Self::DiscordDeferred,
        Self::Mailgun,
    ];

    /// The word used in configuration and pages.
    ///
    /// ```
    /// use onceward::webhook::Ack;
    /// assert_eq!(Ack::TwiML.as_str(), "twiml");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Ok200 => "ok",
            Self::Empty200 => "empty",
            Self::Slack => "slack",
            Self::TwiML => "twiml",
            Self::DiscordDeferred => "discord",
            Self::Mailgun => "mailgun",
        }
    }

    /// Reads the word.
    ///
    /// ```
    /// use onceward::webhook::Ack;
    /// for ack in Ack::ALL {
    ///     assert_eq!(Ack::parse(ack.as_str()), Some(*ack));
    /// }
    /// assert_eq!(Ack::parse("TwiML"), None);
    /// ```
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|ack| ack.as_str() == word)
    }

    /// Dresses the contract's 202, or the 200 with the document of a task that ended without an answer.
    /// Any other status stays as it is. `arrival_body` is what the provider sent.
    ///
    /// ```
    /// use onceward::types::Answer;
    /// use onceward::webhook::Ack;
    /// let accepted = Answer::json(202, &serde_json::json!({"state": "running"}));
    /// let dressed = Ack::DiscordDeferred.dress(accepted, br#"{"type":2,"id":"1"}"#);
    /// assert_eq!((dressed.status, &dressed.body[..]), (200, &br#"{"type":5}"#[..]));
    /// ```
    #[must_use]
    pub fn dress(&self, answer: Answer, arrival_body: &[u8]) -> Answer {
        let ended = match answer.status {
            202 => false,
            200 => true,
            _ => return answer,
        };
        match (self, ended) {
            (Self::Contract, _) | (Self::Ok200, true) => answer,
            (Self::Ok200 | Self::Mailgun, false) => Answer {
                status: 200,
                ..answer
            },
            (Self::Mailgun, true) => Answer {
                status: 406,
                ..answer
            },
            (Self::Empty200, _) | (Self::Slack, false) => with(answer, 200, None),
            (Self::Slack, true) => {
                let mut answer = with(answer, 200, None);
                answer.headers.set("x-slack-no-retry", "1");
                answer
            }
            (Self::TwiML, _) => with(answer, 200, Some(("text/xml; charset=utf-8", TWIML.into()))),
            (Self::DiscordDeferred, _) => match deferred(arrival_body, ended) {
                Some(body) => with(answer, 200, Some(("application/json", body.to_string()))),
                None => with(answer, 204, None),
            },
        }
    }
}

/// The same answer with another status and body; fields that speak of the old body are taken out.
fn with(mut answer: Answer, status: u16, body: Option<(&str, String)>) -> Answer {
    for name in [
        "content-type",
        "content-length",
        "content-language",
        "content-encoding",
        "etag",
    ] {
        answer.headers.remove(name);
    }
    answer.status = status;
    answer.body = match body {
        Some((media, text)) => {
            answer.headers.push("content-type", media);
            text.into_bytes()
        }
        None => Vec::new(),
    };
    answer
}

/// What Discord sends.
#[derive(Deserialize)]
struct DiscordBody {
    r#type: u64,
    event: Option<IgnoredAny>,
}

/// The answer to an interaction; `None` for a webhook event, which has none.
fn deferred(arrival_body: &[u8], ended: bool) -> Option<Value> {
    const AUTOCOMPLETE: u64 = 4;
    const COMPONENT: u64 = 3;
    let read: DiscordBody = super::json::read_as(arrival_body).ok()?;
    match read.r#type {
        _ if read.event.is_some() => None,
        // Cannot be deferred: no choices now.
        AUTOCOMPLETE => Some(json!({ "type": 8, "data": { "choices": [] } })),
        // 64: only the caller sees it. A deferred answer would "think" for 15 minutes and then vanish.
        2..=5 if ended => {
            Some(json!({ "type": 4, "data": { "content": "This did not work.", "flags": 64 } }))
        }
        COMPONENT => Some(json!({ "type": 6 })),
        2 | 5 => Some(json!({ "type": 5 })),
        _ => None,
    }
}

#[cfg(test)]
#[path = "ack_tests.rs"]
mod tests;

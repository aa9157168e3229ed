//! One key's history to read.

use super::{History, KeyHistory};
use std::fmt::Write as _;

const SHOWN: usize = 160;

/// Everything that happened to a key, in order: when, who, what.
pub fn story(history: &History, key: &KeyHistory) -> String {
    let mut events: Vec<(u64, &str, String)> = Vec::new();
    for kill in &history.kills {
        events.push((*kill, "server", "killed".to_owned()));
    }
    events.push((history.calm_from, "driver", "faults stop".to_owned()));
    for delivery in &key.deliveries {
        let body = match delivery.body {
            0 => "its body".to_owned(),
            n => format!("another body ({n})"),
        };
        events.push((delivery.sent, "sender", format!("delivers {body}")));
        let answer = match &delivery.reply {
            Some(reply) => {
                let text = cut(&String::from_utf8_lossy(&reply.body));
                format!("gets {} {text}", reply.status)
            }
            None => "gets no answer".to_owned(),
        };
        events.push((delivery.done, "sender", answer));
    }
    for look in &key.looks {
        let document = &look.document;
        let what = format!(
            "sees {} {} generation {}",
            document["state"], document["waiting"]["for"], document["generation"]
        );
        events.push((look.done, "reader", what));
    }
    for wish in &key.wishes {
        let what = format!("asks for {}, gets {}", wish.what, wish.status);
        events.push((wish.sent, "operator", what));
    }
    for effect in &key.effects {
        let mut what = format!("{} called with {}", effect.target, effect.key);
        if let Some(undoes) = &effect.undoes {
            let _ = write!(what, ", undoes {undoes}");
        }
        match effect.ended {
            Some(_) if effect.hung_up => what.push_str(", the caller did not wait"),
            Some(ended) => {
                let _ = write!(what, ", answered at {ended}");
            }
            None => what.push_str(", never answered"),
        }
        events.push((effect.at, "outside", what));
    }
    events.sort_by_key(|(at, ..)| *at);
    let mut text = format!("key {}, task {}\n", key.key, key.task_id);
    for (at, who, what) in events {
        let _ = writeln!(text, "{at:>8} ms  {who:<8}  {what}");
    }
    let _ = writeln!(
        text,
        "end: {}",
        key.end.document.clone().unwrap_or_default()
    );
    for record in &key.end.journal {
        let _ = writeln!(text, "record: {}", cut(&record.to_string()));
    }
    text
}

fn cut(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

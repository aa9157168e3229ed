//! What is known about each provider: what a delivery of its is called, and the page that lists them.

use onceward::http::headers::is_credential;
use onceward::types::Headers;
use onceward::webhook::scheme::{Algorithm, Encoding, Form, TimestampAt};
use onceward::webhook::{
    Document, EventRule, Handshake, KeyForm, KeyRule, KeySource, Pack, Scheme, event_of, key, packs,
};
use std::fmt::Write as _;
use std::path::Path;

struct Delivery {
    pack: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    key: &'static str,
    event: Option<&'static str>,
}

const fn delivery(
    pack: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    key: &'static str,
    event: Option<&'static str>,
) -> Delivery {
    Delivery {
        pack,
        headers,
        body,
        key,
        event,
    }
}

/// The key of signed bytes, in the tests that give no others.
const BYTES: &str = "bytes-0101010101010101010101010101010101010101010101010101010101010101";

const DELIVERIES: &[Delivery] = &[
    delivery("discord", &[], r#"{"id":"123","type":2}"#, "123", None),
    delivery(
        "discord",
        &[],
        r#"{"type":1,"event":{"type":"ENTITLEMENT_CREATE"}}"#,
        BYTES,
        Some("ENTITLEMENT_CREATE"),
    ),
    delivery(
        "github",
        &[("x-github-delivery", "d1"), ("x-github-event", "issues")],
        r#"{"action":"opened"}"#,
        "d1",
        Some("issues.opened"),
    ),
    delivery(
        "github",
        &[("x-github-delivery", "d1"), ("x-github-event", "push")],
        "payload=%7B%7D",
        "d1",
        Some("push"),
    ),
    delivery(
        "gitlab",
        &[
            ("webhook-id", "w1"),
            ("idempotency-key", "i1"),
            ("x-gitlab-event", "Push Hook"),
        ],
        "{}",
        "w1",
        Some("Push Hook"),
    ),
    delivery(
        "gitlab",
        &[("idempotency-key", "i1"), ("x-gitlab-event-uuid", "u1")],
        "{}",
        "i1",
        None,
    ),
    delivery(
        "gitlab",
        &[
            ("x-gitlab-event-uuid", "u1"),
            ("x-gitlab-event", "PushHook"),
        ],
        "{}",
        r#"["u1","PushHook"]"#,
        Some("PushHook"),
    ),
    delivery(
        "graph",
        &[],
        r#"{"value":[{"changeType":"updated"}]}"#,
        BYTES,
        Some("updated"),
    ),
    delivery(
        "intercom",
        &[],
        r#"{"id":"notif_1","topic":"ping"}"#,
        "notif_1",
        Some("ping"),
    ),
    delivery(
        "linear",
        &[("linear-delivery", "unsigned")],
        r#"{"webhookId":"w","type":"Issue","action":"update","createdAt":"1","data":{"id":"i","updatedAt":"2"}}"#,
        r#"["w","Issue","update","1","i","2"]"#,
        Some("Issue.update"),
    ),
    delivery(
        "linear",
        &[],
        r#"{"webhookId":"w","type":"OAuthApp","action":"revoked","createdAt":"1"}"#,
        r#"["w","OAuthApp","revoked","1"]"#,
        Some("OAuthApp.revoked"),
    ),
    delivery(
        "linear",
        &[],
        r#"{"type":"Issue","action":"create"}"#,
        BYTES,
        Some("Issue.create"),
    ),
    delivery(
        "mailgun",
        &[],
        r#"{"signature":{"token":"t1"},"event-data":{"event":"opened","id":"e1"}}"#,
        "t1",
        Some("opened"),
    ),
    delivery(
        "meta",
        &[],
        r#"{"object":"page","entry":[{"id":"1"}]}"#,
        BYTES,
        Some("page"),
    ),
    delivery(
        "paddle",
        &[],
        r#"{"event_id":"evt_1","notification_id":"ntf_1","event_type":"customer.created"}"#,
        "evt_1",
        Some("customer.created"),
    ),
    delivery(
        "pagerduty",
        &[],
        r#"{"event":{"id":"01BZ","event_type":"incident.acknowledged"}}"#,
        "01BZ",
        Some("incident.acknowledged"),
    ),
    delivery(
        "sendgrid",
        &[],
        r#"[{"sg_event_id":"e1","event":"dropped"}]"#,
        BYTES,
        Some("dropped"),
    ),
    delivery(
        "shopify",
        &[
            ("x-shopify-webhook-id", "w1"),
            ("x-shopify-event-id", "e1"),
            ("x-shopify-topic", "orders/create"),
        ],
        "{}",
        "w1",
        Some("orders/create"),
    ),
    delivery("shopify", &[("shopify-webhook-id", "w1")], "{}", "w1", None),
    delivery(
        "slack",
        &[],
        r#"{"event_id":"Ev1","event":{"type":"app_mention"}}"#,
        "Ev1",
        Some("app_mention"),
    ),
    delivery(
        "slack",
        &[],
        "command=%2Fdeploy&trigger_id=1.2.3",
        "1.2.3",
        Some("/deploy"),
    ),
    delivery(
        "slack",
        &[],
        "payload=%7B%22trigger_id%22%3A%221%22%7D",
        BYTES,
        None,
    ),
    delivery(
        "square",
        &[],
        r#"{"event_id":"e1","type":"payment.created"}"#,
        "e1",
        Some("payment.created"),
    ),
    delivery(
        "standard-webhooks",
        &[("webhook-id", "msg_1")],
        r#"{"type":"a.b"}"#,
        "msg_1",
        Some("a.b"),
    ),
    delivery(
        "stripe",
        &[],
        r#"{"id":"evt_1","type":"charge.succeeded"}"#,
        "evt_1",
        Some("charge.succeeded"),
    ),
    delivery("stripe", &[], r#"{"object":"event"}"#, BYTES, None),
    delivery(
        "svix",
        &[("svix-id", "msg_1")],
        r#"{"type":"a.b"}"#,
        "msg_1",
        Some("a.b"),
    ),
    delivery(
        "telnyx",
        &[],
        r#"{"data":{"id":"e1","event_type":"message.received"}}"#,
        "e1",
        Some("message.received"),
    ),
    delivery(
        "twilio",
        &[("i-twilio-idempotency-token", "unsigned")],
        "MessageSid=SM1&SmsStatus=received",
        r#"["SM1","received"]"#,
        Some("received"),
    ),
    delivery(
        "twilio",
        &[],
        "MessageSid=SM1&MessageStatus=sent&SmsStatus=sent",
        r#"["SM1","sent"]"#,
        Some("sent"),
    ),
    delivery(
        "twilio",
        &[],
        "CallSid=CA1&CallStatus=completed&SequenceNumber=3",
        r#"["CA1","completed","3"]"#,
        Some("completed"),
    ),
    delivery(
        "twilio",
        &[("i-twilio-idempotency-token", "t1")],
        "CallSid=CA1&CallStatus=in-progress&Digits=1",
        "t1",
        Some("in-progress"),
    ),
    delivery(
        "typeform",
        &[],
        r#"{"event_id":"e1","event_type":"form_response"}"#,
        "e1",
        Some("form_response"),
    ),
    delivery(
        "vercel",
        &[],
        r#"{"id":"e1","type":"deployment.created"}"#,
        "e1",
        Some("deployment.created"),
    ),
    delivery(
        "whatsapp",
        &[],
        r#"{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"messages"}]}]}"#,
        BYTES,
        Some("whatsapp_business_account.messages"),
    ),
    delivery(
        "woocommerce",
        &[
            ("x-wc-webhook-delivery-id", "5"),
            ("x-wc-webhook-topic", "order.updated"),
        ],
        "{}",
        "5",
        Some("order.updated"),
    ),
    delivery("x", &[], r#"{"tweet_create_events":[]}"#, BYTES, None),
    delivery(
        "zoom",
        &[],
        r#"{"event":"meeting.started","event_ts":17,"payload":{"object":{"uuid":"u1"}}}"#,
        r#"["meeting.started",17,"u1"]"#,
        Some("meeting.started"),
    ),
    delivery(
        "zoom",
        &[],
        r#"{"event":"app_deauthorized","event_ts":17,"payload":{}}"#,
        BYTES,
        Some("app_deauthorized"),
    ),
];

#[test]
fn deliveries_are_named_and_their_events_told() {
    for d in DELIVERIES {
        let pack = packs::by_name(d.pack).expect("a pack");
        let headers: Headers = d.headers.iter().copied().collect();
        let document = Document::by_its_bytes(d.body.as_bytes());
        let from = KeySource {
            headers: &headers,
            target: "/hooks/a",
            document: &document,
            material: Some([1; 32]),
        };
        let found = key::extract(&pack.keys, &from);
        assert_eq!(found.as_deref(), Ok(d.key), "{}: {}", d.pack, d.body);
        let event = event_of(&pack.event, &headers, &document);
        assert_eq!(event.as_deref(), d.event, "{}: {}", d.pack, d.body);
    }
    for name in packs::names() {
        assert!(DELIVERIES.iter().any(|d| d.pack == name), "{name}");
    }
}

#[test]
fn packs_hold_together() {
    let names: Vec<_> = packs::names().collect();
    assert_eq!(names.len(), 25);
    assert!(names.is_sorted(), "{names:?}");
    for name in names {
        let pack = packs::by_name(name).expect("a pack");
        assert_eq!(pack.name, name);
        assert!(
            pack.scheme.is_signed() && pack.scheme.problems().is_empty(),
            "{name}"
        );
        assert!(!pack.keys.is_empty() && !pack.title.is_empty(), "{name}");
        assert!(pack.docs.starts_with("https://"), "{name}");
        let is_env = |b: u8| b.is_ascii_uppercase() || b == b'_';
        assert!(
            pack.secret_name.bytes().all(is_env) && pack.secret_name.contains("SECRET"),
            "{name}"
        );
        for field in &pack.keep {
            assert!(
                !is_credential(field) && *field == field.to_lowercase(),
                "{name}: {field}"
            );
        }
        let unsigned = |rule: &KeyRule| !rule.header_names().is_empty();
        let standard = matches!(pack.scheme, Scheme::StandardWebhooks { .. });
        if pack.key_is_signed && !standard {
            assert!(
                !pack.keys.iter().any(unsigned),
                "{name}: a header that nobody signs names it"
            );
        }
        assert!(pack.retry_plan_ms <= 7 * 24 * 3_600_000, "{name}");
        assert!(
            pack.respond_within_ms
                .is_none_or(|ms| (1_000..5_000).contains(&ms)),
            "{name}"
        );
    }
}

/// The text between the marks of the page is made here.
const MARKS: [&str; 2] = ["<!-- packs: made by a test -->\n", "<!-- end of packs -->"];

#[test]
fn the_page_lists_the_packs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/providers.md");
    let page = std::fs::read_to_string(&path).expect("docs/providers.md");
    let (before, rest) = page.split_once(MARKS[0]).expect("the first mark");
    let (_, after) = rest.split_once(MARKS[1]).expect("the second mark");
    let wanted = [before, MARKS[0], &tables(), MARKS[1], after].concat();
    if std::env::var_os("ONCEWARD_UPDATE").is_some() {
        std::fs::write(&path, wanted).expect("written");
        return;
    }
    assert!(
        page == wanted,
        "docs/providers.md differs from the packs. If that is meant: \
         ONCEWARD_UPDATE=1 cargo test --test native webhook_packs, and commit the page."
    );
}

fn tables() -> String {
    let packs: Vec<Pack> = packs::names().filter_map(packs::by_name).collect();
    let mut out = String::from(
        "| pack | provider | header | algorithm | what is signed | secret, and how it is written | clocks may differ by |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for pack in &packs {
        let _ = writeln!(
            out,
            "| `{}` | [{}]({}) | {} | `{}`: {} | {} |",
            pack.name,
            pack.title,
            pack.docs,
            scheme(&pack.scheme),
            pack.secret_name,
            key_form(pack.scheme.key_form()),
            tolerance(&pack.scheme),
        );
    }
    out.push_str(
        "\n| pack | type of event | key; the first that is there | is the key signed? | asks before it sends | answer while it runs | repeats for |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for pack in &packs {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | `{}` | {} |",
            pack.name,
            list(pack.event.iter().map(event)),
            keys(pack),
            if pack.key_is_signed { "yes" } else { "no" },
            list(pack.handshakes.iter().map(|h| handshake(*h).to_owned())),
            pack.ack.as_str(),
            span(pack.retry_plan_ms),
        );
    }
    out
}

/// Header, algorithm and what is signed.
fn scheme(scheme: &Scheme) -> String {
    match scheme {
        Scheme::None => " — | — | —".to_owned(),
        Scheme::Form(form) => form_row(form),
        Scheme::StandardWebhooks { .. } => "`webhook-signature` or `svix-signature`: `v1,…` `v1a,…` | HMAC-SHA256 (`v1`) or Ed25519 (`v1a`), base64 | `{id}.{timestamp}.{body}`".to_owned(),
        Scheme::GitLab { .. } => "`x-gitlab-token`, or `webhook-signature` | equality, or HMAC-SHA256, base64 | nothing, or `{id}.{timestamp}.{body}`".to_owned(),
        Scheme::Twilio => "`x-twilio-signature` | HMAC-SHA1, base64 | `{url}` and the sorted fields of the form; of other bodies the hash in `bodySHA256`".to_owned(),
        Scheme::Mailgun { .. } => "`signature` of the body | HMAC-SHA256, hex | timestamp and token, **not the body**".to_owned(),
        Scheme::ClientState => "`clientState` of each item of the body | equality | **nothing**".to_owned(),
    }
}

fn form_row(form: &Form) -> String {
    let mut header = format!("`{}`", form.header);
    for alias in &form.aliases {
        let _ = write!(header, " or `{alias}`");
    }
    let mut value = format!("{}…", form.prefix);
    if let Some(separator) = form.list_separator {
        value = format!("{value}{separator}{value}");
        if let Some(TimestampAt::Pair(name)) = form.timestamp.as_ref().map(|time| &time.at) {
            value = format!("{name}=…{separator}{value}");
        }
    }
    let algorithm = match form.algorithm {
        Algorithm::HmacSha1 => "HMAC-SHA1",
        Algorithm::HmacSha256 => "HMAC-SHA256",
        Algorithm::HmacSha512 => "HMAC-SHA512",
        Algorithm::Ed25519 => "Ed25519",
        Algorithm::EcdsaP256 => "ECDSA P-256 with SHA-256, DER",
        Algorithm::Token => "equality",
    };
    let encoding = match form.encoding {
        Encoding::Hex => "hex",
        Encoding::Base64 => "base64",
    };
    let template = form.template.to_string().replace('|', "\\|");
    let time = match form.timestamp.as_ref().map(|time| &time.at) {
        Some(TimestampAt::Header(name)) => format!("; timestamp in `{name}`"),
        Some(TimestampAt::Body(pointer)) => format!("; timestamp at `{pointer}` of the body"),
        Some(TimestampAt::Pair(_)) | None => String::new(),
    };
    format!("{header}: `{value}` | {algorithm}, {encoding} | `{template}`{time}")
}

fn key_form(form: KeyForm) -> &'static str {
    match form {
        KeyForm::Text => "text",
        KeyForm::Base64 => "base64",
        KeyForm::Hex => "hex",
        KeyForm::Whsec => "`whsec_` and base64",
        KeyForm::WhsecOrWhpk => "`whsec_` or `whpk_`, and base64",
        KeyForm::WhsecOrToken => "a token, or `whsec_` and base64",
        KeyForm::Ed25519Hex => "public key, 64 hex digits",
        KeyForm::Ed25519Base64 => "public key, base64",
        KeyForm::SpkiBase64 => "public key, base64 of its SPKI",
    }
}

fn tolerance(scheme: &Scheme) -> String {
    match scheme.tolerance_s() {
        None => "no time is sent".to_owned(),
        Some(None) => "anything".to_owned(),
        Some(Some(seconds)) => format!("{seconds} s"),
    }
}

fn event(rule: &EventRule) -> String {
    match rule {
        EventRule::Header(name) => format!("`{name}`"),
        EventRule::Body(pointer) => format!("`{pointer}`"),
    }
}

fn place(rule: &KeyRule) -> String {
    match rule {
        KeyRule::Header(name) => format!("`{name}`"),
        KeyRule::Body(pointer) => format!("`{pointer}`"),
        KeyRule::All(parts) | KeyRule::Whole(parts) => {
            let parts: Vec<String> = parts.iter().map(place).collect();
            parts.join(" + ")
        }
        other => other.place(),
    }
}

fn keys(pack: &Pack) -> String {
    let mut out = list(pack.keys.iter().map(place));
    if let Some(split) = &pack.split {
        let _ = write!(out, "; of each item of `{}`: `{}`", split.list, split.key);
    }
    out.replace("; of each item of ``", "; of each item of the list")
}

fn handshake(handshake: Handshake) -> &'static str {
    match handshake {
        Handshake::SlackUrl => "`url_verification`",
        Handshake::DiscordPing => "PING",
        Handshake::ZoomUrl => "`endpoint.url_validation`",
        Handshake::MetaVerify => "`hub.challenge`",
        Handshake::XCrc => "`crc_token`",
        Handshake::GraphToken => "`validationToken`",
        Handshake::HeadOk => "HEAD",
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return "—".to_owned();
    }
    items.join(", ")
}

fn span(ms: u64) -> String {
    let (minute, hour) = (60_000, 3_600_000);
    match ms {
        0 => "not stated, or never".to_owned(),
        ms if ms % (24 * hour) == 0 => format!("{} d", ms / (24 * hour)),
        ms if ms % hour == 0 => format!("{} h", ms / hour),
        ms if ms > hour => format!("{} h {} min", ms / hour, ms % hour / minute),
        ms if ms % minute == 0 => format!("{} min", ms / minute),
        ms => format!("{} s", ms / 1_000),
    }
}

//! A server on loopback that stands for the services that functions call. It counts and logs every
//! call, by its whole target, so `/d/100?step=a` and `/d/100?step=b` are counted apart.
//!
//! | path | answer |
//! |---|---|
//! | `/d/MS` | 200 after that time |
//! | `/status/N` | that status |
//! | `/fail-then-ok/N` | 503 for the first N calls of this target, then 200 |
//! | `/drop` | none: the work is done and the connection cut |
//! | `/seq/A,B,…` | `A` to the first call of this target, `B` to the second, …; the last one from then on |
//! | `/big/N` | 200 and N bytes of text |
//! | `/echo` | 200 and the body and content type of the call |
//! | `/shop/MS/NAME/…` | a payment and shop service, each POST after that time; see [`shop`] |
//! | `/drip/MS` | 200 and `part 1`, after that time `part 2`, … until the caller has gone |
//! | set by [`Sink::answers`], [`Sink::gives`] | those fields and bytes |
//! | set by [`Sink::refuses`] | that status |
//! | anything else | 200 |
//!
//! What a sequence is made of: a status; `drop`; `hold` (none, as long as the caller waits: the work is
//! done and nobody knows); `busyN` and `busydateN` (429, and `Retry-After` as a number or as a date).

use super::eventually::eventually;
use super::http::latin1;
use serde_json::Value;
use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest time that a call is held: no caller waits for so long.
const HOLD: Duration = Duration::from_mins(2);

/// One call that arrived.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: String,
    pub target: String,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub began: Instant,
    /// When the answer was written, or the caller was found gone.
    pub ended: Option<Instant>,
    /// The caller did not wait for the answer.
    pub hung_up: bool,
}

impl Call {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The idempotency key that it carried.
    #[track_caller]
    pub fn key(&self) -> String {
        let key = self.field("Idempotency-Key");
        key.unwrap_or_else(|| panic!("{} came without a key", self.target))
            .to_owned()
    }

    /// The body as JSON; `Null` if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

#[derive(Clone)]
struct Fixed {
    status: u16,
    content_type: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

#[derive(Default)]
struct Shared {
    calls: Mutex<Vec<Call>>,
    fixed: Mutex<HashMap<String, Fixed>>,
    closed: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub struct Sink {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Sink {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared::default());
        let served = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if served.closed.load(Ordering::SeqCst) {
                    break;
                }
                let shared = Arc::clone(&served);
                // A caller that breaks off is no fault of the sink.
                std::thread::spawn(move || drop(serve(&stream, &shared)));
            }
        });
        Self { address, shared }
    }

    /// The address of a target that begins with `/`.
    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// Sets what a target answers.
    pub fn answers(&self, target: &str, content_type: &str, body: impl Into<Vec<u8>>) {
        let fixed = Fixed {
            status: 200,
            content_type: content_type.to_owned(),
            fields: Vec::new(),
            body: body.into(),
        };
        lock(&self.shared.fixed).insert(target.to_owned(), fixed);
    }

    /// Sets everything that a target answers; the fields come beside the content type.
    pub fn gives(
        &self,
        target: &str,
        status: u16,
        fields: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) {
        let (types, fields): (Vec<_>, Vec<_>) = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .partition(|(name, _)| name == "Content-Type");
        let fixed = Fixed {
            status,
            content_type: types.into_iter().next().unwrap_or_default().1,
            fields,
            body: body.into(),
        };
        lock(&self.shared.fixed).insert(target.to_owned(), fixed);
    }

    /// Sets which status a target answers.
    pub fn refuses(&self, target: &str, status: u16) {
        let fixed = Fixed {
            status,
            content_type: "application/json".to_owned(),
            fields: Vec::new(),
            body: b"{}".to_vec(),
        };
        lock(&self.shared.fixed).insert(target.to_owned(), fixed);
    }

    /// All calls of a target, in order.
    pub fn calls(&self, target: &str) -> Vec<Call> {
        let calls = lock(&self.shared.calls);
        calls
            .iter()
            .filter(|c| c.target == target)
            .cloned()
            .collect()
    }

    pub fn count(&self, target: &str) -> usize {
        self.calls(target).len()
    }

    /// The idempotency keys of all calls of a target, in order.
    #[track_caller]
    pub fn keys(&self, target: &str) -> Vec<String> {
        self.calls(target).iter().map(Call::key).collect()
    }

    /// Fails unless a target was called this often, each time with the same key. Gives the key.
    #[track_caller]
    pub fn assert_same_key(&self, target: &str, times: usize) -> String {
        let keys = self.keys(target);
        assert_eq!(keys.len(), times, "calls of {target}: {keys:?}");
        assert!(keys.windows(2).all(|w| w[0] == w[1]), "{target}: {keys:?}");
        keys.into_iter().next().unwrap_or_default()
    }

    /// Targets of all calls, in order.
    pub fn order(&self) -> Vec<String> {
        self.log().into_iter().map(|call| call.target).collect()
    }

    /// All calls, in order.
    pub fn log(&self) -> Vec<Call> {
        lock(&self.shared.calls).clone()
    }

    /// Calls of all targets.
    pub fn total(&self) -> usize {
        lock(&self.shared.calls).len()
    }

    /// Waits until a target was called this often.
    #[track_caller]
    pub fn wait_for(&self, target: &str, times: usize) {
        eventually(|| match self.count(target) {
            n if n >= times => Ok(()),
            n => Err(format!("{target} was called {n} times, not {times}")),
        });
    }

    /// Waits until a call of this target has been running for so long.
    #[track_caller]
    pub fn wait_into(&self, target: &str, time: Duration) {
        eventually(|| {
            let calls = self.calls(target);
            let last = calls.last().ok_or_else(|| format!("no call of {target}"))?;
            let far = last.began.elapsed() >= time;
            far.then_some(())
                .ok_or_else(|| format!("{target} has only begun"))
        });
    }

    /// Fails if two calls of one target ran at the same time.
    #[track_caller]
    pub fn assert_no_overlap(&self, target: &str) {
        for pair in self.calls(target).windows(2) {
            let ended = pair[0].ended.expect("the earlier call has ended");
            assert!(ended <= pair[1].began, "two calls of {target} overlap");
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

struct Reply {
    status: u16,
    content_type: String,
    retry_after: Option<String>,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What becomes of a call.
enum Fate {
    Reply(Reply),
    /// The connection is cut at once.
    Drop,
    /// There is no answer for as long as the caller waits.
    Hold,
}

impl Reply {
    fn json(status: u16, body: &str) -> Self {
        Self {
            status,
            retry_after: None,
            fields: Vec::new(),
            content_type: "application/json".to_owned(),
            body: body.as_bytes().to_vec(),
        }
    }

    fn text(content_type: String, body: Vec<u8>) -> Self {
        Self {
            status: 200,
            retry_after: None,
            fields: Vec::new(),
            content_type,
            body,
        }
    }
}

/// One part of a sequence.
fn part(word: &str) -> Fate {
    let seconds = |text: &str| text.parse::<i64>().unwrap_or(1);
    if let Some(text) = word.strip_prefix("busydate") {
        return Fate::Reply(Reply {
            retry_after: Some(http_date(seconds(text))),
            ..Reply::json(429, r#"{"ok":false}"#)
        });
    }
    if let Some(text) = word.strip_prefix("busy") {
        return Fate::Reply(Reply {
            retry_after: Some(seconds(text).to_string()),
            ..Reply::json(429, r#"{"ok":false}"#)
        });
    }
    match word {
        "drop" => Fate::Drop,
        "hold" => Fate::Hold,
        status => {
            let status = status.parse().unwrap_or(500);
            let body = format!(r#"{{"ok":{}}}"#, status < 300);
            Fate::Reply(Reply::json(status, &body))
        }
    }
}

/// So many seconds from now, as HTTP writes dates.
fn http_date(seconds: i64) -> String {
    let now = jiff::Timestamp::now();
    let at = jiff::Timestamp::from_second(now.as_second() + seconds).unwrap_or(now);
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    let call = read_call(stream)?;
    let (target, body) = (call.target.clone(), call.body.clone());
    let is_head = call.method == "HEAD";
    let content_type = call
        .field("Content-Type")
        .unwrap_or("text/plain")
        .to_owned();
    let (index, earlier) = {
        let mut calls = lock(&shared.calls);
        let earlier = calls.iter().filter(|c| c.target == target).count();
        calls.push(call);
        (calls.len() - 1, earlier)
    };
    let end = |hung_up| {
        let call = &mut lock(&shared.calls)[index];
        call.ended = Some(Instant::now());
        call.hung_up = hung_up;
    };
    let fixed = lock(&shared.fixed).get(&target).cloned();
    let fate = if fixed.is_none() && target.starts_with("/shop/") {
        shop_fate(stream, shared, index)?
    } else {
        fate(stream, &target, earlier, fixed, content_type, body)?
    };
    let reply = match fate {
        Fate::Reply(reply) => reply,
        Fate::Drop => {
            end(false);
            return Ok(());
        }
        Fate::Hold => {
            is_gone_within(stream, HOLD)?;
            end(true);
            return Ok(());
        }
    };
    // Logged before the answer can be seen, so that whoever has the answer finds the call ended.
    end(false);
    write_reply(stream, &reply, is_head)
}

/// What a target does; `earlier` calls of it came before.
fn fate(
    stream: &TcpStream,
    target: &str,
    earlier: usize,
    fixed: Option<Fixed>,
    content_type: String,
    body: Vec<u8>,
) -> io::Result<Fate> {
    if let Some(fixed) = fixed {
        return Ok(Fate::Reply(Reply {
            status: fixed.status,
            fields: fixed.fields,
            ..Reply::text(fixed.content_type, fixed.body)
        }));
    }
    let path = target.split('?').next().unwrap_or_default();
    let mut parts = path.split('/').skip(1);
    let (kind, word) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let number = word.parse::<u32>().unwrap_or(0);
    Ok(Fate::Reply(match kind {
        "d" => {
            if is_gone_within(stream, Duration::from_millis(number.into()))? {
                return Ok(Fate::Hold);
            }
            Reply::json(200, r#"{"ok":true}"#)
        }
        "drop" => return Ok(Fate::Drop),
        "drip" => {
            drip(stream, Duration::from_millis(number.into()))?;
            return Ok(Fate::Hold);
        }
        "seq" => {
            let words: Vec<&str> = word.split(',').collect();
            return Ok(part(words[earlier.min(words.len() - 1)]));
        }
        "status" => Reply::json(u16::try_from(number).unwrap_or(500), r#"{"ok":null}"#),
        "fail-then-ok" if earlier < number as usize => Reply::json(503, r#"{"ok":false}"#),
        "big" => Reply::text("text/plain".to_owned(), vec![b'x'; number as usize]),
        "echo" => Reply::text(content_type, body),
        _ => Reply::json(200, r#"{"ok":true}"#),
    }))
}

/// What the shop does with the call at `index`.
fn shop_fate(stream: &TcpStream, shared: &Shared, index: usize) -> io::Result<Fate> {
    let (reply, ms) = shop(&lock(&shared.calls)[..=index]);
    let gone = is_gone_within(stream, Duration::from_millis(ms))?;
    Ok(if gone { Fate::Hold } else { Fate::Reply(reply) })
}

/// What the shop answers to the last of these calls, and how long that takes. A POST makes one thing
/// per key, at once; only its answer takes time. A GET asks for the thing that was made under a key.
fn shop(calls: &[Call]) -> (Reply, u64) {
    let Some((last, earlier)) = calls.split_last() else {
        return (Reply::json(500, "{}"), 0);
    };
    let key_of = |call: &Call| {
        let key = call.field("Idempotency-Key").unwrap_or_default();
        key.trim_matches('"').to_owned()
    };
    let made = |key: &str| serde_json::json!({ "id": format!("id-{key}") }).to_string();
    if last.method == "POST" {
        let ms = last.target.split('/').nth(2).unwrap_or_default();
        return (
            Reply::json(201, &made(&key_of(last))),
            ms.parse().unwrap_or(0),
        );
    }
    let (target, key) = last.target.rsplit_once('/').unwrap_or_default();
    let is_known = earlier
        .iter()
        .any(|call| call.method == "POST" && call.target == target && key_of(call) == key);
    let (status, body) = if is_known {
        (200, made(key))
    } else {
        (404, "{}".to_owned())
    };
    (Reply::json(status, &body), 0)
}

/// Waits; true as soon as the caller has closed the connection.
fn is_gone_within(stream: &TcpStream, time: Duration) -> io::Result<bool> {
    let until = Instant::now() + time;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.peek(&mut [0; 1]) {
            Ok(_) => return Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionReset) => {
                return Ok(true);
            }
            Err(_) => {}
        }
    }
}

fn read_call(stream: &TcpStream) -> io::Result<Call> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if reader.read_until(b'\n', &mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let mut fields = [httparse::EMPTY_HEADER; 128];
    let mut request = httparse::Request::new(&mut fields);
    request.parse(&head).map_err(io::Error::other)?;
    let mut call = Call {
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        fields: request
            .headers
            .iter()
            .map(|f| (f.name.to_owned(), latin1(f.value)))
            .collect(),
        body: Vec::new(),
        began: Instant::now(),
        ended: None,
        hung_up: false,
    };
    if let Some(length) = call.field("Content-Length").and_then(|v| v.parse().ok()) {
        call.body = vec![0; length];
        reader.read_exact(&mut call.body)?;
    }
    Ok(call)
}

/// An answer in parts, until the caller has gone.
fn drip(mut stream: &TcpStream, pause: Duration) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 Sink\r\nConnection: close\r\n\r\n")?;
    let until = Instant::now() + HOLD;
    let mut n = 0;
    while Instant::now() < until {
        n += 1;
        // Nobody may read it any more.
        if stream.write_all(format!("part {n}\n").as_bytes()).is_err()
            || is_gone_within(stream, pause)?
        {
            break;
        }
    }
    Ok(())
}

fn write_reply(mut stream: &TcpStream, reply: &Reply, is_head: bool) -> io::Result<()> {
    use std::fmt::Write as _;
    let later = reply.retry_after.as_ref();
    let mut later = later.map_or(String::new(), |at| format!("Retry-After: {at}\r\n"));
    for (name, value) in &reply.fields {
        let _ = write!(later, "{name}: {value}\r\n");
    }
    let head = format!(
        "HTTP/1.1 {} Sink\r\nContent-Type: {}\r\n{later}Content-Length: {}\r\nConnection: close\r\n\r\n",
        reply.status,
        reply.content_type,
        reply.body.len()
    );
    stream.write_all(head.as_bytes())?;
    if is_head || matches!(reply.status, 204 | 304) {
        return Ok(());
    }
    stream.write_all(&reply.body)
}

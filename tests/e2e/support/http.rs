//! A plain HTTP/1.1 client: sends exactly the bytes that a test asks for, and never tries again.

use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than anything that the Worker waits for.
const SILENCE: Duration = Duration::from_mins(2);
const MAX_FIELDS: usize = 128;

/// A request, byte for byte.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    target: String,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Request {
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            fields: Vec::new(),
            body: Vec::new(),
        }
    }

    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    pub fn post(target: &str) -> Self {
        Self::new("POST", target)
    }

    /// Adds a field. The value may be any bytes.
    pub fn field(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.fields.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub fn key(self, key: &str) -> Self {
        self.field("Idempotency-Key", key)
    }

    pub fn bearer(self, token: &str) -> Self {
        self.field("Authorization", format!("Bearer {token}"))
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub fn json(self, body: &Value) -> Self {
        self.field("Content-Type", "application/json")
            .body(body.to_string())
    }

    fn head(&self, host: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.fields.iter().any(|(name, _)| name == "Host") {
            let _ = write!(head, "Host: {host}\r\n");
        }
        if !self.body.is_empty() || self.method == "POST" {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        let mut head = head.into_bytes();
        for (name, value) in &self.fields {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head
    }

    /// All bytes of the request.
    pub fn bytes(&self, host: SocketAddr) -> Vec<u8> {
        let mut bytes = self.head(host);
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The first value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; `Null` if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The task that the answer names in its header.
    #[track_caller]
    pub fn task_id(&self) -> String {
        self.field("Onceward-Task-Id")
            .unwrap_or_else(|| panic!("the answer names no task: {self:?}"))
            .to_owned()
    }

    pub fn is_replay(&self) -> bool {
        self.field("Idempotent-Replayed") == Some("true")
    }

    /// `code` of a problem document.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// When the key is forgotten, in milliseconds since 1970.
    #[track_caller]
    pub fn expires_ms(&self) -> i64 {
        let text = self.field("Idempotency-Expires");
        let at: Option<jiff::Timestamp> = text.and_then(|t| t.parse().ok());
        at.unwrap_or_else(|| panic!("no Idempotency-Expires: {}", self.shown()))
            .as_millisecond()
    }

    /// Fails with the whole answer if the status is another one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.shown());
        self
    }

    /// Fails with the whole answer if it is not this problem.
    #[track_caller]
    pub fn expect_problem(self, status: u16, code: &str) -> Self {
        let shown = self.shown();
        assert_eq!(
            (self.status, self.code().as_str()),
            (status, code),
            "{shown}"
        );
        assert_eq!(
            self.field("Content-Type"),
            Some("application/problem+json"),
            "{shown}"
        );
        let document = self.json();
        for member in ["type", "title", "detail"] {
            assert!(document[member].is_string(), "no {member} in {shown}");
        }
        assert_eq!(document["status"], status, "{shown}");
        self
    }

    /// For messages; long bodies are cut.
    pub fn shown(&self) -> String {
        let body: String = self.text().chars().take(2_000).collect();
        format!("{} {:?} {body}", self.status, self.fields)
    }
}

/// A connection that stays open between requests.
pub struct Connection {
    host: SocketAddr,
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Connection {
    pub fn open(host: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            host,
            stream,
            unread: Vec::new(),
        })
    }

    /// Sends bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    pub fn send(&mut self, request: &Request) -> io::Result<()> {
        self.write(&request.bytes(self.host))
    }

    /// Reads until these bytes have come.
    pub fn wait_for(&mut self, bytes: &[u8]) -> io::Result<()> {
        while !self.unread.windows(bytes.len()).any(|part| part == bytes) {
            self.more()?;
        }
        Ok(())
    }

    /// Reads one answer. `HEAD` has none of the body that its fields announce.
    pub fn receive(&mut self, method: &str) -> io::Result<Answer> {
        let (status, fields) = loop {
            if let Some((used, status, fields)) = parse_head(&self.unread)? {
                self.unread.drain(..used);
                if status >= 200 {
                    break (status, fields);
                }
                continue;
            }
            self.more()?;
        };
        let mut answer = Answer {
            status,
            fields,
            body: Vec::new(),
        };
        let is_empty = method == "HEAD" || matches!(status, 204 | 304);
        if is_empty {
            return Ok(answer);
        }
        let chunked = answer
            .field("Transfer-Encoding")
            .is_some_and(|v| v.eq_ignore_ascii_case("chunked"));
        let length = answer.field("Content-Length").and_then(|v| v.parse().ok());
        answer.body = match (chunked, length) {
            (true, _) => self.chunks()?,
            (false, Some(length)) => self.take(length)?,
            (false, None) => self.rest()?,
        };
        Ok(answer)
    }

    /// Sends bytes and reads the answer to them. A server may answer before it has read all of them, so
    /// both directions go on at once. `ends` tells the server that no more will come.
    pub fn exchange(&mut self, bytes: Vec<u8>, method: &str, ends: bool) -> io::Result<Answer> {
        let mut upload = self.stream.try_clone()?;
        std::thread::scope(|scope| {
            let sent = scope.spawn(move || {
                upload.write_all(&bytes)?;
                if ends {
                    upload.shutdown(std::net::Shutdown::Write)?;
                }
                Ok(())
            });
            let answer = self.receive(method);
            if answer.is_err() {
                // Ends a writer that nobody reads from any more.
                let _ = self.stream.shutdown(std::net::Shutdown::Both);
            }
            let sent = sent
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
            match (answer, sent) {
                (Ok(answer), _) => Ok(answer),
                (Err(_), Err(error)) | (Err(error), Ok(())) => Err(error),
            }
        })
    }

    fn more(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        let count = self.stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the connection was closed within an answer",
            ));
        }
        self.unread.extend_from_slice(&buffer[..count]);
        Ok(())
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.unread.len() < length {
            self.more()?;
        }
        Ok(self.unread.drain(..length).collect())
    }

    fn rest(&mut self) -> io::Result<Vec<u8>> {
        self.stream.read_to_end(&mut self.unread)?;
        Ok(std::mem::take(&mut self.unread))
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = match httparse::parse_chunk_size(&self.unread) {
                Ok(httparse::Status::Complete((used, size))) => {
                    self.unread.drain(..used);
                    usize::try_from(size).map_err(io::Error::other)?
                }
                Ok(httparse::Status::Partial) => {
                    self.more()?;
                    continue;
                }
                Err(_) => return Err(io::Error::other("a bad chunk")),
            };
            body.extend(self.take(size)?);
            // The line break behind each chunk, and behind the last one of length 0.
            self.take(2)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
}

type Head = (usize, u16, Vec<(String, String)>);

fn parse_head(bytes: &[u8]) -> io::Result<Option<Head>> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    match response.parse(bytes).map_err(io::Error::other)? {
        httparse::Status::Partial => Ok(None),
        httparse::Status::Complete(used) => {
            let fields = response
                .headers
                .iter()
                .map(|f| (f.name.to_owned(), latin1(f.value)))
                .collect();
            Ok(Some((used, response.code.unwrap_or(0), fields)))
        }
    }
}

/// Field values are bytes; each becomes the character of the same number.
pub fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// One request on a connection of its own.
pub fn exchange(host: SocketAddr, request: &Request) -> io::Result<Answer> {
    let request = request.clone().field("Connection", "close");
    Connection::open(host)?.exchange(request.bytes(host), &request.method, false)
}

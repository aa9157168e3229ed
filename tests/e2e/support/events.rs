//! A client of Server-Sent Events on a plain socket: what comes, as it comes.

use super::http::{Request, latin1};
use serde_json::Value;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than a stream is ever silent.
const SILENCE: Duration = Duration::from_mins(1);

/// One block of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    pub name: String,
    pub id: Option<String>,
    pub data: Value,
    pub retry: Option<String>,
    /// Lines that say nothing.
    pub comments: usize,
}

/// A stream that is being read. Dropped, it hangs up.
pub struct Events {
    socket: TcpStream,
    pub status: u16,
    pub fields: Vec<(String, String)>,
    /// Bytes of the connection that no chunk was made of yet.
    raw: Vec<u8>,
    /// Text of chunks that no event was made of yet.
    text: String,
    over: bool,
}

impl Events {
    /// Sends a request, and reads the head of the answer.
    pub fn open(host: SocketAddr, request: &Request) -> io::Result<Self> {
        let mut socket = TcpStream::connect(host)?;
        socket.set_read_timeout(Some(SILENCE))?;
        socket.write_all(&request.bytes(host))?;
        let mut events = Self {
            socket,
            status: 0,
            fields: Vec::new(),
            raw: Vec::new(),
            text: String::new(),
            over: false,
        };
        while !events.head()? {
            events.more()?;
        }
        Ok(events)
    }

    fn head(&mut self) -> io::Result<bool> {
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut fields);
        let parsed = response.parse(&self.raw).map_err(io::Error::other)?;
        let httparse::Status::Complete(used) = parsed else {
            return Ok(false);
        };
        self.status = response.code.unwrap_or(0);
        let named = response.headers.iter();
        self.fields = named
            .map(|field| (field.name.to_ascii_lowercase(), latin1(field.value)))
            .collect();
        self.raw.drain(..used);
        Ok(true)
    }

    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    fn more(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        let count = self.socket.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.raw.extend_from_slice(&buffer[..count]);
        Ok(())
    }

    /// Reads the next chunk; false at the end.
    fn chunk(&mut self) -> io::Result<bool> {
        loop {
            match httparse::parse_chunk_size(&self.raw) {
                Ok(httparse::Status::Complete((used, size))) => {
                    let size = usize::try_from(size).map_err(io::Error::other)?;
                    while self.raw.len() < used + size + 2 {
                        self.more()?;
                    }
                    let bytes: Vec<u8> = self.raw.drain(..used + size + 2).collect();
                    self.text += &String::from_utf8_lossy(&bytes[used..used + size]);
                    return Ok(size > 0);
                }
                Ok(httparse::Status::Partial) => self.more()?,
                Err(_) => return Err(io::Error::other("a bad chunk")),
            }
        }
    }

    /// The next block, whatever it is; `None` once the stream has ended in order.
    #[track_caller]
    pub fn block(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let event = parse(block);
                self.text = rest.to_owned();
                return Some(event);
            }
            if self.over {
                assert_eq!(self.text, "", "half an event");
                return None;
            }
            self.over = !self.chunk().expect("the stream goes on");
        }
    }

    /// The next event that is one; `None` once the stream has ended.
    #[track_caller]
    pub fn next(&mut self) -> Option<Event> {
        loop {
            let event = self.block()?;
            if !event.data.is_null() {
                return Some(event);
            }
        }
    }

    /// Reads on until an event is the one that is waited for, and gives all that came.
    #[track_caller]
    pub fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut came = Vec::new();
        loop {
            let event = self.next();
            let Some(event) = event else {
                panic!("the stream has ended after {came:?}")
            };
            came.push(event.clone());
            if wanted(&event) {
                return came;
            }
        }
    }
}

fn parse(block: &str) -> Event {
    let mut event = Event::default();
    for line in block.lines() {
        match line.split_once(':') {
            Some(("", _)) => event.comments += 1,
            Some(("event", value)) => value.trim_start().clone_into(&mut event.name),
            Some(("id", value)) => event.id = Some(value.trim_start().to_owned()),
            Some(("retry", value)) => event.retry = Some(value.trim_start().to_owned()),
            Some(("data", value)) => {
                event.data = serde_json::from_str(value).unwrap_or_else(|e| panic!("{line}: {e}"));
            }
            _ => panic!("no line of a stream: {line}"),
        }
    }
    event
}

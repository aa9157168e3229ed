//! Connections that stay open, and several requests on one of them before the first answer.

use crate::shot::Shot;
use crate::support::Answer;
use crate::support::http::Connection;
use std::io;
use std::net::SocketAddr;

/// A sender with a connection.
pub struct Wire {
    host: SocketAddr,
    open: Option<Connection>,
}

impl Wire {
    pub fn new(host: SocketAddr) -> Self {
        Self { host, open: None }
    }

    /// Sends requests that are none too large one behind the other, and gives as many answers as came.
    pub fn together(&mut self, shots: &[Shot]) -> Vec<Answer> {
        let mut answers = Vec::new();
        let bytes: Vec<u8> = shots.iter().flat_map(Shot::bytes).collect();
        let Ok(mut connection) = self.connection() else {
            return answers;
        };
        if connection.write(&bytes).is_err() {
            return answers;
        }
        for shot in shots {
            match connection.receive(&shot.method) {
                Ok(answer) => answers.push(answer),
                Err(_) => return answers,
            }
            if answers.last().is_some_and(ends) {
                return answers;
            }
        }
        self.open = Some(connection);
        answers
    }

    /// Sends one request. One that the server would not take on an old connection goes out on a new one.
    pub fn single(&mut self, shot: &Shot) -> io::Result<Answer> {
        if shot.closes() {
            self.open = None;
        }
        let old = self.open.is_some();
        let sent = self.once(shot);
        match sent {
            Err(_) if old => self.once(shot),
            other => other,
        }
    }

    fn once(&mut self, shot: &Shot) -> io::Result<Answer> {
        let mut connection = self.connection()?;
        let answer = if shot.closes() {
            // One that is broken may announce bytes that do not come.
            connection.exchange(shot.bytes(), &shot.method, shot.broken.is_some())?
        } else {
            connection.write(&shot.bytes())?;
            connection.receive(&shot.method)?
        };
        if !shot.closes() && !ends(&answer) {
            self.open = Some(connection);
        }
        Ok(answer)
    }

    fn connection(&mut self) -> io::Result<Connection> {
        match self.open.take() {
            Some(open) => Ok(open),
            None => Connection::open(self.host),
        }
    }
}

fn ends(answer: &Answer) -> bool {
    answer
        .field("Connection")
        .is_some_and(|value| value.eq_ignore_ascii_case("close"))
}

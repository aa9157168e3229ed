//! A clock that stands still until somebody moves it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Due time, and a number so that no two timers are the same.
type Place = (u64, u64);

pub(super) struct Clock {
    now_ms: Cell<u64>,
    timers: RefCell<BTreeMap<Place, Waker>>,
    made: Cell<u64>,
}

impl Clock {
    pub(super) fn new(now_ms: u64) -> Rc<Self> {
        Rc::new(Self {
            now_ms: Cell::new(now_ms),
            timers: RefCell::default(),
            made: Cell::new(0),
        })
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    pub(super) fn sleep(self: &Rc<Self>, ms: u64) -> Sleep {
        self.made.set(self.made.get() + 1);
        Sleep {
            clock: Rc::clone(self),
            place: (self.now_ms().saturating_add(ms), self.made.get()),
        }
    }

    /// When the next timer is due.
    pub(super) fn next_ms(&self) -> Option<u64> {
        let timers = self.timers.borrow();
        timers.first_key_value().map(|((due_ms, _), _)| *due_ms)
    }

    /// Jumps, and wakes what is due by then.
    pub(super) fn jump_to(&self, at_ms: u64) {
        self.now_ms.set(self.now_ms().max(at_ms));
        let later = self.timers.borrow_mut().split_off(&(self.now_ms() + 1, 0));
        let due = self.timers.replace(later);
        for (_, waker) in due {
            waker.wake();
        }
    }
}

pub(super) struct Sleep {
    clock: Rc<Clock>,
    place: Place,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.clock.now_ms() >= self.place.0 {
            return Poll::Ready(());
        }
        let mut timers = self.clock.timers.borrow_mut();
        timers.insert(self.place, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.timers.borrow_mut().remove(&self.place);
    }
}

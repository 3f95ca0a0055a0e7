//! One pass over the training data.

use std::{
    cell::Cell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use crate::timing::BatchTimer;

/// A request to stop after the current step, shared by all who may make it.
#[derive(Clone, Debug)]
pub struct Stop {
    requested: Arc<AtomicBool>,
    after: Arc<AtomicU64>,
    outer: Option<Box<Self>>,
}

/// After no update.
const NEVER: u64 = u64::MAX;

impl Default for Stop {
    fn default() -> Self {
        Self { requested: Arc::default(), after: Arc::new(AtomicU64::new(NEVER)), outer: None }
    }
}

impl Stop {
    /// A new stop that also counts as requested once this one is.
    pub fn inner(&self) -> Self {
        Self { outer: Some(Box::new(self.clone())), ..Self::default() }
    }

    /// Requests a stop.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Requests a stop after update number `step` of the run, counted from 1; if that update has
    /// already been made, after the next one.
    pub fn request_after(&self, step: u64) {
        self.after.store(step, Ordering::Relaxed);
    }

    /// Whether a stop was requested.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed) || self.outer.as_deref().is_some_and(Self::requested)
    }

    /// The flag itself, for a signal handler to set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }

    /// Notes that update number `step` was made.
    pub(crate) fn note(&self, step: u64) {
        if step >= self.after.load(Ordering::Relaxed) {
            self.request();
        }
        if let Some(outer) = &self.outer {
            outer.note(step);
        }
    }
}

/// One pass over the training data, owned so that the trainer can be stepped while it lives.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// Which one, from 0.
    pub index: usize,
    /// Updates of this epoch already made; skip all of their micro-batches.
    pub position: usize,
    /// Requested once the run is to stop or has made its updates.
    pub(crate) stop: Stop,
    /// Whether the last batch left an update incomplete.
    pub(crate) in_update: Rc<Cell<bool>>,
    pub(crate) batch_timer: Rc<BatchTimer>,
}

impl Epoch {
    /// The batches of this epoch, until training stops, but never ending within an update; measures
    /// the wait for each.
    pub fn batches<I: IntoIterator>(&self, batches: I) -> impl Iterator<Item = I::Item> {
        let mut batches = batches.into_iter();
        let Self { stop, in_update, batch_timer, .. } = self.clone();
        std::iter::from_fn(move || {
            if stop.requested() && !in_update.get() {
                return None;
            }
            batch_timer.wait(|| batches.next())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_ends_the_batches_after_the_update() {
        let epoch = Epoch {
            index: 0,
            position: 0,
            stop: Stop::default(),
            in_update: Rc::default(),
            batch_timer: Rc::default(),
        };
        let mut batches = epoch.batches(0..10);
        assert_eq!(batches.next(), Some(0));
        epoch.stop.request();
        epoch.in_update.set(true);
        assert_eq!(batches.next(), Some(1));
        epoch.in_update.set(false);
        assert_eq!(batches.next(), None);
    }

    #[test]
    fn a_stop_after_an_update_that_was_made_comes_after_the_next() {
        for asked in [0, 3, 4] {
            let stop = Stop::default();
            stop.note(3);
            assert!(!stop.requested(), "nobody asked");
            stop.request_after(asked);
            stop.note(4);
            assert!(stop.requested(), "{asked}");
        }
        let stop = Stop::default();
        stop.request_after(5);
        stop.note(4);
        assert!(!stop.requested());
    }

    #[test]
    fn an_inner_stop_stops_what_is_within_alone() {
        let outer = Stop::default();
        let [first, second] = [outer.inner(), outer.inner()];
        first.request_after(3);
        first.note(3);
        assert_eq!([&outer, &first, &second].map(Stop::requested), [false, true, false]);
        outer.request();
        assert!(second.requested());
    }
}

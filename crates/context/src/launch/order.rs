//! Operations that conflict: whether something orders them, what is reported if nothing does, and what can't be told.

use crate::context::Context;
use crate::operation::Work;
use crate::operation::describe;
use crate::timeline::{Agent, Ticket, Unordered};
use detect::footprint::{Conflict, Footprint};
use report::unjudged::Unjudged;

impl Context {
    /// Puts an operation in order, and reports what conflicts with it.
    pub(crate) fn ordered(
        &mut self,
        agent: Agent,
        ticket: Option<Ticket>,
        footprint: Footprint,
        work: Work,
    ) {
        self.watch(&footprint);
        let ticket = ticket.unwrap_or_else(|| self.launches.timeline.begin(agent));
        let found = self.launches.timeline.end(&ticket, footprint, work.clone());
        if self.launches.timeline.forgot_unfinished() {
            self.findings.unjudged(Unjudged::TooManyOperations);
        }
        let alone = self.is_idle();
        for earlier in found {
            match alone && !earlier.after_waiting {
                true => self.unordered(&work, &earlier.what, &earlier.conflicts),
                false => self.side_by_side(&work, earlier),
            }
        }
    }

    /// A launch that was put aside conflicts with what ran meanwhile: a race, unless something that is not followed may have ordered the two.
    pub(super) fn side_by_side(&mut self, now: &Work, unordered: Unordered<Work>) {
        let Unordered {
            what,
            conflicts,
            meet,
            may_synchronise: both,
            after_waiting,
            synchronises,
        } = unordered;
        if !after_waiting && self.are_joint([now, &what]) {
            return;
        }
        let mut conflicts = conflicts;
        if what.kernel.is_none() {
            // As it is with the host's own accesses: a flag that is copied is taken to be whole.
            conflicts.retain(|c| !c.first.reaches_host());
            if conflicts.is_empty() {
                return;
            }
        }
        let handed_over = match what.kernel {
            _ if after_waiting => true,
            Some(_) => both && meet || synchronises && self.launches.suspended.by_host,
            None => synchronises,
        };
        match handed_over {
            true => self.undecided(now, &what),
            false => self.unordered(now, &what, &conflicts),
        }
    }

    /// Two launches that one detector watches conflict.
    pub(crate) fn cross(&mut self, now: &Work, earlier: &Work, conflicts: &[Conflict]) {
        match self.launches.suspended.by_host {
            true => self.undecided(now, earlier),
            false => self.unordered(now, earlier, conflicts),
        }
    }

    /// Something that is not followed may have ordered two operations that conflict.
    pub(crate) fn undecided(&mut self, now: &Work, what: &Work) {
        let [a, b] = [what, now].map(describe);
        let how = match what.kernel {
            Some(_) if self.launches.suspended.by_host => {
                "be ordered by the host, which hears of one and feeds the other"
            }
            Some(_) => "hand memory over to each other by flags and fences",
            None => "do so after the launch has waited for what was copied",
        };
        self.findings.doubt(&format!(
            "{a} and {b}, or what ran before it, ran side by side; they touch the same memory, and may {how}: whether that orders all of it is not followed from one launch to the other"
        ));
    }
}

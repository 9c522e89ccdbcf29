//! Runs in which some operations come in an order that is given: what another run showed, the other way round.
//!
//! An [`Operation`] is a thread's access number N, from 0, to memory that threads share. Of each [`Precedence`] the second operation
//! waits until the first one is done, or its thread has ended. All else is a sweep: the first in the order of blocks,
//! warps and lanes runs as far as it can, the lanes of a warp together, and who seems to wait for others lets them go first.
//! Where nothing else can run, the oldest wait is given up, and [`crate::Stats::gave_up`] says so.
//!
//! Flanagan and Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", POPL 2005, reverse pairs of
//! operations in the same way; which ones is decided elsewhere.

use super::{Decision, Performed, Ready, Runnable, Schedule};
use crate::ids::{BlockId, Mask, WarpId};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

/// A thread's access to memory that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation {
    /// The thread's block, by its number in the grid.
    pub block: u32,
    /// Its number in the block.
    pub thread: u32,
    /// How many such accesses the thread has executed before.
    pub number: u32,
}

/// An operation that comes before another thread's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Precedence {
    /// The one that comes first.
    pub first: Operation,
    /// The one that waits for it.
    pub then: Operation,
}

/// The given order. Written as `BLOCK.THREAD.NUMBER-BLOCK.THREAD.NUMBER`, the first one before the second, joined by `+`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reversal {
    /// What comes before what.
    pub order: Vec<Precedence>,
}

impl Reversal {
    /// The same with less to follow, the shortest first: each of its precedences alone, then all but one.
    pub fn shorter(&self) -> impl Iterator<Item = Reversal> + '_ {
        let count = self.order.len();
        let alone = self
            .order
            .iter()
            .filter(move |_| count > 1)
            .map(|p| Reversal { order: vec![*p] });
        let all_but = move |left_out: usize| {
            let mut order = self.order.clone();
            order.remove(left_out);
            Reversal { order }
        };
        alone.chain((0..count).filter(move |_| count > 2).map(all_but))
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.block, self.thread, self.number)
    }
}

impl FromStr for Operation {
    type Err = ();

    fn from_str(text: &str) -> Result<Operation, ()> {
        let mut fields = text.split('.').map(|n| n.parse().map_err(drop));
        let mut next = || fields.next().ok_or(())?;
        let operation = Operation {
            block: next()?,
            thread: next()?,
            number: next()?,
        };
        match fields.next() {
            None => Ok(operation),
            Some(_) => Err(()),
        }
    }
}

impl fmt::Display for Reversal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, p) in self.order.iter().enumerate() {
            let plus = if i == 0 { "" } else { "+" };
            write!(f, "{plus}{}-{}", p.first, p.then)?;
        }
        Ok(())
    }
}

impl FromStr for Reversal {
    type Err = ();

    fn from_str(text: &str) -> Result<Reversal, ()> {
        let precedence = |part: &str| {
            let (first, then) = part.split_once('-').ok_or(())?;
            Ok(Precedence {
                first: first.parse()?,
                then: then.parse()?,
            })
        };
        let order = text.split('+').map(precedence).collect::<Result<_, ()>>()?;
        Ok(Reversal { order })
    }
}

/// Turns in which everybody who could run seemed to wait, after which a wait is given up.
const PATIENCE: u32 = 6;

type Warp = (BlockId, WarpId);

/// Follows it.
pub(crate) struct Follow {
    order: Vec<Precedence>,
    /// Of each, whether nobody waits any more.
    over: Vec<bool>,
    /// Accesses of the threads that it names.
    done: HashMap<(u32, u32), u32>,
    ended: HashSet<(u32, u32)>,
    /// By warp, the lanes that it names.
    named: HashMap<Warp, Mask>,
    /// Lanes that stand before the access that they wait with.
    stand: HashMap<Warp, Mask>,
    /// Those who seemed to wait for others: the lowest lane of each.
    behind: Vec<(Warp, u32)>,
    /// Turns of such since somebody else had one.
    idle: u32,
    gave_up: bool,
}

fn warp_of(o: Operation) -> Warp {
    (BlockId(o.block), WarpId(o.thread / 32))
}

impl Follow {
    pub fn new(reversal: Reversal) -> Follow {
        let order = reversal.order;
        let mut named: HashMap<Warp, Mask> = HashMap::new();
        let mut done = HashMap::new();
        for o in order.iter().flat_map(|p| [p.first, p.then]) {
            *named.entry(warp_of(o)).or_default() |= 1 << (o.thread % 32);
            done.insert((o.block, o.thread), 0);
        }
        Follow {
            over: vec![false; order.len()],
            order,
            done,
            ended: HashSet::new(),
            named,
            stand: HashMap::new(),
            behind: Vec::new(),
            idle: 0,
            gave_up: false,
        }
    }

    fn done(&self, o: Operation) -> u32 {
        self.done.get(&(o.block, o.thread)).copied().unwrap_or(0)
    }

    /// How many accesses a lane may execute before it has to wait.
    fn distance(&self, warp: Warp, lane: u32) -> u32 {
        let thread = warp.1.0 * 32 + lane;
        let waits = self.order.iter().zip(&self.over);
        let mine = waits
            .filter(|(p, over)| !**over && (p.then.block, p.then.thread) == (warp.0.0, thread));
        mine.map(|(p, _)| p.then.number.saturating_sub(self.done(p.then)))
            .min()
            .unwrap_or(u32::MAX)
    }

    /// Of a runnable: the lanes that may not access memory now, and how many accesses the others may execute.
    fn held(&self, r: &Runnable) -> (Mask, u32) {
        let warp = (r.block, r.warp);
        let named = self.named.get(&warp).copied().unwrap_or(0) & r.lanes;
        let (mut held, mut room) = (0, u32::MAX);
        for lane in crate::ids::lanes_of(named) {
            match self.distance(warp, lane as u32) {
                0 => held |= 1 << lane,
                n => room = room.min(n),
            }
        }
        (held, room)
    }

    /// Gives up the oldest wait that holds somebody.
    fn give_up(&mut self) -> bool {
        let Some(at) = (0..self.order.len()).find(|i| {
            let then = self.order[*i].then;
            !self.over[*i] && self.done(then) == then.number
        }) else {
            return false;
        };
        self.over[at] = true;
        self.gave_up = true;
        self.idle = 0;
        self.stand.clear();
        true
    }

    /// What a runnable may do now: its lanes, and how many accesses; `None` if it has to wait.
    fn turn(&self, r: &Runnable) -> Option<(Mask, u32)> {
        let (held, room) = self.held(r);
        let free = r.lanes & !held;
        if free != 0 {
            return Some((free, room));
        }
        // Up to the access: to a barrier, or to the end.
        let standing = self.stand.get(&(r.block, r.warp)).copied().unwrap_or(0);
        (held & !standing != 0).then_some((held, 0))
    }

    fn decision(&mut self, index: usize, r: &Runnable, (lanes, visible): (Mask, u32)) -> Decision {
        if visible == 0 {
            *self.stand.entry((r.block, r.warp)).or_default() |= lanes;
        }
        Decision {
            index: index as u32,
            lanes,
            visible,
            stale: false,
        }
    }
}

impl Schedule for Follow {
    fn counts_accesses(&self) -> bool {
        true
    }

    fn gave_up(&self) -> bool {
        self.gave_up
    }

    fn performed(&mut self, what: &Performed) {
        let named = self.named.get(&(what.who.block, what.who.warp));
        let Some(lanes) = named.map(|n| n & what.lanes).filter(|l| *l != 0) else {
            return;
        };
        for lane in crate::ids::lanes_of(lanes) {
            let thread = (what.who.block.0, what.who.warp.0 * 32 + lane as u32);
            match what.ends {
                true => drop(self.ended.insert(thread)),
                false => *self.done.entry(thread).or_default() += 1,
            }
        }
        for (p, over) in self.order.iter().zip(&mut self.over) {
            let thread = (p.first.block, p.first.thread);
            let passed = self.done.get(&thread).is_some_and(|n| *n > p.first.number);
            *over |= passed || self.ended.contains(&thread);
        }
    }

    fn changed(&mut self, before: &[Runnable], after: &[Runnable]) {
        if before == after {
            return;
        }
        for r in before.iter().chain(after) {
            self.stand.remove(&(r.block, r.warp));
        }
    }

    fn decide(&mut self, ready: &Ready) -> Decision {
        if let Some(r) = ready.tired() {
            let who = ((r.block, r.warp), r.lanes.trailing_zeros());
            self.behind.retain(|other| *other != who);
            self.behind.push(who);
        }
        loop {
            let mut waiting: Option<(usize, usize, Runnable, (Mask, u32))> = None;
            for index in 0..ready.len() {
                let r = ready.get(index);
                let Some(turn) = self.turn(&r) else {
                    continue;
                };
                let who = ((r.block, r.warp), r.lanes.trailing_zeros());
                match self.behind.iter().position(|other| *other == who) {
                    None => {
                        self.idle = 0;
                        return self.decision(index, &r, turn);
                    }
                    // The one that has waited longest.
                    Some(at) if waiting.as_ref().is_none_or(|w| at < w.0) => {
                        waiting = Some((at, index, r, turn));
                    }
                    Some(_) => {}
                }
            }
            let patience = PATIENCE * (self.behind.len() as u32 + 1);
            match waiting {
                Some((at, index, r, turn)) if self.idle < patience || !self.can_give_up() => {
                    self.idle += 1;
                    self.behind.remove(at);
                    return self.decision(index, &r, turn);
                }
                _ => {}
            }
            if !self.give_up() {
                // Nobody is held, and there is somebody who can run.
                self.stand.clear();
                let r = ready.get(0);
                return self.decision(0, &r, (Mask::MAX, u32::MAX));
            }
        }
    }
}

impl Follow {
    fn can_give_up(&self) -> bool {
        let waits = self.order.iter().zip(&self.over);
        let mut held = waits.filter(|(p, over)| !**over && self.done(p.then) == p.then.number);
        held.next().is_some()
    }
}

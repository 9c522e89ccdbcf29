//! The calls that a split is in: a list whose lower part splits share.
//!
//! Splits of a warp fork often and deep inside calls, so a fork copies one pointer, and splits that meet again are compared down to the
//! first call that they have in common.

use super::alu::{Mask, Row32, Row64};
use super::ids::lanes_of;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A call that a split is in.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Frame {
    pub return_pc: u32,
    pub function: u32,
    pub base: u32,
    pub top: u32,
    /// Instruction index of the call, for its results.
    pub call: u32,
    /// Registers of a function that may be running already.
    pub saved: Option<Arc<Saved>>,
}

/// Rows of a recursive function.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Saved {
    pub w: Vec<Row32>,
    pub d: Vec<Row64>,
    pub p: Vec<Mask>,
}

/// Calls, innermost first.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallStack(Option<Arc<Node>>);

#[derive(Debug)]
struct Node {
    frame: Frame,
    below: CallStack,
}

impl CallStack {
    /// Whether the split is in the kernel itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether they are more than so many.
    pub fn is_deeper_than(&self, calls: usize) -> bool {
        let mut next = &self.0;
        for _ in 0..calls {
            match next {
                Some(node) => next = &node.below.0,
                None => return false,
            }
        }
        next.is_some()
    }

    /// Enters a call.
    pub fn push(&mut self, frame: Frame) {
        let below = std::mem::take(self);
        self.0 = Some(Arc::new(Node { frame, below }));
    }

    /// Leaves the innermost call.
    pub fn pop(&mut self) -> Option<Frame> {
        let node = self.0.take()?;
        Some(match Arc::try_unwrap(node) {
            Ok(mut node) => {
                self.0 = node.below.0.take();
                node.frame
            }
            Err(shared) => {
                self.0 = shared.below.0.clone();
                shared.frame.clone()
            }
        })
    }

    fn is_shared_with(&self, other: &CallStack) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Whether both are in the same calls.
    pub fn is_same(&self, other: &CallStack) -> bool {
        let (mut a, mut b) = (self, other);
        while !a.is_shared_with(b) {
            let (Some(x), Some(y)) = (&a.0, &b.0) else {
                return false;
            };
            let place = |f: &Frame| (f.return_pc, f.function, f.base, f.top);
            if place(&x.frame) != place(&y.frame) {
                return false;
            }
            (a, b) = (&x.below, &y.below);
        }
        true
    }

    /// Takes over the saved registers of lanes that were in the same calls.
    pub fn take_lanes(&mut self, mut other: CallStack, lanes: Mask) {
        let mut joined = Vec::new();
        while !self.is_shared_with(&other) {
            let (Some(mut frame), Some(theirs)) = (self.pop(), other.pop()) else {
                break;
            };
            if let (Some(saved), Some(theirs)) = (&mut frame.saved, &theirs.saved) {
                Arc::make_mut(saved).take_lanes(theirs, lanes);
            }
            joined.push(frame);
        }
        joined.into_iter().rev().for_each(|frame| self.push(frame));
    }
}

impl Hash for CallStack {
    /// Call after call, the innermost first.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut next = &self.0;
        while let Some(node) = next {
            node.frame.hash(hasher);
            next = &node.below.0;
        }
    }
}

impl Drop for CallStack {
    /// One call after the other: they may be more than fit on the stack of whoever drops them.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.below.0.take();
        }
    }
}

impl Saved {
    fn take_lanes(&mut self, other: &Saved, lanes: Mask) {
        for l in lanes_of(lanes) {
            self.w
                .iter_mut()
                .zip(&other.w)
                .for_each(|(a, b)| a[l] = b[l]);
            self.d
                .iter_mut()
                .zip(&other.d)
                .for_each(|(a, b)| a[l] = b[l]);
        }
        let p = self.p.iter_mut().zip(&other.p);
        p.for_each(|(a, b)| *a = *a & !lanes | *b & lanes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(return_pc: u32, value: u32) -> Frame {
        Frame {
            return_pc,
            function: 0,
            base: 0,
            top: 0,
            call: 0,
            saved: Some(Arc::new(Saved {
                w: vec![[value; 32]],
                d: Vec::new(),
                p: vec![if value == 0 { 0 } else { Mask::MAX }],
            })),
        }
    }

    #[test]
    fn splits_that_fork_and_meet_keep_their_own_registers() {
        let mut a = CallStack::default();
        a.push(frame(1, 7));
        let mut b = a.clone();
        assert!(a.is_same(&b));
        a.push(frame(2, 0));
        assert!(!a.is_same(&b));
        b.push(frame(2, 9));
        assert!(a.is_same(&b));
        a.take_lanes(b, 0b10);
        let joined = a.pop().unwrap().saved.unwrap();
        assert_eq!(joined.w[0][..3], [0, 9, 0]);
        assert_eq!(joined.p, [0b10]);
        assert_eq!(a.pop().unwrap().saved.unwrap().w[0], [7; 32]);
        assert!(a.pop().is_none());
    }

    #[test]
    fn frames_of_another_place_are_not_the_same() {
        let (mut a, mut b) = (CallStack::default(), CallStack::default());
        a.push(frame(1, 0));
        b.push(frame(2, 0));
        assert!(!a.is_same(&b));
    }

    #[test]
    fn a_million_calls_are_dropped() {
        let mut stack = CallStack::default();
        (0..1_000_000).for_each(|pc| {
            stack.push(Frame {
                saved: None,
                ..frame(pc, 0)
            })
        });
        drop(stack);
    }
}

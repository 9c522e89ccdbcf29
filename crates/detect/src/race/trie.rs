//! A persistent map from `u32` that is joined by maximum.
//!
//! Vector clocks of a GPU grid are large, mostly equal and copied at every
//! release. Here copies share their nodes: cloning is one reference count, and
//! joining two maps that have a common past visits only what differs. A map that learns all that another one
//! has takes the other's nodes, so that later joins find them shared. A sixteen-way
//! tree with as many levels as the largest key needs, after the "hash array
//! mapped tries" of functional languages, without the hash.

use std::sync::Arc;

const BITS: u32 = 4;
const FAN: usize = 1 << BITS;

/// Values that have a least upper bound.
pub trait Join: Clone {
    /// Raises `self` to the least upper bound of the two; whether that changed it.
    fn join(&mut self, other: &Self) -> bool;
    /// Whether `self` is an upper bound of the two already.
    fn covers(&self, other: &Self) -> bool;
}

#[derive(Debug)]
enum Node<V> {
    Inner([Link<V>; FAN]),
    Leaf(V),
}

type Link<V> = Option<Arc<Node<V>>>;

/// A map from `u32` to values that can be joined.
#[derive(Debug)]
pub struct Trie<V> {
    root: Link<V>,
    /// Inner levels above the leaves.
    height: u32,
}

impl<V> Clone for Trie<V> {
    fn clone(&self) -> Self {
        Trie {
            root: self.root.clone(),
            height: self.height,
        }
    }
}

impl<V> Default for Trie<V> {
    fn default() -> Self {
        Trie {
            root: None,
            height: 0,
        }
    }
}

fn empty<V>() -> [Link<V>; FAN] {
    std::array::from_fn(|_| None)
}

fn digit(key: u32, level: u32) -> usize {
    (key >> (BITS * (level - 1))) as usize % FAN
}

/// Inner levels needed for a key.
fn height_of(key: u32) -> u32 {
    (u32::BITS - key.leading_zeros()).div_ceil(BITS)
}

impl<V: Join> Trie<V> {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Whether the two are the same nodes, hence equal.
    pub fn same(&self, other: &Self) -> bool {
        match (&self.root, &other.root) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The value at a key.
    pub fn get(&self, key: u32) -> Option<&V> {
        if height_of(key) > self.height {
            return None;
        }
        let mut node = self.root.as_deref()?;
        let mut level = self.height;
        loop {
            match node {
                Node::Leaf(value) => return Some(value),
                Node::Inner(children) => {
                    node = children[digit(key, level)].as_deref()?;
                    level -= 1;
                }
            }
        }
    }

    /// Raises the value at a key.
    pub fn raise(&mut self, key: u32, value: &V) {
        self.grow(height_of(key));
        raise(&mut self.root, self.height, key, value);
    }

    /// Raises every value to the other map's; whether that changed one.
    pub fn join(&mut self, other: &Self) -> bool {
        if other.root.is_none() || self.same(other) {
            return false;
        }
        if self.root.is_none() {
            *self = other.clone();
            return true;
        }
        if self.height < other.height {
            self.grow(other.height);
        }
        if self.height == other.height {
            return join(&mut self.root, &other.root).changed;
        }
        let mut other = other.clone();
        other.grow(self.height);
        join(&mut self.root, &other.root).changed
    }

    /// Whether every value is the other map's, or above it.
    pub fn covers(&self, other: &Self) -> bool {
        if self.height >= other.height {
            let mut other = other.clone();
            other.grow(self.height);
            return covers(&self.root, &other.root);
        }
        let mut all = self.clone();
        all.grow(other.height);
        covers(&all.root, &other.root)
    }

    fn grow(&mut self, height: u32) {
        while self.height < height {
            if self.root.is_some() {
                let mut children = empty();
                children[0] = self.root.take();
                self.root = Some(Arc::new(Node::Inner(children)));
            }
            self.height += 1;
        }
    }
}

fn raise<V: Join>(link: &mut Link<V>, level: u32, key: u32, value: &V) {
    let Some(node) = link else {
        *link = Some(Arc::new(if level == 0 {
            Node::Leaf(value.clone())
        } else {
            let mut children = empty();
            raise(&mut children[digit(key, level)], level - 1, key, value);
            Node::Inner(children)
        }));
        return;
    };
    // What nobody shares is changed where it is.
    match Arc::get_mut(node) {
        Some(Node::Leaf(old)) => {
            old.join(value);
            return;
        }
        Some(Node::Inner(children)) => {
            return raise(&mut children[digit(key, level)], level - 1, key, value);
        }
        None => {}
    }
    match &**node {
        Node::Leaf(old) => {
            if !old.covers(value) {
                let mut new = old.clone();
                new.join(value);
                *node = Arc::new(Node::Leaf(new));
            }
        }
        Node::Inner(children) => {
            let mut child = children[digit(key, level)].clone();
            let before = child.clone();
            raise(&mut child, level - 1, key, value);
            if !same_link(&before, &child) {
                let mut children = children.clone();
                children[digit(key, level)] = child;
                *node = Arc::new(Node::Inner(children));
            }
        }
    }
}

fn same_link<V>(a: &Link<V>, b: &Link<V>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

/// What a join has come to.
#[derive(Clone, Copy)]
struct Joined {
    /// Whether a value of the left one was raised.
    changed: bool,
    /// Whether the outcome is the right one.
    is_right: bool,
}

/// Joins two trees of the same height; keeps `a`'s nodes where `b` adds nothing, and
/// takes `b`'s where `a` adds nothing to them.
fn join<V: Join>(a: &mut Link<V>, b: &Link<V>) -> Joined {
    let Some(right) = b else {
        return Joined {
            changed: false,
            is_right: a.is_none(),
        };
    };
    let Some(left) = a else {
        *a = b.clone();
        return Joined {
            changed: true,
            is_right: true,
        };
    };
    if Arc::ptr_eq(left, right) {
        return Joined {
            changed: false,
            is_right: true,
        };
    }
    let outcome = match (&**left, &**right) {
        (Node::Leaf(x), Node::Leaf(y)) => {
            let outcome = Joined {
                changed: !x.covers(y),
                is_right: y.covers(x),
            };
            if outcome.changed && !outcome.is_right {
                let mut new = x.clone();
                new.join(y);
                *left = Arc::new(Node::Leaf(new));
                return outcome;
            }
            outcome
        }
        (Node::Inner(xs), Node::Inner(ys)) => {
            let mut joined: Option<[Link<V>; FAN]> = None;
            let mut outcome = Joined {
                changed: false,
                is_right: true,
            };
            for i in 0..FAN {
                if same_link(&xs[i], &ys[i]) {
                    continue;
                }
                let mut child = xs[i].clone();
                let of_child = join(&mut child, &ys[i]);
                outcome.changed |= of_child.changed;
                outcome.is_right &= of_child.is_right;
                if of_child.changed {
                    joined.get_or_insert_with(|| xs.clone())[i] = child;
                }
            }
            match joined {
                Some(children) if !outcome.is_right => {
                    *left = Arc::new(Node::Inner(children));
                    return outcome;
                }
                _ => outcome,
            }
        }
        _ => unreachable!("trees of one height have leaves at one depth"),
    };
    if outcome.changed {
        *left = right.clone();
    }
    outcome
}

/// Whether a tree has everything that another one of the same height has.
fn covers<V: Join>(a: &Link<V>, b: &Link<V>) -> bool {
    let Some(right) = b else { return true };
    let Some(left) = a else { return false };
    Arc::ptr_eq(left, right)
        || match (&**left, &**right) {
            (Node::Leaf(x), Node::Leaf(y)) => x.covers(y),
            (Node::Inner(xs), Node::Inner(ys)) => xs.iter().zip(ys).all(|(x, y)| covers(x, y)),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    impl Join for u32 {
        fn join(&mut self, other: &u32) -> bool {
            let raised = *other > *self;
            *self = (*self).max(*other);
            raised
        }
        fn covers(&self, other: &u32) -> bool {
            self >= other
        }
    }

    fn build(pairs: &[(u32, u32)]) -> (Trie<u32>, BTreeMap<u32, u32>) {
        let mut trie = Trie::default();
        let mut model = BTreeMap::new();
        for &(k, v) in pairs {
            trie.raise(k, &v);
            let slot = model.entry(k).or_insert(v);
            *slot = v.max(*slot);
        }
        (trie, model)
    }

    fn key() -> impl Strategy<Value = u32> {
        prop_oneof![0..40u32, 0..5000u32, any::<u32>()]
    }

    proptest! {
        #![proptest_config(testing::random(256))]

        #[test]
        fn joins_like_a_map(
            a in prop::collection::vec((key(), 0..9u32), 0..30),
            b in prop::collection::vec((key(), 0..9u32), 0..30),
            probes in prop::collection::vec(key(), 0..30),
        ) {
            let (mut left, mut model) = build(&a);
            let (right, other) = build(&b);
            let (first, lower) = (left.clone(), model.clone());
            let raises = other.iter().any(|(k, v)| model.get(k).is_none_or(|old| v > old));
            prop_assert_eq!(left.covers(&right), !raises);
            prop_assert_eq!(left.join(&right), raises);
            prop_assert!(left.covers(&right) && left.covers(&first));
            prop_assert_eq!(left.same(&first) || left.same(&right), !raises || right.covers(&first));
            for (k, v) in lower {
                prop_assert_eq!(first.get(k), Some(&v), "what shares nodes stays as it was");
            }
            for (k, v) in other {
                let slot = model.entry(k).or_insert(v);
                *slot = v.max(*slot);
            }
            for (k, v) in &model {
                prop_assert_eq!(left.get(*k), Some(v));
            }
            for k in probes {
                prop_assert_eq!(left.get(k), model.get(&k));
            }
            let before = left.clone();
            prop_assert!(!left.join(&right));
            prop_assert!(left.same(&before), "joining again changes nothing and copies nothing");
        }
    }
}

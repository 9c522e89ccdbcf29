//! What a register holds: a sum of products of parameters and of what varies.

use std::collections::BTreeSet;

/// Terms of a sum beyond which a register tells nothing.
const TERMS: usize = 24;
/// Parameters that are multiplied, at most.
const FACTORS: usize = 3;

/// A product: parameters, and whether something that varies is among the factors.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Product {
    pub(super) parameters: Vec<usize>,
    pub(super) thread: bool,
    pub(super) loops: bool,
    pub(super) data: bool,
    pub(super) negative: bool,
}

impl Product {
    pub(super) fn of(parameter: usize) -> Product {
        Product {
            parameters: vec![parameter],
            ..Product::default()
        }
    }

    pub(super) fn varies(&self) -> bool {
        self.thread || self.loops || self.data
    }
}

/// A sum of products; constants are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) terms: BTreeSet<Product>,
    /// Whether a constant was taken away.
    pub(super) less: bool,
    /// Whether a constant other than 0 was added or taken away.
    pub(super) moved: bool,
}

impl Sum {
    pub(super) fn one(product: Product) -> Sum {
        Sum {
            terms: BTreeSet::from([product]),
            ..Sum::default()
        }
    }

    pub(super) fn data() -> Sum {
        Sum::one(Product {
            data: true,
            ..Product::default()
        })
    }

    pub(super) fn add(&mut self, other: &Sum, negative: bool) {
        self.less |= other.less;
        self.moved |= other.moved;
        for term in &other.terms {
            let mut term = term.clone();
            term.negative ^= negative;
            self.terms.insert(term);
        }
        if self.terms.len() > TERMS {
            *self = Sum::data();
        }
    }

    pub(super) fn times(&self, other: &Sum) -> Sum {
        // A constant changes nothing.
        if self.terms.is_empty() || other.terms.is_empty() {
            let constant = self.terms.is_empty();
            return if constant { other } else { self }.clone();
        }
        let mut all = Sum {
            terms: BTreeSet::new(),
            less: self.less || other.less,
            moved: self.moved || other.moved,
        };
        for a in &self.terms {
            for b in &other.terms {
                let mut parameters = [&a.parameters[..], &b.parameters[..]].concat();
                parameters.sort_unstable();
                parameters.truncate(FACTORS);
                all.terms.insert(Product {
                    parameters,
                    thread: a.thread || b.thread,
                    loops: a.loops || b.loops,
                    data: a.data || b.data,
                    negative: a.negative ^ b.negative,
                });
            }
        }
        if all.terms.len() > TERMS {
            return Sum::data();
        }
        all
    }

    /// The parameter that it is, but for a constant.
    pub(super) fn parameter(&self) -> Option<usize> {
        let mut terms = self.terms.iter();
        let only = terms.next().filter(|_| terms.next().is_none())?;
        match only.parameters[..] {
            [one] if !only.varies() => Some(one),
            _ => None,
        }
    }

    pub(super) fn has(&self, test: impl Fn(&Product) -> bool) -> bool {
        self.terms.iter().any(test)
    }
}

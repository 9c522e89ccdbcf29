//! # unrelated
//!
//! The two kernels have little in common. Nothing is said of single instructions, because none of one side stands for one
//! of the other.
//!
//! ## How it is recognised
//!
//! By the work of each side (`loop-unrolled`): accesses by direction and space, barriers, fences, exchanges between
//! lanes, floating-point operations, logic. Each kind counts once, by its weight. If less than a third of the weight of both
//! together is on both sides, and less than 60 % of the smaller one's, they are unrelated.
//!
//! ## Limitations
//!
//! Two kernels that read and write alike and differ only in arithmetic on integers are taken for related.

use super::{Occurrence, View};
use crate::similar::Similarity;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let similarity = Similarity::of((view.mine, view.my_module), (view.other, view.other_module));
    match similarity.are_unrelated() {
        true => vec![Occurrence {
            note: Some(format!("{} % of the work of both is in common", similarity.percent())),
            ..Occurrence::default()
        }],
        false => Vec::new(),
    }
}

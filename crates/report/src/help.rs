//! What the helps of several rules are made of: where a barrier goes, which atomic operation or fence is missing, and the changes of the
//! source. Which of it a rule advises, its file in [`crate::rules`] says.

mod advice;
pub(crate) mod barrier;
mod barrier_advice;
mod between;
pub(crate) mod copy_wait;
pub(crate) mod edits;
mod expression;
mod guilty;
mod host_order;
pub(crate) mod mask;
pub(crate) mod message;
pub(crate) mod roles;
mod text;
pub(crate) mod update;

pub(crate) use advice::Advice;
pub(crate) use barrier::{Unplaced, Wanted};
pub(crate) use barrier_advice::{CLUSTER_BARRIER, apart, barrier_advice, if_reached, or_of_warp};
pub use between::barrier_between;
pub(crate) use between::{between, in_loop};
pub(crate) use guilty::{Frame, Guilty};
pub(crate) use host_order::unordered;

#[cfg(test)]
pub(crate) mod tests {
    use super::{Frame, Guilty};
    use crate::source::SourceFile;
    use std::sync::Arc;

    /// An access at the code of a line.
    pub(crate) fn end_of(file: &Arc<SourceFile>, line: u32) -> Guilty {
        let text = file.line(line).unwrap();
        let start = (text.len() - text.trim_start().len()) as u32;
        // A condition in front of it is not where the access is.
        let start = match text.trim_start().starts_with("if ") {
            true => text.find(") ").map_or(start, |at| at as u32 + 2),
            false => start,
        };
        Guilty {
            frames: vec![Frame {
                file: file.clone(),
                line,
                columns: start..start + 1,
                function: None,
            }],
            in_source: true,
            unread: None,
            toolkit: false,
            library: false,
            instruction: String::new(),
        }
    }
}

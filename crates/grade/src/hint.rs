//! Questions that lead to a root cause without telling the fix.

use crate::assignment::{Feedback, Hints};
use crate::result::{Cause, Line};
use detect::rules::Rule;

/// What help says of a root cause; `None` where the course wants none. Nothing in it depends on sizes or values.
pub fn hint(cause: &Cause, feedback: &Feedback) -> Option<String> {
    if let Some(words) = feedback.words.get(&cause.rule) {
        return Some(words.clone());
    }
    match feedback.hints {
        Hints::None => None,
        Hints::Fix => cause.help.clone().or_else(|| Some(question(cause))),
        Hints::Question => Some(question(cause)),
    }
}

fn question(cause: &Cause) -> String {
    let (first, second) = (cause.lines.first(), cause.lines.last());
    let place =
        |line: Option<&Line>| line.map_or("there".to_owned(), |l| format!("line {}", l.line));
    let (a, b) = (place(first), place(second));
    let same = a == b;
    match cause.rule {
        Rule::DataRace if same => format!(
            "Several threads execute {a}, and not in any certain order. Which of them touch the same element, and what makes one wait for the other?"
        ),
        Rule::DataRace => format!(
            "A thread gets to {b} while another is still at {a}, and both touch the same element. What in your code makes the one wait for the other?"
        ),
        Rule::InsufficientScope => format!(
            "Which threads take part in what {a} and {b} exchange: those of one block, or of all blocks? Whom does the operation there speak to?"
        ),
        Rule::AsyncCopyHazard => format!(
            "The copy that {a} begins goes on in the background. When {b} touches the same memory, who has waited for the copy, and how do the other threads know?"
        ),
        Rule::MissingProxyFence => format!(
            "Threads write at {b}, and the copy that {a} begins takes another way to the same memory. What makes their writes visible on that way?"
        ),
        Rule::ClusterMemory => format!(
            "The memory that {a} accesses belongs to another block. How does the thread there know that this block has begun, and that it has not ended yet?"
        ),
        Rule::MissingDependencyWait => format!(
            "The launch of {a} may begin while the one of {b} still runs. What makes {a} wait for it?"
        ),
        Rule::NonCoherentRead => format!(
            "Could what {b} reads have been changed by this very launch at {a}? What does a read through the read-only cache promise then?"
        ),
        Rule::LockstepAssumption if same => format!(
            "Lanes of one warp read and write the same elements at {a}. What makes you sure that all of them have read before one writes?"
        ),
        Rule::LockstepAssumption => format!(
            "The threads of {a} and {b} are in one warp. What makes you sure that they move together from the one line to the other?"
        ),
        Rule::UnorderedCommunication => {
            format!("When {b} reads what {a} writes, how does the reader know that it was written?")
        }
        Rule::SameValueWrite => format!("How many threads write at {a}? Is one of them enough?"),
        Rule::NondeterministicResult => {
            "If the threads ran in another order, would the result be the same?".to_owned()
        }
        Rule::DivergentBarrier => format!(
            "Do all threads of a block come to the barrier at {a}, whatever branch they take on the way?"
        ),
        Rule::BarrierAfterExit => format!(
            "Which threads have left the kernel before the others come to the barrier at {a}?"
        ),
        Rule::MbarrierMisuse => format!(
            "How many arrivals and bytes does the mbarrier at {a} expect in a phase, and how many come?"
        ),
        Rule::InvalidBarrier => format!(
            "How many threads does the barrier at {a} wait for? Is that a number of whole warps?"
        ),
        Rule::WarpSyncMask => {
            format!("Which lanes execute {a}, and which ones does the mask there name?")
        }
        Rule::UndefinedShuffle => {
            format!("From which lane does {a} read? Does that lane take part?")
        }
        Rule::Deadlock => {
            format!("What do the threads at {a} wait for, and who could still do it?")
        }
        Rule::NoProgress => {
            format!("What has to become true for the loop at {a} to end? Which thread makes it so?")
        }
        Rule::OutOfBounds => format!(
            "What is the largest index at {a}, and what is the smallest? How many elements are there?"
        ),
        Rule::MisalignedAccess => format!(
            "Is the address at {a} a multiple of the size of what is read or written there?"
        ),
        Rule::UninitializedRead => {
            format!("Who has written what {a} reads, for every thread and every size?")
        }
        Rule::UseAfterFree => format!("Does the memory that {a} touches still exist then?"),
        Rule::AssertionFailed | Rule::Trap => {
            format!("What has to hold at {a}, and for which thread does it not?")
        }
        Rule::InvalidCall => {
            format!("Where does the call at {a} lead, and does it come to an end?")
        }
        _ => format!("What happens at {a}?"),
    }
}

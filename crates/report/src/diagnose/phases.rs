//! Words for phases of mbarriers that can't complete.

use crate::memory::MemoryNames;
use crate::terminal::counted;
use detect::finding::Place;
use simt::PhaseWait;

/// The title of a deadlock in which threads wait for these.
pub(super) fn title(phases: &[PhaseWait], places: usize) -> String {
    match phases {
        [only] if places <= 1 => format!(
            "{} for a phase of an mbarrier that can't complete: {}",
            match only.threads {
                1 => "1 thread waits".to_string(),
                n => format!("{n} threads wait"),
            },
            missing(only)
        ),
        _ => {
            "every remaining thread waits, some for phases of mbarriers that can't complete".into()
        }
    }
}

/// What a phase lacks.
fn missing(wait: &PhaseWait) -> String {
    let state = &wait.state;
    let arrived = state.expected.saturating_sub(state.pending);
    let arrivals = format!(
        "{arrived} of {} have arrived",
        counted(u64::from(state.expected), "expected arrival")
    );
    match state.bytes {
        0 => arrivals,
        n if n > 0 => {
            let bytes = counted(n as u64, "expected byte");
            match state.pending {
                0 => format!("{bytes} have not come"),
                _ => format!("{arrivals}, and {bytes} have not come"),
            }
        }
        n => format!(
            "{arrivals}, and {} more than expected have come",
            counted(u64::from(n.unsigned_abs()), "byte")
        ),
    }
}

/// What one of the phases lacks.
pub(super) fn note(wait: &PhaseWait, place: Option<&Place>, names: Option<&MemoryNames>) -> String {
    let object = match (place, names) {
        (Some(place), Some(names)) => names.describe(&Place {
            address: wait.object,
            ..*place
        }),
        _ => format!("the mbarrier at byte {:#x} of shared memory", wait.object),
    };
    format!(
        "{} for the phase of parity {} of {object}: {}",
        match wait.threads {
            1 => "1 thread waits".to_string(),
            n => format!("{n} threads wait"),
        },
        u8::from(wait.parity),
        missing(wait)
    )
}

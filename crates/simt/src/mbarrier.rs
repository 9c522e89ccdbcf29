//! The mbarrier object (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier", "Contents of the mbarrier object").
//!
//! It is one 64-bit word of shared memory, whose layout is nobody's business: only `mbarrier` instructions may look at it. Here it holds, from
//! the lowest bit on, how many arrivals are pending in the current phase, how many the next phase expects, how many bytes are still to
//! come, and in its highest bit the parity of the phase. So each instruction is an atomic operation, a load or a store of that word, and is
//! ordered as one.

/// Bits of each count: "1 to 2^20 - 1" arrivals.
const COUNT: u32 = 20;
/// The pending arrivals.
pub const PENDING: u64 = (1 << COUNT) - 1;
/// Bits of the count of bytes, which may be negative: "-(2^20 - 1) to 2^20 - 1".
const BYTES: u32 = 22;
/// The parity of the phase.
pub const PHASE: u64 = 1 << 63;

/// What an initialised object is, for one expected arrival. Twice as much is the object for two.
pub const ONE: u64 = 1 | 1 << COUNT;

/// What an instruction does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// `mbarrier.arrive`
    Arrive,
    /// `mbarrier.arrive_drop`
    Drop,
    /// `mbarrier.expect_tx`
    Expect,
    /// `mbarrier.complete_tx`
    Complete,
    /// `mbarrier.arrive.expect_tx`
    ExpectAndArrive,
    /// `mbarrier.arrive_drop.expect_tx`
    ExpectAndDrop,
    /// `cp.async.mbarrier.arrive`: an arrival more is to come.
    Await,
}

/// What an object may not be told ("mbarrier.arrive": "the pending count … must be in the range of the mbarrier object", "Valid ranges for the counts").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// More arrivals than are pending.
    Arrivals {
        /// How many.
        count: u64,
        /// How many are pending.
        pending: u64,
    },
    /// The bytes that are still to come are out of range then.
    Bytes(i64),
}

/// The most bytes that may be to come, or may have come too early.
pub const MOST_BYTES: i64 = (1 << 20) - 1;

impl Update {
    /// The function of the word and a count.
    pub fn function(self) -> fn(u64, u64) -> u64 {
        match self {
            Update::Arrive => arrive,
            Update::Drop => arrive_drop,
            Update::Expect => expect,
            Update::Complete => arrived,
            Update::ExpectAndArrive => expect_and_arrive,
            Update::ExpectAndDrop => expect_and_drop,
            Update::Await => await_arrival,
        }
    }

    /// What is wrong with it, of an object that is `word`.
    pub fn fault(self, word: u64, count: u64) -> Option<Fault> {
        let state = State::of(word);
        let (arrivals, bytes) = match self {
            Update::Arrive | Update::Drop => (count, 0),
            Update::Expect => (0, count as i64),
            Update::Complete => (0, -(count as i64)),
            Update::ExpectAndArrive | Update::ExpectAndDrop => (1, count as i64),
            Update::Await => (0, 0),
        };
        let pending = u64::from(state.pending);
        let bytes = i64::from(state.bytes) + bytes;
        match () {
            () if arrivals > pending => Some(Fault::Arrivals {
                count: arrivals,
                pending,
            }),
            () if bytes.abs() > MOST_BYTES => Some(Fault::Bytes(bytes)),
            () => None,
        }
    }
}

struct Object {
    pending: u64,
    expected: u64,
    bytes: u64,
    phase: u64,
}

impl Object {
    fn of(word: u64) -> Object {
        Object {
            pending: word & PENDING,
            expected: word >> COUNT & PENDING,
            bytes: word >> (2 * COUNT) & ((1 << BYTES) - 1),
            phase: word & PHASE,
        }
    }

    fn word(self) -> u64 {
        self.pending
            | self.expected << COUNT
            | (self.bytes & ((1 << BYTES) - 1)) << (2 * COUNT)
            | self.phase
    }

    /// The phase completes when nothing is pending ("Phase Completion of the mbarrier object").
    fn complete(mut self) -> u64 {
        if self.pending == 0 && self.bytes == 0 {
            self.pending = self.expected;
            self.phase ^= PHASE;
        }
        self.word()
    }
}

/// `mbarrier.arrive`: so many arrivals fewer are pending. More than are pending count as those: an H100 ends the kernel then
/// ([`Fault::Arrivals`]).
pub fn arrive(word: u64, count: u64) -> u64 {
    let object = Object::of(word);
    Object {
        pending: object.pending.saturating_sub(count),
        ..object
    }
    .complete()
}

/// `mbarrier.arrive_drop`: the phases that follow expect so many fewer, too.
pub fn arrive_drop(word: u64, count: u64) -> u64 {
    let object = Object::of(word);
    let expected = object.expected.saturating_sub(count);
    arrive(Object { expected, ..object }.word(), count)
}

/// `mbarrier.expect_tx`: so many bytes more are to come.
pub fn expect(word: u64, bytes: u64) -> u64 {
    let object = Object::of(word);
    Object {
        bytes: object.bytes.wrapping_add(bytes),
        ..object
    }
    .word()
}

/// `mbarrier.complete_tx`: so many bytes have come.
pub fn arrived(word: u64, bytes: u64) -> u64 {
    let object = Object::of(word);
    Object {
        bytes: object.bytes.wrapping_sub(bytes) & ((1 << BYTES) - 1),
        ..object
    }
    .complete()
}

/// `mbarrier.arrive.expect_tx`: both, the bytes first.
pub fn expect_and_arrive(word: u64, bytes: u64) -> u64 {
    arrive(expect(word, bytes), 1)
}

/// `mbarrier.arrive_drop.expect_tx`
pub fn expect_and_drop(word: u64, bytes: u64) -> u64 {
    arrive_drop(expect(word, bytes), 1)
}

/// Whether the phase with the parity of `asked` is complete: the current one is another ("mbarrier.test_wait / mbarrier.try_wait": of the phases
/// only the current one and the one before it may be asked for).
pub fn is_complete(word: u64, asked: u64) -> bool {
    (word ^ asked) & PHASE != 0
}

/// What an object holds, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Arrivals that the phase expects.
    pub expected: u32,
    /// Arrivals of these that are still to come.
    pub pending: u32,
    /// Bytes that are still to come; fewer than none where more have come than were expected.
    pub bytes: i32,
    /// The parity of the current phase.
    pub parity: bool,
}

impl State {
    /// That of an object's word.
    pub fn of(word: u64) -> State {
        let object = Object::of(word);
        let sign = 64 - BYTES;
        State {
            expected: object.expected as u32,
            pending: object.pending as u32,
            bytes: ((object.bytes << sign) as i64 >> sign) as i32,
            parity: object.phase != 0,
        }
    }
}

/// `cp.async.mbarrier.arrive`: one arrival more is pending in the current phase, and comes later.
pub fn await_arrival(word: u64, count: u64) -> u64 {
    let object = Object::of(word);
    Object {
        pending: (object.pending + count).min(PENDING),
        ..object
    }
    .word()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_completes_with_its_last_arrival_and_expects_as_many_again() {
        let mut word = 3 * ONE;
        for phase in [0, PHASE, 0] {
            for arrivals in [1, 1] {
                word = arrive(word, arrivals);
                assert_eq!(word & PHASE, phase);
            }
            word = arrive(word, 1);
            assert_eq!(word & PHASE, phase ^ PHASE);
            assert_eq!(word & PENDING, 3);
        }
    }

    #[test]
    fn who_drops_out_is_not_expected_again() {
        let word = arrive(arrive_drop(2 * ONE, 1), 1);
        assert_eq!(word, PHASE | ONE);
        assert_eq!(arrive(word, 1), ONE);
    }

    #[test]
    fn bytes_hold_a_phase_up() {
        let word = expect_and_arrive(ONE, 4096);
        assert_eq!(word & (PHASE | PENDING), 0);
        let word = arrived(word, 4000);
        assert_eq!(word & PHASE, 0);
        assert_eq!(arrived(word, 96), PHASE | ONE);
    }

    #[test]
    fn bytes_may_come_before_they_are_expected() {
        let word = arrived(2 * ONE, 1 << 19);
        assert_eq!(word & (PHASE | PENDING), 2);
        let word = arrive(expect_and_arrive(word, 1 << 19), 1);
        assert_eq!(word, PHASE | (2 * ONE));
    }

    #[test]
    fn surplus_arrivals_and_bytes_out_of_range_are_faults() {
        let fault = Update::Arrive.fault(2 * ONE, 3);
        assert_eq!(
            fault,
            Some(Fault::Arrivals {
                count: 3,
                pending: 2
            })
        );
        assert_eq!(Update::Arrive.fault(2 * ONE, 2), None);
        let most = MOST_BYTES as u64;
        assert_eq!(Update::Expect.fault(ONE, most), None);
        let fault = Update::Expect.fault(expect(ONE, most), 1);
        assert_eq!(fault, Some(Fault::Bytes(1 << 20)));
        // Bytes that come before they are expected are legal, within the same range.
        assert_eq!(Update::Complete.fault(ONE, most), None);
        let fault = Update::Complete.fault(ONE, most + 1);
        assert_eq!(fault, Some(Fault::Bytes(-(1 << 20))));
    }

    #[test]
    fn no_count_reaches_into_another() {
        let full = PENDING * ONE;
        assert_eq!(arrive(full, PENDING), PHASE | full);
        assert_eq!(arrive(ONE, u64::MAX), PHASE | ONE);
        assert_eq!(
            expect(full, u64::MAX) & !(((1 << BYTES) - 1) << (2 * COUNT)),
            full
        );
    }
}

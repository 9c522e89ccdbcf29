//! What the runtime and its host share: the same layouts as in `runtime/runtime.cu`.
//!
//! ```text
//! global record, 64 bits:  kind 2 | strength 2 | launch 8 | block 14 | thread 10 | epoch 10 | warp epoch 4 | site 14
//! shared record, 32 bits:  kind 2 | strength 2 |                       thread 10 | epoch  5 | warp epoch 4 | site  9
//! ```

use crate::ReadOnly;

/// Bytes of a page, the unit in which memory gets a shadow.
pub const PAGE: u64 = 2 << 20;
/// Entries of the table of pages.
pub const PAGES: u64 = 1 << 20;
/// Bytes of headers, in front of a page's records: 8 for each line of 64 bytes. A page's shadow begins at a multiple of it.
pub const HEADERS: u64 = PAGE / 64 * 8;
/// Bytes of [`Launch`] as a parameter, without [`Launch::read_only`].
pub const LAUNCH_BYTES: u32 = 32;
/// Bytes of a buffer that a launch only reads: its address and how many bytes it has.
pub const BUFFER_BYTES: u32 = 16;
/// Bytes of [`Config`].
pub const CONFIG_BYTES: u64 = 72;
/// Bytes of a thread's state in local memory.
pub const THREAD_BYTES: u32 = 88;
/// Bytes of a launch's table of releases and acquires.
pub const SYNC_BYTES: u64 = 4096 * 32;
/// Bytes of a finding.
pub const FINDING_BYTES: u64 = 64;
/// Bytes of a finding's tally.
pub const TALLY_BYTES: u64 = 16;
/// The most that a tally counts.
pub const TALLY_END: u32 = 4096;
/// Counters behind the tallies.
pub const COUNTERS: u64 = 8;
/// Bytes in front of the shadow of shared memory.
pub const SHADOW_HEAD: u32 = 16;
/// The highest launch number.
pub const LAST_LAUNCH: u32 = 254;
/// Twice in the header of a line of 64 bytes of which nothing is anybody's memory, and in the record of such a word.
pub const NOTHING: u32 = 0x1fff_ffff;
/// Twice in the header of a line of which some words are nobody's memory.
pub const PART: u32 = 0x1ffe_ffff;

/// What all launches on a device share, in its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Address of the table of shadow addresses by page: [`PAGES`] entries, each [`entry`] or 0.
    pub pages: u64,
    /// Address of tables of releases and acquires, [`SYNC_BYTES`] for each launch, that were zero when it was launched.
    pub sync: u64,
    /// Address of the findings, [`FINDING_BYTES`] each: memory of the host, which outlives a kernel that fails.
    pub findings: u64,
    /// Address of their tallies, [`TALLY_BYTES`] each, and behind them of [`COUNTERS`] counters of 64 bits.
    pub tallies: u64,
    /// Address of the accesses that records had no room for, [`KEPT_BYTES`] each; 0: none are kept.
    pub kept: u64,
    /// Address of a set of launches for each, 32 bytes: those that nothing orders before it, by number.
    pub concurrent: u64,
    /// How many findings there is room for.
    pub finding_count: u32,
    /// The number of accesses that are kept, a power of two, less one.
    pub kept_mask: u32,
    /// A record of global memory stands for `1 << global_shift` bytes, 1 to 4.
    pub global_shift: u32,
    /// Address of the numbers of launches by graphs, 4 bytes for each slot ([`Launch::SLOT`]).
    pub numbers: u64,
}

/// What a launch hands to its threads, as the last parameter of its kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Address of [`Config`].
    pub config: u64,
    /// [`Config::pages`], where records are of words; else 0.
    pub plain_pages: u64,
    /// The launch's number, 1 to [`LAST_LAUNCH`]; 0: it is not watched. With [`Launch::SLOT`], the slot where the number is when it begins.
    pub number: u32,
    /// Bytes of dynamic shared memory that the program asked for.
    pub dynamic: u32,
    /// Bytes of the shadow of shared memory, behind the dynamic shared memory; 0: shared memory is not watched.
    pub shadow: u32,
    /// A record of shared memory stands for `1 << shared_shift` bytes.
    pub shared_shift: u32,
    /// Whether the grid has more blocks than records tell apart.
    pub many_blocks: bool,
    /// Whether there are launches that nothing orders before this one ([`Config::concurrent`]).
    pub concurrent: bool,
    /// Number of the module, for findings.
    pub module: u32,
    /// The first launch that may not be over when this one runs; its own number, if there is none. At least 1.
    pub floor: u32,
    /// Of each group of loads the buffer that they are from, if the launch only reads it; else `(0, 0)`, as of those that are not named
    /// ([`ReadOnly::buffers`]).
    pub read_only: Vec<(u64, u64)>,
}

impl Launch {
    /// The launch is a node of a graph, whose replays have numbers of their own ([`Config::numbers`]).
    pub const SLOT: u32 = 1 << 31;

    /// The parameter of a kernel.
    pub fn bytes(&self, of: &ReadOnly) -> Vec<u8> {
        let bits = self.shared_shift
            | u32::from(self.many_blocks) << 4
            | u32::from(self.concurrent) << 5
            | (self.module & 0x3fff) << 8
            | self.floor << 24;
        let mut out = Vec::with_capacity(LAUNCH_BYTES as usize);
        for long in [self.config, self.plain_pages] {
            out.extend_from_slice(&long.to_le_bytes());
        }
        for word in [self.number, self.dynamic, self.shadow, bits] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for group in 0..of.groups.len() {
            let (address, bytes) = self.read_only.get(group).copied().unwrap_or_default();
            out.extend_from_slice(&address.to_le_bytes());
            out.extend_from_slice(&bytes.to_le_bytes());
        }
        out
    }
}

impl Config {
    /// What is at a launch's [`Launch::config`].
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(CONFIG_BYTES as usize);
        let long = [
            self.pages,
            self.sync,
            self.findings,
            self.tallies,
            self.kept,
            self.concurrent,
        ];
        for long in long {
            out.extend_from_slice(&long.to_le_bytes());
        }
        for word in [self.finding_count, self.kept_mask, self.global_shift, 0] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.numbers.to_le_bytes());
        out
    }
}

/// The place in the table, and the entry, of an address's page whose shadow is at `shadow`.
pub fn entry(address: u64, shadow: u64) -> (u64, u64) {
    (address / PAGE % PAGES, shadow | (1 + (address >> 41)))
}

/// Bytes of the shadow of a page, whose records stand for `1 << shift` bytes.
pub fn page_shadow(shift: u32) -> u64 {
    HEADERS + (PAGE >> shift) * 8
}

/// Bytes of an access that is kept beside records.
pub const KEPT_BYTES: u64 = 16;

/// The most blocks that records tell apart.
pub const BLOCKS: u64 = 1 << 14;

impl Launch {
    /// Bytes of shadow that shared memory up to an address needs.
    pub fn shadow_for(end: u32, shared_shift: u32) -> u32 {
        let units = end.next_multiple_of(16) >> shared_shift.min(2);
        SHADOW_HEAD + units * 4
    }
}

/// What a record says of the accesses that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// One write.
    Write,
    /// One read.
    Read,
    /// Reads of several threads, of which one is named.
    Reads,
}

/// A record that took part in a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// What it stands for.
    pub kind: RecordKind,
    /// The launch's number.
    pub launch: u32,
    /// The block's number, its lowest 14 bits.
    pub block: u32,
    /// The thread's number in its block.
    pub thread: u32,
    /// The place in the program, as [`crate::Sites`] knows it.
    pub site: u32,
}

/// What the runtime found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawFinding {
    /// The access that came first.
    pub first: Record,
    /// Thread, in its block, of the access at hand.
    pub thread: u32,
    /// The block of it.
    pub block: u32,
    /// Its launch's number.
    pub launch: u32,
    /// Its site.
    pub site: u32,
    /// Its module.
    pub module: u32,
    /// Whether it writes.
    pub writes: bool,
    /// Whether it is shared memory.
    pub shared: bool,
    /// Whether both accesses are strong, or something of too narrow a scope stands between them.
    pub scope: bool,
    /// Whether both are strong accesses of one warp, which only lockstep orders.
    pub lockstep: bool,
    /// Whether the access is to nobody's memory: there is no other one.
    pub outside: bool,
    /// Whether two blocks or launches are involved.
    pub cross: bool,
    /// First byte of the unit: an address of global memory, or of the block's shared memory.
    pub address: u64,
    /// How often it happened: at least so often, from [`TALLY_END`] on.
    pub count: u32,
}

/// Bytes of the tallies of so many findings, and of the counters behind them.
pub fn tallies_bytes(finding_count: u32) -> u64 {
    u64::from(finding_count) * TALLY_BYTES + COUNTERS * 8
}

/// What the launches of a program have left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Findings, one a pair of sites.
    pub findings: Vec<RawFinding>,
    /// Pairs of accesses that were taken to be ordered.
    pub assumed: u64,
    /// Accesses that were not watched.
    pub unwatched: u64,
    /// Findings that there was no room for.
    pub lost: u64,
    /// Races of which only one access is known.
    pub unnamed: u64,
}

impl Results {
    /// Reads the memory at [`Config::findings`] and at [`Config::tallies`]; of the latter nothing where the device has failed.
    pub fn read(findings: &[u8], tallies: &[u8], finding_count: u32) -> Results {
        let from = |memory: &[u8], at: usize| {
            let bytes = memory.get(at..at + 8).and_then(|b| b.first_chunk());
            bytes.map_or(0, |b| u64::from_le_bytes(*b))
        };
        let counters = finding_count as usize * TALLY_BYTES as usize;
        let counter = |number: usize| from(tallies, counters + number * 8);
        let mut out = Results {
            assumed: counter(0),
            unwatched: counter(1),
            lost: counter(2),
            unnamed: counter(3),
            ..Results::default()
        };
        let long = |at: usize| from(findings, at);
        let word = |at: usize| (long(at) & 0xffff_ffff) as u32;
        for number in 0..finding_count as usize {
            let at = number * FINDING_BYTES as usize;
            if long(at) == 0 || word(at + 44) == 0 {
                continue;
            }
            let count = from(tallies, number * TALLY_BYTES as usize + 8) as u32;
            let (old, now, info, desc) =
                (long(at + 8), long(at + 16), word(at + 40), word(at + 56));
            let shared = info & 1 != 0;
            let launch = word(at + 48);
            let first = match shared {
                true => Record::shared(old as u32, launch, word(at + 36)),
                false => Record::global(old),
            };
            out.findings.push(RawFinding {
                first,
                thread: (now >> 28) as u32 & 1023,
                block: word(at + 36),
                launch,
                site: desc & if shared { 0x1ff } else { 0x3fff },
                module: (long(at) >> 28) as u32 & 0x3fff,
                writes: info & 8 != 0,
                shared,
                scope: info & 2 != 0,
                lockstep: info & 16 != 0,
                outside: long(at) >> 56 & 3 == 0,
                cross: info & 4 != 0,
                address: long(at + 24),
                count: count.max(1),
            });
        }
        out
    }
}

impl Record {
    fn kind(bits: u32) -> RecordKind {
        match bits & 3 {
            1 => RecordKind::Write,
            2 => RecordKind::Read,
            _ => RecordKind::Reads,
        }
    }

    fn global(word: u64) -> Record {
        Record {
            kind: Record::kind((word >> 62) as u32),
            launch: (word >> 52) as u32 & 255,
            block: (word >> 38) as u32 & 0x3fff,
            thread: (word >> 28) as u32 & 1023,
            site: word as u32 & 0x3fff,
        }
    }

    fn shared(word: u32, launch: u32, block: u32) -> Record {
        Record {
            kind: Record::kind(word >> 30),
            launch,
            block: block & 0x3fff,
            thread: word >> 18 & 1023,
            site: word & 0x1ff,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_has_the_bytes_that_kernels_declare() {
        assert_eq!(Config::default().bytes().len() as u64, CONFIG_BYTES);
        assert_eq!(
            Launch::default().bytes(&ReadOnly::default()).len(),
            LAUNCH_BYTES as usize
        );
    }

    #[test]
    fn a_finding_is_read_as_the_runtime_wrote_it() {
        let mut memory = vec![0; FINDING_BYTES as usize];
        let mut tallies = vec![0; tallies_bytes(1) as usize];
        tallies[8] = 12;
        tallies[16] = 100;
        let mut put = |at: usize, value: u64, bytes: usize| {
            memory[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        };
        put(0, 1 << 63 | 1 << 56 | 3 << 28, 8);
        put(8, 1 << 62 | 7 << 52 | 9 << 38 | 33 << 28 | 21, 8);
        put(16, 8 << 52 | 5 << 28, 8);
        put(24, 0xabc, 8);
        put(36, 70_000, 4);
        put(40, 4 | 8, 4);
        put(44, 1, 4);
        put(48, 8, 8);
        put(56, 0x4000 | 22, 8);
        let results = Results::read(&memory, &tallies, 1);
        let expected = RawFinding {
            first: Record {
                kind: RecordKind::Write,
                launch: 7,
                block: 9,
                thread: 33,
                site: 21,
            },
            thread: 5,
            block: 70_000,
            launch: 8,
            site: 22,
            module: 3,
            writes: true,
            shared: false,
            scope: false,
            lockstep: false,
            outside: false,
            cross: true,
            address: 0xabc,
            count: 12,
        };
        assert_eq!((results.findings, results.assumed), (vec![expected], 100));
        assert_eq!(Results::read(&memory[..32], &[], 1), Results::default());
    }
}

//! A finding as the texts of its rule need it: with its places, its kernel, the names of the memory, and the language to word it in.

use super::KernelView;
use super::help::Guilty;
use super::language::{Language, Word};
use super::memory::MemoryNames;
use detect::finding::{Action, End, Finding};

/// A finding, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FindingView<'a> {
    pub finding: &'a Finding,
    /// The places of the finding's ends, in their order.
    pub guilty: &'a [Guilty],
    /// The first kernel among the launches that it is about.
    pub kernel: Option<&'a KernelView<'a>>,
    /// The names of the memory that it is about.
    pub names: Option<&'a MemoryNames>,
    /// What the first place is written in.
    pub language: Language,
}

/// The two accesses that nothing orders, with their places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    /// The access that the run had first.
    pub earlier: &'a End,
    /// The one that completed the error.
    pub later: &'a End,
    /// The place of the earlier one.
    pub from: &'a Guilty,
    /// The place of the later one.
    pub to: &'a Guilty,
}

impl Pair<'_> {
    /// The fence of the narrowest scope that has both.
    pub fn fence(&self) -> Word {
        match self.earlier.block == self.later.block {
            true => Word::BlockFence,
            false => Word::DeviceFence,
        }
    }
}

impl<'a> FindingView<'a> {
    /// The first two ends, if it has two.
    pub fn pair(&self) -> Option<Pair<'a>> {
        match (self.finding.ends.as_slice(), self.guilty) {
            ([later, earlier, ..], [to, from, ..]) => Some(Pair {
                earlier,
                later,
                from,
                to,
            }),
            _ => None,
        }
    }

    /// Where an end is: `line 6`.
    pub fn at(&self, end: usize) -> String {
        let place = self.guilty.get(end).map(Guilty::place);
        place.unwrap_or_else(|| "this line".to_owned())
    }

    /// How many threads an end stands for.
    pub fn threads(&self, end: usize) -> u32 {
        self.finding.ends.get(end).map_or(0, |end| end.threads)
    }

    /// What an end does.
    pub fn action(&self, end: usize) -> Option<Action> {
        self.finding.ends.get(end).map(|end| end.action)
    }

    /// What the first end does, as a noun: `write`.
    pub fn access(&self) -> &'static str {
        self.action(0).map_or("access", noun)
    }

    /// How many bytes it is about.
    pub fn bytes(&self) -> u32 {
        self.finding.place.map_or(0, |place| place.bytes)
    }

    /// The memory that it is about: `` `tile[3]` in shared memory ``.
    pub fn memory(&self) -> String {
        match (&self.finding.place, self.names) {
            (Some(place), Some(names)) => {
                let name = names.describe(place);
                match names.region(place).is_some() {
                    true => format!("{name} in {}", names.kind(place)),
                    false => name,
                }
            }
            _ => "memory".to_owned(),
        }
    }

    /// What the kernel's source was compiled with.
    pub fn defines(&self) -> &'a [String] {
        self.kernel.map_or(&[], |kernel| &kernel.defines)
    }

    /// How one writes it in the language of the source.
    pub fn word(&self, word: Word) -> &'static str {
        self.language.word(word)
    }
}

/// An action as a noun: `write`.
pub(crate) fn noun(action: Action) -> &'static str {
    match action {
        Action::Read => "read",
        Action::Write => "write",
        Action::Atomic => "atomic update",
        _ => "access",
    }
}

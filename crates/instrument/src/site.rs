//! Places in the program, by the numbers that records have room for.
//!
//! Accesses of one source line that do the same share a number. Those that may reach shared memory come first, because records of shared
//! memory have room for 9 bits alone; where there are more, several share a number, and a finding names all that it may be.

use ptx::ast::Loc;

/// Kinds of access that records tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SiteAccess {
    /// A load.
    Read,
    /// A store.
    Write,
    /// Both in one operation.
    Atomic,
}

/// One place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The function, as the module calls it.
    pub function: String,
    /// The line; `None` where the module has none.
    pub loc: Option<Loc>,
    /// Where in the module's text the first of its instructions stands.
    pub span: (u32, u32),
    /// What it does.
    pub access: SiteAccess,
    /// 0 weak, 1 strong within the block, 2 strong within the device.
    pub strength: u32,
    /// The constant that it stores, if it does.
    pub constant: Option<u64>,
    /// Whether it can only be global memory.
    pub global: bool,
}

/// All of a module's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites(pub(crate) Vec<Site>);

/// Numbers of global records: 1 to this one.
const GLOBAL: usize = 0x3fff;

impl Sites {
    /// The number of a place of which [`Sites::order`] has made the list.
    pub(crate) fn number(index: usize) -> u32 {
        (1 + index % GLOBAL) as u32
    }

    /// Which places a record's number may stand for.
    pub fn candidates(&self, number: u32, shared: bool) -> Vec<&Site> {
        let mask = if shared { 0x1ff } else { 0x3fff };
        let numbered = self.0.iter().enumerate();
        let fits = numbered.filter(|(index, site)| {
            Sites::number(*index) & mask == number && !(shared && site.global)
        });
        fits.map(|(_, site)| site).collect()
    }

    /// All of them.
    pub fn all(&self) -> &[Site] {
        &self.0
    }

    /// The index of a place; it is added where it is new.
    pub(crate) fn add(&mut self, site: Site) -> usize {
        let same = |old: &Site| match (&old.loc, &site.loc) {
            (Some(a), Some(b)) => {
                a == b
                    && old.function == site.function
                    && (old.access, old.strength, old.constant, old.global)
                        == (site.access, site.strength, site.constant, site.global)
            }
            _ => false,
        };
        // A line's accesses stand close together.
        let near = self.0.len().saturating_sub(256);
        if let Some(found) = self.0[near..].iter().position(same) {
            return near + found;
        }
        self.0.push(site);
        self.0.len() - 1
    }
}

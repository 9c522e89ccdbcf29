//! What instructions do to a location: roles, sets of them, and their numbers.

use super::locations::NONE;
use simt::ids::Site;
use simt::observer::*;
use std::collections::HashMap;
use std::sync::Arc;

/// What an instruction does to a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) site: Site,
    /// Whether what it reads is used.
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) update: Update,
    /// Whether it is a plain store, which does not look at what was there.
    pub(super) stores: bool,
    /// Whether it is a load whose value goes on untested ([`LaunchShape::hands_on`]).
    pub(super) hands_on: bool,
}

impl Role {
    pub(super) fn commutes(self, other: Role) -> bool {
        self.update == other.update && self.update != Update::Ordered
    }
    /// Whether data passes from the other to this one, in the sense of the rule on unordered communication.
    pub(super) fn is_handed(self, other: Role) -> bool {
        self.hands_on && other.writes
    }
}

/// The instructions that use a location.
#[derive(Clone, Debug, Default)]
pub(super) struct Roles {
    /// Indices of roles.
    pub(super) all: Vec<u32>,
    /// They are updates of this kind, and nothing uses what they return.
    pub(super) calm: Option<Update>,
    /// The set with one role more, as far as it has been needed, by the role.
    pub(super) grown: Vec<u32>,
}

/// All roles and sets of a launch, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct RoleBook {
    effects: Arc<[Effect]>,
    hands_on: Arc<[bool]>,
    pub(super) roles: Vec<Role>,
    /// Indices of roles by site: of those that only read, and of those that write.
    by_site: Vec<[u32; 2]>,
    pub(super) sets: Vec<Roles>,
    /// Sets by their roles in order.
    set_of: HashMap<Vec<u32>, u32>,
    /// Numbers that are written down for the sets.
    written: usize,
}

/// Numbers that are written down at most: thousands of instructions that use one location make as many sets of as many roles.
const WRITTEN: usize = 1 << 22;

impl RoleBook {
    /// For a launch: of its instructions, what the atomics do and which loads' values go on untested. The first set is empty.
    pub(super) fn new(effects: Arc<[Effect]>, hands_on: Arc<[bool]>) -> RoleBook {
        RoleBook {
            effects,
            hands_on,
            sets: vec![Roles::default()],
            ..RoleBook::default()
        }
    }

    /// For one core's share of the same launch.
    pub(super) fn fork(&self) -> RoleBook {
        RoleBook::new(self.effects.clone(), self.hands_on.clone())
    }

    /// The number of what an instruction does.
    #[inline]
    pub(super) fn role_of(&mut self, site: Site, kind: AccessKind) -> u32 {
        let writes = kind != AccessKind::Read;
        match self.by_site.get(site.0 as usize) {
            Some(known) if known[usize::from(writes)] != NONE => known[usize::from(writes)],
            _ => self.new_role_of(site, kind),
        }
    }

    #[cold]
    fn new_role_of(&mut self, site: Site, kind: AccessKind) -> u32 {
        let effect = self.effects.get(site.0 as usize);
        let effect = effect.copied().unwrap_or_default();
        self.role(match kind {
            AccessKind::Read => Role {
                site,
                reads: true,
                writes: false,
                update: Update::Ordered,
                stores: false,
                hands_on: self.hands_on.get(site.0 as usize) == Some(&true),
            },
            AccessKind::Write => Role {
                site,
                reads: false,
                writes: true,
                update: Update::Ordered,
                stores: true,
                hands_on: false,
            },
            // A compare-and-swap that failed might not have.
            AccessKind::Atomic | AccessKind::Reduction => Role {
                site,
                reads: effect.used,
                writes: true,
                update: effect.update,
                stores: false,
                hands_on: false,
            },
        })
    }

    pub(super) fn role(&mut self, role: Role) -> u32 {
        let site = role.site.0 as usize;
        if site >= self.by_site.len() {
            self.by_site.resize(site + 1, [NONE; 2]);
        }
        let known = &mut self.by_site[site][usize::from(role.writes)];
        if *known == NONE {
            self.roles.push(role);
            *known = self.roles.len() as u32 - 1;
        }
        *known
    }

    /// The set of roles with one more.
    #[inline]
    pub(super) fn with(&mut self, set: u32, role: u32) -> u32 {
        match self.sets[set as usize].grown.get(role as usize) {
            Some(known) if *known != NONE => *known,
            _ => self.grow(set, role),
        }
    }

    #[cold]
    pub(super) fn grow(&mut self, set: u32, role: u32) -> u32 {
        let r = self.roles[role as usize];
        let old = &self.sets[set as usize];
        let new = match old.all.binary_search(&role) {
            Ok(_) => set,
            Err(at) => {
                let calm = match (old.all.is_empty(), old.calm) {
                    _ if r.reads || r.update == Update::Ordered => None,
                    (true, _) => Some(r.update),
                    (false, calm) => calm.filter(|u| *u == r.update),
                };
                let mut all = old.all.clone();
                all.insert(at, role);
                self.written += 2 * all.len();
                *self.set_of.entry(all).or_insert_with_key(|all| {
                    self.sets.push(Roles {
                        all: all.clone(),
                        calm,
                        grown: Vec::new(),
                    });
                    self.sets.len() as u32 - 1
                })
            }
        };
        let grown = &mut self.sets[set as usize].grown;
        if role as usize >= grown.len() {
            self.written += role as usize + 1 - grown.len();
            grown.resize(role as usize + 1, NONE);
        }
        grown[role as usize] = new;
        new
    }

    /// Whether there is no room for more sets.
    pub(super) fn is_full(&self) -> bool {
        self.written >= WRITTEN
    }

    /// Whether one set of roles is a part of another.
    pub(super) fn is_part(&self, one: u32, other: u32) -> bool {
        let [one, other] = [one, other].map(|set| &self.sets[set as usize].all);
        one.iter().all(|role| other.binary_search(role).is_ok())
    }
}

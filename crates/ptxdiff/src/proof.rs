//! The one gate that every claim on execution passes: that a side accesses some bytes, or comes to a barrier or a fence, less often than the other.
//!
//! Let *mine* be the side that is said to do less, and *x* the other side's instruction. Each instruction of mine that may touch the bytes of x
//! in the same direction must be accounted for:
//!
//! - it touches other bytes: another variable or parameter, another space, other bytes of one address that is the same for all threads; or
//! - it stands for an instruction of the other side which is not x, which no other one of mine stands for, which accesses the same
//!   addresses, and which is executed at least as often ([`frequency`]).
//!
//! Then the other side accesses each byte as often as mine does and, besides, whenever it executes x. What can't be accounted for, proves
//! nothing, whatever is likely; then the claim is not made.
//!
//! What is taken for granted: different parameters and variables don't overlap (as in [`crate::cover`]), equal forms of address are equal
//! addresses, functions that are called alike do alike, and accesses of one source line, as many on both sides and at what starts from
//! one root, are the same ones.

mod conditions;
mod frequency;

use crate::Side;
use crate::class::{InstructionClass, Space};
use crate::code::value::Values;
use crate::code::{Code, Instr, Place, Root, plain_symbol};
use crate::compare::{Match, Matching};
use crate::cover::{Cover, Direction};
use crate::loops::Loops;
use crate::loops::signature::{Kind, callee, whole_work};
use frequency::Often;
use ptx::ast::Module;
use ptx::semantics::{FenceKind, Synchronisation};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// That mine does less: made by [`Prover`] alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof(());

/// Two functions, of which one may do less.
pub(crate) struct Prover<'p> {
    pub code: [&'p Code<'p>; 2],
    pub modules: [&'p Module; 2],
    pub matching: &'p Matching,
    pub values: &'p Values,
    pub cover: Rc<Cover>,
    often: Often<'p>,
    sides: [OnceCell<Accounts>; 2],
    /// What A's and B's accesses start from.
    roots: [HashSet<Root>; 2],
}

/// What of a side's is not accounted for.
#[derive(Default)]
struct Accounts {
    /// Accesses, by direction, with their place where they have one.
    accesses: Vec<(usize, Direction, Option<Place>)>,
    /// Barriers and fences.
    others: Vec<usize>,
    /// Kinds of work that functions do which are called from there.
    called: HashSet<Kind>,
}

/// How many of a side's accesses of a source line are at a root, in a direction.
type Lines = HashMap<(u32, Direction, Root), [usize; 2]>;

impl<'p> Prover<'p> {
    pub fn new(
        code: [&'p Code<'p>; 2],
        modules: [&'p Module; 2],
        matching: &'p Matching,
        values: &'p Values,
        (cover, loops): (&Rc<Cover>, &Rc<Loops>),
    ) -> Prover<'p> {
        Prover {
            code,
            modules,
            matching,
            values,
            cover: Rc::clone(cover),
            often: Often::new(code, matching, values, Rc::clone(loops)),
            sides: Default::default(),
            roots: code.map(|code| {
                let all = code.instructions.iter();
                let places = all.flat_map(|i| [i.place, i.source_place]).flatten();
                places.map(|place| place.root).collect()
            }),
        }
    }

    /// Whether a side does an instruction of the other side, which has no counterpart, less often.
    pub fn lacks(&self, side: Side, theirs: usize) -> Option<Proof> {
        let mine = side as usize;
        let instr = &self.code[1 - mine].instructions[theirs];
        match instr.class {
            class if class.is_barrier() || class == InstructionClass::Fence => {
                self.lacks_synchronisation(mine, theirs)
            }
            _ => self.accounts_for_all(mine, instr, None),
        }
    }

    /// Whether a side's access, which stands for one of the other side in a loop, is made less often, and so are all accesses of these bytes together.
    pub fn makes_once(&self, side: Side, own: usize, theirs: usize) -> Option<Proof> {
        let mine = side as usize;
        let instr = &self.code[1 - mine].instructions[theirs];
        // Nothing else of mine stands for it.
        let others = self.cover.anywhere(side.other(), theirs, |_| true);
        let fewer = self.often.is_less(mine, own, theirs) && others.iter().all(|at| *at == own);
        let proof = self.accounts_for_all(mine, instr, Some(own))?;
        fewer.then_some(proof)
    }

    /// Whether all accesses of mine that may touch an instruction's bytes are accounted for, but for one.
    fn accounts_for_all(&self, mine: usize, instr: &Instr, but: Option<usize>) -> Option<Proof> {
        let accounts = self.accounts(mine);
        let all = touches(instr).into_iter().all(|(direction, place)| {
            let kinds = match direction {
                Direction::Read => [Kind::Read, Kind::Update],
                Direction::Write => [Kind::Write, Kind::Update],
            };
            let called = kinds.iter().any(|kind| accounts.called.contains(kind));
            let mut open = accounts.accesses.iter();
            !called
                && place.is_some_and(|place| {
                    open.all(|(own, alike, at)| {
                        Some(*own) == but
                            || *alike != direction
                            || at.is_some_and(|at| self.is_elsewhere(mine, &at, &place))
                    })
                })
        });
        all.then_some(Proof(()))
    }

    fn lacks_synchronisation(&self, mine: usize, theirs: usize) -> Option<Proof> {
        let other = self.code[1 - mine];
        let x = &other.instructions[theirs];
        let accounts = self.accounts(mine);
        let kind = match x.class {
            InstructionClass::Fence => Kind::Fence,
            _ => Kind::Barrier,
        };
        let called = accounts.called.contains(&kind);
        // Those of mine that have no partner stand for others than this one.
        let mut free: Vec<usize> = (0..other.instructions.len())
            .filter(|at| {
                let alone = self.partner(1 - mine, *at).is_none();
                *at != theirs && alone && is_one_kind(&other.instructions[*at], x)
            })
            .collect();
        let open = accounts.others.iter();
        let mut open = open.filter(|own| is_one_kind(&self.code[mine].instructions[**own], x));
        let all = open.all(|own| {
            let fits = |at: &usize| self.often.is_at_most(mine, *own, &[*at]);
            let at = free.iter().position(fits);
            at.map(|at| free.swap_remove(at)).is_some()
        });
        (!called && all).then_some(Proof(()))
    }

    /// Whether what a side accesses and what the other one does are different bytes.
    fn is_elsewhere(&self, mine: usize, own: &Place, theirs: &Place) -> bool {
        let named = |side: usize, root: Root| self.roots[side].contains(&root);
        let other_root = match (own.root, theirs.root) {
            (Root::Unknown, _) | (_, Root::Unknown) => false,
            // A variable that only one side knows may be the other's by another name.
            (Root::Variable(x), Root::Variable(y)) => {
                x != y && (named(1 - mine, own.root) || named(mine, theirs.root))
            }
            (x, y) => x != y,
        };
        let after = theirs.offset.wrapping_sub(own.offset);
        let apart = after >= i64::from(own.width) || -after >= i64::from(theirs.width);
        let known = own.base == theirs.base && self.values.is_uniform(own.base);
        let sized = own.width > 0 && theirs.width > 0;
        other_root || !own.may_share_space(theirs) || known && sized && apart
    }

    fn accounts(&self, mine: usize) -> &Accounts {
        self.sides[mine].get_or_init(|| {
            let lines = self.lines();
            let mut accounts = Accounts::default();
            for (index, instr) in self.code[mine].instructions.iter().enumerate() {
                match instr.class {
                    InstructionClass::Call if !self.is_called_alike(mine, index) => {
                        let work = whole_work(instr, self.modules[mine]).into_iter();
                        accounts.called.extend(work.map(|(key, _)| key.kind));
                        if !self.is_defined(mine, instr) {
                            let all = [Kind::Read, Kind::Write, Kind::Update];
                            accounts.called.extend(all);
                            accounts.called.extend([Kind::Barrier, Kind::Fence]);
                        }
                    }
                    class if class.is_access() => {
                        let open = touches(instr).into_iter();
                        let open = open.filter(|(direction, place)| {
                            !self.is_accounted(mine, index, *direction, *place, &lines)
                        });
                        let open = open.map(|(direction, place)| (index, direction, place));
                        accounts.accesses.extend(open);
                    }
                    class if class.is_barrier() || class == InstructionClass::Fence => {
                        let partner = self.partner(mine, index).filter(|at| {
                            is_one_kind(&self.code[1 - mine].instructions[*at], instr)
                                && self.often.is_at_most(mine, index, &[*at])
                        });
                        if partner.is_none() {
                            accounts.others.push(index);
                        }
                    }
                    _ => {}
                }
            }
            accounts
        })
    }

    /// Whether an access of mine stands for accesses of the other side to the same addresses, which are made at least as often.
    fn is_accounted(
        &self,
        mine: usize,
        index: usize,
        direction: Direction,
        place: Option<Place>,
        lines: &Lines,
    ) -> bool {
        let side = [Side::A, Side::B][mine];
        let theirs = self
            .cover
            .anywhere(side, index, |pair| pair.direction == direction);
        if self.cover.is_whole(mine, index, direction) {
            let same = theirs
                .iter()
                .all(|at| self.has_same_address(mine, index, *at));
            return same && self.often.is_at_most(mine, index, &theirs);
        }
        // At another form of address: its line tells.
        let Some((place, at)) = place.zip(self.partner(mine, index)) else {
            return false;
        };
        let (own, other) = (
            &self.code[mine].instructions[index],
            &self.code[1 - mine].instructions[at],
        );
        let as_many = lines
            .get(&(own.site, direction, place.root))
            .is_some_and(|counts| counts[0] == counts[1]);
        let free = !self.cover.is_paired(1 - mine, at, direction);
        let there = touches(other).into_iter().any(|(way, to)| {
            way == direction
                && to.is_some_and(|to| (to.root, to.width) == (place.root, place.width))
        });
        theirs.is_empty()
            && free
            && as_many
            && there
            && own.site != 0
            && own.site == other.site
            && place.root != Root::Unknown
            && self.often.is_at_most(mine, index, &[at])
    }

    /// Whether two accesses with equal forms of address are at equal addresses: where the form says nothing of what differs from way to way, or
    /// the two are the same under the renaming of registers, or of one line.
    fn has_same_address(&self, mine: usize, index: usize, theirs: usize) -> bool {
        let (own, other) = (
            &self.code[mine].instructions[index],
            &self.code[1 - mine].instructions[theirs],
        );
        let places = [own.place, own.source_place].into_iter().flatten();
        let mut known = places.map(|place| self.values.is_fixed(place.base));
        let same = || {
            let pair = [&self.matching.of_a, &self.matching.of_b][mine][index];
            let pair = pair.map(|pair| &self.matching.pairs[pair]);
            pair.is_some_and(|pair| {
                pair.kind == Match::Same && [pair.a, pair.b][1 - mine] == theirs
            })
        };
        known.all(|known| known) || own.site != 0 && own.site == other.site || same()
    }

    fn lines(&self) -> Lines {
        let mut lines = Lines::new();
        for side in [0, 1] {
            for instr in &self.code[side].instructions {
                for (direction, place) in touches(instr) {
                    if let Some(place) = place {
                        let known = lines.entry((instr.site, direction, place.root));
                        known.or_default()[side] += 1;
                    }
                }
            }
        }
        lines
    }

    /// Whether the other side calls what an instruction calls, as often.
    fn is_called_alike(&self, mine: usize, index: usize) -> bool {
        let name = |side: usize, at: usize| {
            callee(self.code[side].instructions[at].instr).map(plain_symbol)
        };
        let called = name(mine, index);
        self.partner(mine, index).is_some_and(|at| {
            called.is_some()
                && called == name(1 - mine, at)
                && self.often.is_at_most(mine, index, &[at])
        })
    }

    fn is_defined(&self, mine: usize, call: &Instr) -> bool {
        let module = self.modules[mine];
        callee(call.instr)
            .is_some_and(|name| crate::loops::signature::defined(module, name).is_some())
    }

    fn partner(&self, side: usize, index: usize) -> Option<usize> {
        match side {
            0 => self.matching.b_of(index),
            _ => self.matching.a_of(index),
        }
    }
}

/// Whether two barriers or fences do the same for the same threads and proxies, whatever they order.
fn is_one_kind(x: &Instr, y: &Instr) -> bool {
    let proxy = |instr: &Instr| matches!(instr.typed.synchronisation, Some(Synchronisation::Fence { kind, .. }) if kind == FenceKind::Proxy);
    x.class == y.class && proxy(x) == proxy(y)
}

/// What an access reads and writes, parameters apart.
fn touches(instr: &Instr) -> Vec<(Direction, Option<Place>)> {
    let quiet = |place: &Option<Place>| place.is_some_and(|place| place.space == Space::Param);
    let (read, write) = (Direction::Read, Direction::Write);
    let all = match instr.class {
        InstructionClass::Load(_) => vec![(read, instr.place)],
        InstructionClass::Store(_) => vec![(write, instr.place)],
        InstructionClass::Atomic(_) | InstructionClass::Reduction(_) => {
            vec![(read, instr.place), (write, instr.place)]
        }
        InstructionClass::AsyncCopy(_) => vec![(read, instr.source_place), (write, instr.place)],
        _ => Vec::new(),
    };
    all.into_iter().filter(|(_, place)| !quiet(place)).collect()
}

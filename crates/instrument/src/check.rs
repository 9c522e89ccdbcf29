//! What stands in front of one access: a body of `inline.ptx`, or a call of the runtime.

use crate::access::{Access, Bytes};
use crate::emit::{self, NARROW, WIDE, int, name};
use crate::facts::Facts;
use crate::inline::call;
use crate::merged_checks::Run;
use crate::names::Names;
use crate::{SiteAccess, inline, layout};
use ptx::ast::*;
use ptx::semantics::Space;

/// Bits of an access's description (`runtime/runtime.cu`, `D_…`).
const WRITES: u32 = 0x4000;
const ATOMIC: u32 = 0x2_0000;
const STRENGTH: u32 = 15;
const NEIGHBOURS: u32 = 0x4_0000;
/// The most words that lanes look at together.
const LANES: u32 = 32;
/// Strength of accesses of device scope or more.
const DEVICE: u32 = 2;
// Kinds of records, what readers have in common, and the numbers of sites that records of shared memory have room for.
const WRITTEN: u32 = 1;
const READ: u32 = 2;
const SEVERAL: u32 = 3;
const W_BLOCKS: u32 = 14;
const W_WARPS: u32 = 15;
const SHARED_SITES: u32 = 0x1ff;

/// An access, and where it stands.
pub struct Check<'a> {
    pub facts: &'a Facts,
    pub names: &'a Names,
    pub instruction: &'a Instruction,
    pub access: &'a Access,
    /// Of its place in the program.
    pub number: u32,
    /// Whether others are checked with it.
    pub run: Option<&'a Run>,
}

impl Check<'_> {
    /// The check of an access, for which loads from a buffer that the launch only reads have no use.
    pub fn emit(&self, out: &mut Vec<Stmt>) {
        let mut check = Vec::new();
        self.always(&mut check);
        let access = self.access;
        let weak_load = access.access == SiteAccess::Read && access.strength == 0;
        let at = match self.instruction.operands.get(access.operand) {
            Some(Operand::Address(at)) if weak_load && access.space != Space::Shared => at,
            _ => return out.extend(check),
        };
        let points_to = self.names.points_to.as_ref();
        let Some(group) = points_to.and_then(|p| p.borrow_mut().group(&at.base)) else {
            return out.extend(check);
        };
        let (offset, behind) = match (self.run, &access.bytes) {
            (Some(Run::First(offset, count, distance)), Bytes::Fixed(bytes)) if *count > 1 => {
                (*offset, (count - 1) * distance + bytes - 1)
            }
            (Some(Run::First(offset, ..)), _) => (*offset, 0),
            _ => (at.offset, 0),
        };
        out.push(unless_read_only(group, &at.base, offset, behind, check));
    }

    /// The same, whatever buffer it is.
    fn always(&self, out: &mut Vec<Stmt>) {
        let Check {
            names,
            instruction,
            access,
            number,
            run,
            ..
        } = *self;
        let guard = instruction.guard.as_ref();
        let unwatched = |out: &mut Vec<Stmt>| out.push(call(guard, "unwatched", &[]));
        let Some(Operand::Address(at)) = instruction.operands.get(access.operand) else {
            return unwatched(out);
        };
        let mut space = access.space;
        let offset = match run {
            Some(Run::First(offset, ..)) => *offset,
            _ => at.offset,
        };
        let base = match &*at.base {
            Operand::Int(value, _) => int(*value),
            Operand::Name(register, None) => {
                let declared = names.spaces.get(register);
                let variable = declared.or_else(|| self.facts.variables.get(register));
                if let (Some(variable), Space::Generic) = (variable, space) {
                    space = match variable {
                        StateSpace::Global => Space::Global,
                        StateSpace::Shared => Space::Shared,
                        _ => return unwatched(out),
                    };
                }
                name(register)
            }
            _ => return unwatched(out),
        };
        let is_register = matches!(&base, Operand::Name(n, _) if names.wide.contains_key(n));
        let wide = matches!(&base, Operand::Name(n, _) if names.wide.get(n) == Some(&true));
        let (address, function) = match space {
            Space::Shared => {
                if wide {
                    out.push(emit::instruction("cvt.u32.u64", vec![name(NARROW), base]));
                } else {
                    out.push(emit::instruction("mov.b32", vec![name(NARROW), base]));
                }
                if offset != 0 {
                    out.push(add("add.s32", NARROW, offset));
                }
                ((ScalarType::B32, name(NARROW)), "shared")
            }
            _ => {
                if is_register && !wide {
                    out.push(emit::instruction("cvt.u64.u32", vec![name(WIDE), base]));
                } else {
                    out.push(emit::instruction("mov.b64", vec![name(WIDE), base]));
                }
                if offset != 0 {
                    out.push(add("add.s64", WIDE, offset));
                }
                let function = match space {
                    Space::Global => "global",
                    _ => "generic",
                };
                ((ScalarType::B64, name(WIDE)), function)
            }
        };
        let kind = match access.access {
            SiteAccess::Read => 0,
            SiteAccess::Write => WRITES,
            SiteAccess::Atomic => WRITES | ATOMIC,
        };
        let description = number | kind | access.strength << STRENGTH;
        let description = (ScalarType::B32, int(u64::from(description)));
        let (function, bytes) = match (&access.bytes, run) {
            (_, Some(Run::First(_, count, distance))) if *count > 1 => {
                let run = count | distance >> 2 << 8;
                if space == Space::Shared {
                    let mut with = vec![
                        ("ADDRESS", address.1),
                        ("DESCRIPTION", description.1),
                        ("RUN", int(u64::from(run))),
                        ("LAST", int(u64::from((count - 1) * distance))),
                        ("DISTANCE", int(u64::from(*distance))),
                        (
                            "NUMBER",
                            int(u64::from(if count.is_power_of_two() { *count } else { 1 })),
                        ),
                        ("RECORD", int(u64::from(READ << 30 | number & SHARED_SITES))),
                    ];
                    with.push(shared_readers(number));
                    return out.push(inline::body("shared_run", guard, &with));
                }
                let neighbours = (*count, *distance) == (3, 4);
                if space == Space::Global && neighbours && !self.facts.parts {
                    // Three neighbours, as a stencil reads them: the middle one, and that there are others.
                    out.push(add("add.s64", WIDE, 4));
                    let description = (ScalarType::B32, int(u64::from(number | NEIGHBOURS)));
                    let with = global_line(number, READ, (address, description));
                    return out.push(inline::body("global_run", guard, &with));
                }
                if space == Space::Global && *count <= LANES {
                    let with = global_words(number, (*count, *distance), (address, description));
                    return out.push(inline::body("global_words", guard, &with));
                }
                (format!("{function}_run"), int(u64::from(run)))
            }
            (Bytes::Fixed(bytes @ (8 | 16)), _)
                if space == Space::Global && access.strength == 0 && kind == 0 =>
            {
                let with = global_words(number, (bytes / 4, 4), (address, description));
                return out.push(inline::body("global_words", guard, &with));
            }
            (bytes, _) => self.bytes(bytes, function),
        };
        if access.bytes == Bytes::Fixed(4) && bytes == int(4) && space != Space::Generic {
            let with = (address, description);
            return out.push(self.word(space, with));
        }
        let arguments = [address, (ScalarType::B32, bytes), description];
        out.push(call(guard, &function, &arguments));
    }

    /// The runtime's function for accesses of so many bytes, and their number as it wants it.
    fn bytes(&self, bytes: &Bytes, function: &str) -> (String, Operand) {
        match bytes {
            Bytes::Fixed(bytes) => (function.to_owned(), int(u64::from(*bytes))),
            Bytes::Rows(lanes) => (format!("{function}_rows"), int(u64::from(*lanes))),
            Bytes::Operand(index) => {
                let operand = self.instruction.operands.get(*index).cloned();
                (function.to_owned(), operand.unwrap_or(int(0)))
            }
        }
    }

    /// The check of a word.
    fn word(
        &self,
        space: Space,
        (address, description): ((ScalarType, Operand), (ScalarType, Operand)),
    ) -> Stmt {
        let (access, number) = (self.access, self.number);
        let guard = self.instruction.guard.as_ref();
        let kind = match access.access {
            SiteAccess::Read => READ,
            SiteAccess::Write | SiteAccess::Atomic => WRITTEN,
        };
        let strength = access.strength;
        if space == Space::Shared {
            let site = number & SHARED_SITES;
            let record = (kind << 2 | strength) << 28 | site;
            let mut with = vec![
                ("ADDRESS", address.1),
                ("DESCRIPTION", description.1),
                ("RECORD", int(u64::from(record))),
            ];
            with.push(shared_readers(number));
            let body = match access.access {
                SiteAccess::Read => "shared_read",
                SiteAccess::Write => "shared_write",
                SiteAccess::Atomic => "shared_atomic",
            };
            return inline::body(body, guard, &with);
        }
        if access.strength > 0 || self.facts.parts {
            // Headers of lines are for weak accesses alone, by lanes that have passed the same barriers.
            if access.strength == DEVICE && kind == WRITTEN && !self.facts.fences {
                let record = (WRITTEN << 2 | DEVICE) << 28;
                let mut with = global_line(number, kind, (address, description)).to_vec();
                with.push(("RECORD", int(u64::from(record))));
                return inline::body("global_strong", guard, &with);
            }
            let function = match access.access {
                SiteAccess::Read => "global_read4",
                SiteAccess::Write | SiteAccess::Atomic => "global_write4",
            };
            return call(guard, function, &[address, description]);
        }
        let with = global_line(number, kind, (address, description));
        let body = match access.access {
            SiteAccess::Read => "global_read",
            _ if self.facts.neighbours => "global_write_beside",
            SiteAccess::Write | SiteAccess::Atomic => "global_write",
        };
        inline::body(body, guard, &with)
    }
}

/// A check, except of an address in the group's buffer, and of so many bytes behind it.
fn unless_read_only(
    group: usize,
    base: &Operand,
    offset: i64,
    behind: u32,
    check: Vec<Stmt>,
) -> Stmt {
    let [inside, from, size] = ["%racetrap_q", "%racetrap_from", "%racetrap_size"];
    let handed = |second: i64| {
        let at = i64::from(layout::LAUNCH_BYTES) + group as i64 * i64::from(layout::BUFFER_BYTES);
        emit::address(name(emit::PARAMETER), at + second)
    };
    let register = |ty, register| Stmt::Variable(emit::variable(StateSpace::Reg, ty, register));
    let mut out = vec![
        register(ScalarType::Pred, inside),
        register(ScalarType::B64, from),
        register(ScalarType::B64, size),
        emit::instruction("ld.param.u64", vec![name(from), handed(0)]),
        emit::instruction("ld.param.u64", vec![name(size), handed(8)]),
        emit::instruction("sub.s64", vec![name(from), base.clone(), name(from)]),
    ];
    if offset != 0 {
        out.push(add("add.s64", from, offset));
    }
    let within = vec![name(inside), name(from), name(size)];
    out.push(emit::instruction("setp.lt.u64", within.clone()));
    if behind != 0 {
        out.push(add("add.s64", from, i64::from(behind)));
        let both = within.into_iter().chain([name(inside)]);
        out.push(emit::instruction("setp.lt.and.u64", both.collect()));
    }
    let guard = Guard {
        negated: false,
        register: inside.to_owned(),
    };
    out.push(emit::guarded(Some(&guard), "bra", vec![name("ONLY_READ")]));
    out.extend(check);
    out.push(Stmt::Label(Label {
        name: "ONLY_READ".to_owned(),
        span: Default::default(),
    }));
    Stmt::Block(out)
}

/// What is replaced in checks of lines of global memory.
fn global_line(
    number: u32,
    kind: u32,
    (address, description): ((ScalarType, Operand), (ScalarType, Operand)),
) -> [(&'static str, Operand); 6] {
    let int = |value: u32| int(u64::from(value));
    [
        ("ADDRESS", address.1),
        ("DESCRIPTION", description.1),
        ("SITE", int(number)),
        ("KIND", int(kind << 28)),
        ("SEVERAL", int(W_BLOCKS << 14 | number)),
        ("WARPS", int(W_WARPS << 14 | number)),
    ]
}

/// What is replaced in checks of words of global memory that are read together: so many, so many bytes from each other.
fn global_words(
    number: u32,
    (count, distance): (u32, u32),
    at: ((ScalarType, Operand), (ScalarType, Operand)),
) -> Vec<(&'static str, Operand)> {
    let mut with = global_line(number, READ, at).to_vec();
    let int = |value: u32| int(u64::from(value));
    with.push(("NUMBER", int(count)));
    with.push(("DISTANCE", int(distance)));
    with.push(("RUN", int(count | distance >> 2 << 8)));
    with
}

/// The record of shared memory that weak reads of several warps at a site leave, without its epoch.
fn shared_readers(number: u32) -> (&'static str, Operand) {
    let record = SEVERAL << 30 | W_WARPS << 9 | number & SHARED_SITES;
    ("SEVERAL", int(u64::from(record)))
}

fn add(spelling: &str, register: &str, offset: i64) -> Stmt {
    let value = match offset {
        0.. => int(offset as u64),
        _ => Operand::Neg(Box::new(int(offset.unsigned_abs()))),
    };
    emit::instruction(spelling, vec![name(register), name(register), value])
}

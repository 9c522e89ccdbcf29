//! How much an instruction synchronises: order and scope of fences and accesses, who takes part in a barrier and who waits.
//!
//! Sources are the PTX ISA's sections on `membar` and `fence` (`membar.{cta,gl,sys}` is `fence.sc.{cta,gpu,sys}` from `sm_70` on; without a
//! `.sem` a fence is `.acq_rel`), `bar` and `barrier` (`bar{.cta}.sync` is `barrier{.cta}.sync.aligned`, and so on), `barrier.cluster` (an
//! arrival is `.release`, a wait `.acquire`, if nothing else is said), `ld`, `st` (`.weak`), `atom`, `red` (`.relaxed`, `.gpu`), and
//! "Volatile Operation" (`.volatile` orders as `.relaxed.sys`).
//!
//! What it cannot see: whether the order or the scope is needed. In memory of the block's own (`.shared::cta`) no scope is wider than the
//! block, so `.cta` and `.gpu` are alike there. Two barriers of different numbers are equally strong.

use super::class::{InstructionClass, is_volatile};
use crate::code::Instr;
use ptx::ast::Operand;
use ptx::semantics::{self, FenceKind, Modifier, Participation, Scope, Synchronisation};
use std::fmt;

/// Which orderings an instruction makes, as bits: what has more is stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order(u8);

const WEAK: Order = Order(0);
const RELAXED: Order = Order(1);
const ACQUIRE: Order = Order(0b0011);
const RELEASE: Order = Order(0b0101);
const ACQUIRE_RELEASE: Order = Order(0b0111);
const SEQUENTIAL: Order = Order(0b1111);

impl Order {
    fn of(order: semantics::Order) -> Order {
        match order {
            semantics::Order::Weak => WEAK,
            semantics::Order::Relaxed | semantics::Order::Volatile => RELAXED,
            semantics::Order::Acquire => ACQUIRE,
            semantics::Order::Release => RELEASE,
            semantics::Order::AcqRel => ACQUIRE_RELEASE,
            semantics::Order::Sc => SEQUENTIAL,
        }
    }

    /// Whether something that `other` orders is not ordered.
    fn lacks(self, other: Order) -> bool {
        self.0 & other.0 != other.0
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            WEAK => "no order",
            RELAXED => "relaxed",
            ACQUIRE => "acquire",
            RELEASE => "release",
            ACQUIRE_RELEASE => "acquire and release",
            _ => "sequentially consistent",
        })
    }
}

/// The threads that an access or fence orders with, or that take part in a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    /// Lanes of the warp; their mask, where it is a constant.
    Lanes(Option<u32>),
    /// A number of the block's threads, where it is a constant.
    Some(Option<u64>),
    Block,
    Cluster,
    Gpu,
    System,
}

impl Threads {
    fn of(scope: Scope) -> Threads {
        match scope {
            Scope::Cta => Threads::Block,
            Scope::Cluster => Threads::Cluster,
            Scope::Gpu => Threads::Gpu,
            Scope::Sys => Threads::System,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Threads::Lanes(_) => 0,
            Threads::Some(_) => 1,
            Threads::Block => 2,
            Threads::Cluster => 3,
            Threads::Gpu => 4,
            Threads::System => 5,
        }
    }

    /// Whether some of `other`'s threads are certainly not among these.
    fn lacks(self, other: Threads) -> bool {
        match (self, other) {
            (Threads::Lanes(Some(mine)), Threads::Lanes(Some(theirs))) => mine & theirs != theirs,
            (Threads::Some(Some(mine)), Threads::Some(Some(theirs))) => mine < theirs,
            // A number in a register may be that of the block.
            (Threads::Some(None), Threads::Block) => false,
            _ => self.rank() < other.rank(),
        }
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threads::Lanes(Some(u32::MAX)) => f.write_str("the warp"),
            Threads::Lanes(Some(mask)) => write!(f, "the lanes {mask:#x}"),
            Threads::Lanes(None) => f.write_str("lanes of the warp"),
            Threads::Some(Some(count)) => write!(f, "{count} threads"),
            Threads::Some(None) => f.write_str("some threads"),
            Threads::Block => f.write_str("the block"),
            Threads::Cluster => f.write_str("the cluster"),
            Threads::Gpu => f.write_str("the GPU"),
            Threads::System => f.write_str("the system"),
        }
    }
}

/// What synchronises, so far as two can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A barrier at which threads arrive, and wait or not.
    Barrier { waits: bool },
    /// A fence, between the proxies or for the operations that are named, if any are.
    Fence(FenceKind, Vec<Modifier>),
    /// A load, a store, an atomic operation.
    Access,
}

struct Strength {
    kind: Kind,
    order: Order,
    threads: Threads,
}

impl Strength {
    fn of(instruction: &Instr) -> Option<Strength> {
        let typed = &instruction.typed;
        match typed.synchronisation {
            Some(Synchronisation::WarpBarrier) => Some(Strength {
                kind: Kind::Barrier { waits: true },
                order: ACQUIRE_RELEASE,
                threads: Threads::Lanes(
                    number(instruction.instr.operands.first()).map(|mask| mask as u32),
                ),
            }),
            Some(Synchronisation::BlockBarrier { participation, .. }) => Some(Strength {
                kind: Kind::Barrier {
                    waits: participation != Participation::Arrive,
                },
                order: ACQUIRE_RELEASE,
                threads: participants(&instruction.instr.operands, participation),
            }),
            Some(Synchronisation::ClusterBarrier {
                participation,
                order,
                ..
            }) => Some(Strength {
                kind: Kind::Barrier {
                    waits: participation != Participation::Arrive,
                },
                order: Order::of(order),
                threads: Threads::Cluster,
            }),
            Some(Synchronisation::Fence { kind, order, scope }) => Some(Strength {
                kind: Kind::Fence(kind, restrictions(instruction)),
                order: order.map_or(ACQUIRE_RELEASE, Order::of),
                threads: scope.map_or(Threads::System, Threads::of),
            }),
            _ => Strength::of_access(instruction),
        }
    }

    fn of_access(instruction: &Instr) -> Option<Strength> {
        use InstructionClass::{Atomic, Load, Reduction, Store};
        let memory = instruction.typed.memory.as_ref()?;
        if !matches!(
            instruction.class,
            Load(_) | Store(_) | Atomic(_) | Reduction(_)
        ) {
            return None;
        }
        let order = Order::of(memory.order);
        let own = memory.space == semantics::Space::Shared;
        Some(Strength {
            kind: Kind::Access,
            order,
            threads: match memory.scope {
                Some(scope) if !own && order != WEAK => Threads::of(scope),
                _ => Threads::Block,
            },
        })
    }
}

fn number(operand: Option<&Operand>) -> Option<u64> {
    match operand? {
        Operand::Int(value, _) => Some(*value),
        Operand::Neg(inner) => match **inner {
            Operand::Int(value, _) => Some(value.wrapping_neg()),
            _ => None,
        },
        _ => None,
    }
}

/// Who takes part in a barrier of the block.
fn participants(operands: &[Operand], participation: Participation) -> Threads {
    // A reduction has a destination in front and a predicate behind.
    let (at, count) = match participation {
        Participation::Reduce(_) | Participation::Count => (2, 4),
        _ => (1, 2),
    };
    match operands.len() >= count {
        true => Threads::Some(number(operands.get(at))),
        false => Threads::Block,
    }
}

/// What a fence is restricted to: its modifiers without order and scope.
fn restrictions(instruction: &Instr) -> Vec<Modifier> {
    use Modifier::{AcqRel, Acquire, Cluster, Cta, Gl, Gpu, Release, Sc, Sys};
    let plain = |m: &Modifier| {
        matches!(
            m,
            Sc | AcqRel | Acquire | Release | Cta | Cluster | Gpu | Gl | Sys
        )
    };
    let modifiers = instruction.typed.modifiers.iter().copied();
    modifiers.filter(|m| !plain(m)).collect()
}

/// Whether two barriers or two fences are of one kind, so that one can be the other's partner.
pub fn comparable(a: &Instr, b: &Instr) -> bool {
    match (Strength::of(a), Strength::of(b)) {
        (Some(a), Some(b)) => match (a.kind, b.kind) {
            // An arrival of a cluster and a wait are two halves of one barrier.
            (Kind::Barrier { .. }, Kind::Barrier { .. }) => {
                (a.threads == Threads::Cluster) == (b.threads == Threads::Cluster)
                    && (a.threads != Threads::Cluster
                        || a.order.0 & ACQUIRE.0 == b.order.0 & ACQUIRE.0)
            }
            (a, b) => a == b,
        },
        _ => false,
    }
}

/// In what `mine` is weaker than `other`: `release where B has acquire and release`; nothing where it is not, or where the two can't be
/// compared. `name` is what the side of `other` is called.
pub fn weaker(mine: &Instr, other: &Instr, name: impl fmt::Display) -> Option<String> {
    let (x, y) = (Strength::of(mine)?, Strength::of(other)?);
    let mut found = Vec::new();
    match (&x.kind, &y.kind) {
        (Kind::Barrier { waits: false }, Kind::Barrier { waits: true })
            if x.threads != Threads::Cluster =>
        {
            found.push(format!("arrives where {name} waits"));
        }
        (Kind::Barrier { .. }, Kind::Barrier { .. }) => {}
        (x, y) if x != y => return None,
        _ => {}
    }
    let volatile = |i: &Instr| is_volatile(&i.typed) && x.kind == Kind::Access;
    // What is volatile on one side and weak on the other has an effect of its own.
    if (volatile(mine) && y.order == WEAK) || (volatile(other) && x.order == WEAK) {
        return None;
    }
    if x.order.lacks(y.order) {
        found.push(format!("{} where {name} has {}", x.order, y.order));
    }
    let strong = x.order != WEAK && y.order != WEAK;
    if strong && x.threads.lacks(y.threads) {
        found.push(format!("{} where {name} has {}", x.threads, y.threads));
    }
    (!found.is_empty()).then(|| found.join(", "))
}

/// Orderings that one access has and another one lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// That of an acquire.
    pub acquire: bool,
    /// That of a release.
    pub release: bool,
}

/// What `mine` lacks of the orderings of `other`, where both are strong accesses and it lacks something.
pub fn missing(mine: &Instr, other: &Instr) -> Option<Missing> {
    let (x, y) = (Strength::of(mine)?, Strength::of(other)?);
    let accesses = x.kind == Kind::Access && y.kind == Kind::Access;
    let lacks = |bits: Order| y.order.0 & !x.order.0 & bits.0 & !RELAXED.0 != 0;
    let found = Missing {
        acquire: lacks(ACQUIRE),
        release: lacks(RELEASE),
    };
    let some = found.acquire || found.release;
    (accesses && x.order != WEAK && some && !x.threads.lacks(y.threads)).then_some(found)
}

/// Whether a fence beside an access orders what a stronger one orders itself: an acquire for a fence behind it, else a release.
pub fn orders(fence: &Instr, access: &Instr, acquire: bool) -> bool {
    let (Some(fence), Some(access)) = (Strength::of(fence), Strength::of(access)) else {
        return false;
    };
    let wanted = if acquire { ACQUIRE } else { RELEASE };
    let plain = fence.kind == Kind::Fence(FenceKind::Thread, Vec::new());
    plain && !fence.order.lacks(wanted) && !fence.threads.lacks(access.threads)
}

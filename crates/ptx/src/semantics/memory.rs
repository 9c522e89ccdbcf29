//! What instructions do to memory (PTX ISA, "Memory Consistency Model": "Operation types", "Scope", "Proxies").

use super::modifier::{AtomicOperation, Modifier, Modifiers};
use super::types::Type;

/// Kinds of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Reads into registers.
    Load,
    /// Writes from registers.
    Store,
    /// Reads and writes in one step, and gives the old value.
    ReadModifyWrite,
    /// Reads and writes in one step, and gives nothing.
    Reduction,
    /// Copies from memory to memory.
    Copy,
    /// Reads into registers or a matrix unit, at some time later.
    AsyncLoad,
    /// Copies from memory to memory, past the registers, at some time later.
    AsyncCopy,
    /// Computes with operands in memory and keeps the result in memory, at some time later.
    AsyncCompute,
    /// Reduces from memory into memory, past the registers, at some time later.
    AsyncReduction,
    /// Stores registers at some time later.
    AsyncStore,
    /// Reduces registers into memory at some time later.
    AsyncRegisterReduction,
    /// Brings data into a cache: reads nothing that anybody sees.
    Prefetch,
    /// Changes what a cache keeps, or drops data unwritten (`discard`).
    CacheControl,
}

impl Effect {
    /// Whether it reads memory for the program.
    pub fn reads(self) -> bool {
        !matches!(
            self,
            Effect::Store | Effect::AsyncStore | Effect::Prefetch | Effect::CacheControl
        )
    }

    /// Whether it writes memory.
    pub fn writes(self) -> bool {
        !matches!(
            self,
            Effect::Load | Effect::AsyncLoad | Effect::Prefetch | Effect::CacheControl
        )
    }

    /// Whether it completes at some time after the instruction.
    pub fn is_asynchronous(self) -> bool {
        use Effect::*;
        matches!(
            self,
            AsyncLoad
                | AsyncCopy
                | AsyncCompute
                | AsyncReduction
                | AsyncStore
                | AsyncRegisterReduction
        )
    }
}

/// State spaces as instructions name them ("State Spaces").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// None named: each address decides.
    Generic,
    /// `.global`
    Global,
    /// `.shared`, `.shared::cta`: of the block.
    Shared,
    /// `.shared::cluster`: of any block of the cluster.
    SharedCluster,
    /// `.local`
    Local,
    /// `.const`
    Const,
    /// `.param`, of the kernel or of a device function.
    Param,
    /// A texture or surface.
    Texture,
    /// Tensor memory (`tcgen05`).
    Tensor,
}

impl Space {
    /// The space that a modifier names.
    pub fn of(modifier: Modifier) -> Option<Space> {
        Some(match modifier {
            Modifier::Global => Space::Global,
            Modifier::Shared | Modifier::SharedCta => Space::Shared,
            Modifier::SharedCluster => Space::SharedCluster,
            Modifier::Local => Space::Local,
            Modifier::Const => Space::Const,
            Modifier::Param | Modifier::ParamEntry | Modifier::ParamFunc => Space::Param,
            _ => return None,
        })
    }

    /// Whether one thread may see there what another one does.
    pub fn is_between_threads(self) -> bool {
        matches!(
            self,
            Space::Generic
                | Space::Global
                | Space::Shared
                | Space::SharedCluster
                | Space::Texture
                | Space::Tensor
        )
    }
}

/// Memory orders of accesses and fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// `.weak`
    Weak,
    /// `.volatile`: relaxed, of system scope ("Volatile Operation").
    Volatile,
    /// `.relaxed`
    Relaxed,
    /// `.acquire`
    Acquire,
    /// `.release`
    Release,
    /// `.acq_rel`
    AcqRel,
    /// `.sc`, of fences alone.
    Sc,
}

impl Order {
    fn of(modifier: Modifier) -> Option<Order> {
        Some(match modifier {
            Modifier::Weak => Order::Weak,
            Modifier::Volatile => Order::Volatile,
            Modifier::Relaxed => Order::Relaxed,
            Modifier::Acquire => Order::Acquire,
            Modifier::Release => Order::Release,
            Modifier::AcqRel => Order::AcqRel,
            Modifier::Sc => Order::Sc,
            _ => return None,
        })
    }
}

/// Scopes ("Scope").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// `.cta`
    Cta,
    /// `.cluster`
    Cluster,
    /// `.gpu`, and `.gl` of `membar`.
    Gpu,
    /// `.sys`
    Sys,
}

impl Scope {
    fn of(modifier: Modifier) -> Option<Scope> {
        Some(match modifier {
            Modifier::Cta => Scope::Cta,
            Modifier::Cluster => Scope::Cluster,
            Modifier::Gpu | Modifier::Gl => Scope::Gpu,
            Modifier::Sys => Scope::Sys,
            _ => return None,
        })
    }
}

/// Proxies: the ways by which memory is reached ("Proxies").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proxy {
    /// Ordinary accesses.
    Generic,
    /// Bulk copies, tensor copies and tensor cores.
    Async,
    /// Textures, surfaces, constant and non-coherent reads.
    Texture,
}

impl Modifiers {
    /// The spaces that are named, in their order.
    pub fn spaces(&self) -> impl Iterator<Item = Space> + '_ {
        self.iter().filter_map(|m| Space::of(*m))
    }

    /// The order as written.
    pub fn order(&self) -> Option<Order> {
        self.iter().find_map(|m| Order::of(*m))
    }

    /// The scope as written.
    pub fn scope(&self) -> Option<Scope> {
        self.iter().find_map(|m| Scope::of(*m))
    }
}

/// What an instruction does to memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemoryEffect {
    /// What is done.
    pub effect: Effect,
    /// The space of the address; of a copy that of the destination.
    pub space: Space,
    /// Of a copy the space that is read, where it is addressed (a tensor copy's tensor is not).
    pub source: Option<Space>,
    /// The order, also where it is not written: accesses are weak, atomics relaxed.
    pub order: Order,
    /// The scope, where it is written or follows from the order.
    pub scope: Option<Scope>,
    /// `.mmio`: to be performed as it is written.
    pub mmio: bool,
    /// `.nc`, `ldu`: read through a cache that is not kept coherent.
    pub non_coherent: bool,
    /// The proxy.
    pub proxy: Proxy,
    /// What an atomic operation or reduction does.
    pub operation: Option<AtomicOperation>,
    /// Type of an element; `None` where no modifier says it.
    pub element: Option<Type>,
    /// Elements that one thread accesses.
    pub count: u8,
}

impl MemoryEffect {
    /// Bytes that one thread accesses; `None` where the modifiers don't say.
    pub fn bytes(&self) -> Option<u32> {
        Some(self.element?.bytes()? * u32::from(self.count))
    }

    pub(super) fn of(rule: Rule, modifiers: &Modifiers) -> MemoryEffect {
        let effect = rule.effect;
        let atomic = matches!(
            effect,
            Effect::ReadModifyWrite
                | Effect::Reduction
                | Effect::AsyncReduction
                | Effect::AsyncRegisterReduction
        );
        let mut spaces = modifiers.spaces();
        let space = rule
            .space
            .or_else(|| spaces.next())
            .unwrap_or(Space::Generic);
        let copies = matches!(
            effect,
            Effect::Copy | Effect::AsyncCopy | Effect::AsyncReduction
        );
        let source = spaces
            .next()
            .filter(|_| copies && !modifiers.has(Modifier::Tensor));
        let written = modifiers.scope();
        // "The .mmio qualifier indicates … a relaxed memory operation"; a scope without an order is of a strong operation.
        let strong = atomic || modifiers.has(Modifier::Mmio) || written.is_some();
        let unsaid = rule
            .order
            .unwrap_or(if strong { Order::Relaxed } else { Order::Weak });
        let order = modifiers.order().unwrap_or(unsaid);
        let scope = match order {
            Order::Volatile => Some(Scope::Sys),
            Order::Weak => written,
            // "If no scope is specified, the atomic operation is performed with .gpu scope" ("atom").
            _ if rule.order.is_some() => written.or(Some(Scope::Cta)),
            _ if atomic => written.or(Some(Scope::Gpu)),
            _ => written.or(Some(Scope::Sys)),
        };
        let element = match rule.proxy {
            // The second type of a texture fetch is that of the coordinates.
            Proxy::Texture => modifiers.types().next(),
            _ => modifiers.types().last(),
        };
        MemoryEffect {
            effect,
            space,
            source: source.or(rule.source),
            order,
            scope,
            mmio: modifiers.has(Modifier::Mmio),
            non_coherent: rule.non_coherent || modifiers.has(Modifier::Nc),
            proxy: rule.proxy,
            operation: atomic.then(|| modifiers.atomic_operation()).flatten(),
            element,
            count: modifiers.vector(),
        }
    }
}

/// How a row of the table says what it does to memory: modifiers fill in the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub effect: Effect,
    /// The space, where modifiers don't say it.
    pub space: Option<Space>,
    /// Of a copy the space that is read, where modifiers don't say it.
    pub source: Option<Space>,
    pub proxy: Proxy,
    /// The order where none is written, if it is another than of other accesses (its scope is then the block).
    pub order: Option<Order>,
    pub non_coherent: bool,
}

impl Rule {
    pub(super) const fn of(effect: Effect) -> Rule {
        Rule {
            effect,
            space: None,
            source: None,
            proxy: Proxy::Generic,
            order: None,
            non_coherent: false,
        }
    }
}

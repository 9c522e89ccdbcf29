//! Memory: undefined values that are stored, loaded, handed over, or used as addresses.

use super::super::Core;
use super::super::memory::belongs;
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::lower::def_use::atomic_class;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::state::*;
use crate::undefined::{Lanes, Undefined};

const W: RegisterClass = RegisterClass::W(32);

impl<O: Hooks> Core<'_, O> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn access(
        &mut self,
        u: &mut Undefined,
        block: &Block,
        w: usize,
        m: &MemoryOp,
        site: Site,
        active: Mask,
        guard: Lanes,
    ) {
        let wild = base_of(u, w, m.base).within(active);
        self.used(u, block, w, site, wild, Usage::Other, None);
        let full = self.address;
        let element = u64::from(m.element);
        // A store is made or not, as the guard and the branches before it say.
        let own_guard = guard;
        let guard = if m.store {
            guard.or(u.warps[w].astray().within(active))
        } else {
            guard
        };
        let reached = active | guard.mask;
        for k in 0..usize::from(m.count) {
            let value = u.of(w, m.class, m.regs[k]);
            let (mut loaded, mut shown) = (Lanes::default(), Lanes::default());
            for l in lanes_of(reached & !wild.mask) {
                let (space, at) = resolve(m.space, full[l]);
                let at = at.wrapping_add(k as u64 * element);
                if !m.store {
                    if let Some(source) = u.bytes(w, space, l, at, element) {
                        let mask = 1 << l;
                        loaded = loaded.or(Lanes { mask, source });
                    }
                    continue;
                }
                if space == Space::Local && u.warps[w].astray().mask >> l & 1 == 1 {
                    // Until the ways of the branch meet, the lane reads what it has stored.
                    let stored = value.or(own_guard).within(1 << l);
                    let source = (stored.mask != 0).then_some(stored.source);
                    for byte in at..at.saturating_add(element) {
                        u.set_byte(w, space, l, byte, source);
                        u.warps[w].undefined_after(l, byte);
                    }
                    continue;
                }
                let stored = value.or(guard).within(1 << l);
                if matches!(space, Space::Local | Space::Shared) {
                    let source = (stored.mask != 0).then_some(stored.source);
                    (at..at.saturating_add(element))
                        .for_each(|at| u.set_byte(w, space, l, at, source));
                } else {
                    shown = shown.or(stored);
                }
            }
            if m.store {
                let decided = guard.within(!value.mask & shown.mask);
                self.used(u, block, w, site, decided, Usage::Decision, None);
                let shown = shown.within(!decided.mask);
                let offset = k as u64 * element;
                let place = (shown.mask != 0).then(|| {
                    let lane = shown.mask.trailing_zeros() as usize;
                    let (space, at) = resolve(m.space, full[lane]);
                    (space, at.wrapping_add(offset), m.element.into())
                });
                self.used(u, block, w, site, shown, Usage::Store, place);
            } else {
                u.write(
                    w,
                    m.class,
                    m.regs[k],
                    active,
                    loaded.within(active).or(guard),
                );
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn update_of(
        &mut self,
        u: &mut Undefined,
        block: &Block,
        w: usize,
        a: &AtomicOp,
        site: Site,
        active: Mask,
        guard: Lanes,
    ) {
        let wild = base_of(u, w, a.base).within(active);
        self.used(u, block, w, site, wild, Usage::Other, None);
        self.used(u, block, w, site, guard, Usage::Decision, None);
        let class = atomic_class(a);
        let full = self.address;
        let element = u64::from(a.element);
        for k in 0..usize::from(a.count) {
            let operands = u.of(w, class, a.b[k]).or(u.of(w, class, a.c));
            let shown = operands.within(active & !wild.mask);
            let place = (shown.mask != 0).then(|| {
                let lane = shown.mask.trailing_zeros() as usize;
                let (space, at) = resolve(a.space, full[lane]);
                (space, at + k as u64 * element, a.element.into())
            });
            self.used(u, block, w, site, shown, Usage::Update, place);
            let mut old = Lanes::default();
            for l in lanes_of(active & !wild.mask) {
                let (space, at) = resolve(a.space, full[l]);
                let at = at.wrapping_add(k as u64 * element);
                if let Some(source) = u.bytes(w, space, l, at, element) {
                    let mask = 1 << l;
                    old = old.or(Lanes { mask, source });
                }
            }
            u.write(w, class, a.d[k], active, old);
        }
    }

    /// What is handed to a function of the driver: its arguments, and what `printf` prints.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn handed(
        &mut self,
        u: &mut Undefined,
        block: &Block,
        w: usize,
        s: usize,
        call: &SystemCall,
        site: Site,
        active: Mask,
    ) {
        let base = block.warps[w].splits[s].base;
        let mut all = Lanes::default();
        for arg in &call.args {
            match *arg {
                Carried::Register(slot, class) => all = all.or(u.of(w, class, slot).within(active)),
                Carried::Frame { offset, bytes } => {
                    let at = u64::from(base + offset);
                    all = all.or(undefined_bytes(u, w, active, |_| (at, bytes.into())));
                }
            }
        }
        if call.which == System::Vprintf {
            let lane = active.trailing_zeros() as usize;
            let conversions = self.conversions(block, w, s, call, lane);
            all = all.or(undefined_bytes(u, w, active & !all.mask, |l| {
                let buffer = self.argument(block, w, s, call, 1, l);
                let local = resolve(AddressSpace::Generic, buffer);
                match local {
                    (Space::Local, at) => (at, 8 * conversions),
                    _ => (buffer, 8 * conversions),
                }
            }));
        }
        self.used(u, block, w, site, all, Usage::Other, None);
        for result in &call.results {
            match *result {
                Carried::Register(slot, class) => {
                    u.write(w, class, slot, active, Lanes::default());
                }
                Carried::Frame { offset, bytes } => {
                    for l in lanes_of(active) {
                        let at = u64::from(base + offset);
                        (at..at + u64::from(bytes))
                            .for_each(|at| u.set_byte(w, Space::Local, l, at, None));
                    }
                }
            }
        }
    }
}

fn base_of(u: &Undefined, w: usize, base: Base) -> Lanes {
    match base {
        Base::W(slot) => u.of(w, W, slot),
        Base::D(slot) => u.of(w, RegisterClass::D, slot),
        Base::Frame | Base::Zero => Lanes::default(),
    }
}

/// The space of an address, and the offset there.
pub(super) fn resolve(space: AddressSpace, address: u64) -> (Space, u64) {
    match space {
        AddressSpace::Local => (Space::Local, address),
        AddressSpace::Shared => (Space::Shared, address),
        AddressSpace::Param => (Space::Param, address),
        AddressSpace::Generic if belongs(address, AddressSpace::Shared) => {
            (Space::Shared, address - SHARED_BASE)
        }
        AddressSpace::Generic if belongs(address, AddressSpace::Local) => {
            (Space::Local, address - LOCAL_BASE)
        }
        _ => (Space::Global, address.wrapping_sub(GLOBAL_BASE)),
    }
}

/// Lanes with an undefined byte in a range of their local memory.
fn undefined_bytes(
    u: &Undefined,
    w: usize,
    lanes: Mask,
    range: impl Fn(usize) -> (u64, u64),
) -> Lanes {
    lanes_of(lanes).fold(Lanes::default(), |all, l| {
        let (at, bytes) = range(l);
        match u.bytes(w, Space::Local, l, at, bytes) {
            Some(source) => all.or(Lanes {
                mask: 1 << l,
                source,
            }),
            None => all,
        }
    })
}

//! Calls of device functions (PTX ISA, "call" and the function call ABI).

use super::Core;
use crate::call_stack::{Frame, Saved};
use crate::hooks::Hooks;
use crate::ids::LaneId;
use crate::memory::{FUNCTION_BASE, Words};
use crate::op::*;
use crate::program::FunctionInfo;
use crate::state::*;
use crate::stop::{BadCall, Stop};
use std::sync::Arc;

/// Largest local memory of a lane, bytes (CUDA C++ Programming Guide, "Compute Capabilities").
const STACK: u32 = 512 << 10;

/// Bytes of a lane's stack that hold what a call saves, so that recursion without an end fills the stack as it does on a GPU:
/// a return address, and the registers of a function that can call itself.
fn saved_bytes(info: &FunctionInfo) -> u32 {
    let count = |class: usize| info.rows[class].1.saturating_sub(info.rows[class].0);
    match info.recursive {
        true => 16 + 4 * count(0) + 8 * count(1),
        false => 0,
    }
}

impl<O: Hooks> Core<'_, O> {
    /// Enters a function. The new program counter, or `None` when the lanes go different ways.
    pub(super) fn call(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        call: &CallOp,
    ) -> Result<Option<u32>, Stop> {
        let warp = &mut block.warps[w];
        let pc = warp.splits[s].pc;
        let mask = warp.splits[s].mask;
        let function = match call.function {
            Some(f) => f,
            None => {
                let row = row(&warp.d, self.const_d, call.pointer);
                let to = row[mask.trailing_zeros() as usize];
                let same = lanes_of(mask)
                    .filter(|l| row[*l] == to)
                    .fold(0, |m, l| m | 1 << l);
                if same != mask {
                    // The others make their own calls from the same instruction.
                    warp.fork(s, pc, same, pc, mask & !same);
                }
                let index = to.wrapping_sub(FUNCTION_BASE);
                if index >= self.program.functions.len() as u64 {
                    let why = match to {
                        0 => BadCall::Null,
                        to => BadCall::NoFunction(to),
                    };
                    return Err(self.bad_call(block, w, s, why));
                }
                index as u32
            }
        };
        let info = &self.program.functions[function as usize];
        let (base, top) = (warp.splits[s].base, warp.splits[s].top);
        let new_base = top.next_multiple_of(16);
        let new_top = new_base + info.frame + saved_bytes(info);
        if new_top > STACK {
            return Err(self.bad_call(block, w, s, BadCall::StackOverflow(STACK >> 10)));
        }
        warp.local.reserve(new_top);
        let mask = warp.splits[s].mask;
        lanes_of(mask).for_each(|l| warp.local.forget(new_base, new_top, l));
        let saved = info.recursive.then(|| Arc::new(save(warp, info)));
        carry(self, warp, mask, &call.args, base, &info.params, new_base);
        if let Some(undefined) = &mut block.poison {
            undefined.forget(w, mask, new_base, new_top);
            undefined.carry(w, mask, (&call.args, base), (&info.params, new_base));
        }
        let split = &mut warp.splits[s];
        split.frames.push(Frame {
            return_pc: pc + 1,
            function,
            base,
            top,
            call: pc,
            saved,
        });
        split.base = new_base;
        split.top = new_top;
        split.pc = info.start;
        Ok(Some(info.start))
    }

    /// Leaves a function; where to go on.
    pub(super) fn ret(&mut self, block: &mut Block, w: usize, s: usize) -> u32 {
        let warp = &mut block.warps[w];
        let Some(frame) = warp.splits[s].frames.pop() else {
            return warp.splits[s].pc;
        };
        let mask = warp.splits[s].mask;
        let info = &self.program.functions[frame.function as usize];
        let from = warp.splits[s].base;
        if let Op::Call(call) = &self.program.code[frame.call as usize].op {
            if let Some(undefined) = &mut block.poison {
                if frame.saved.is_some() {
                    undefined.restore(w, mask, info.rows);
                } else {
                    let to = (&call.results[..], frame.base);
                    undefined.carry(w, mask, (&info.results, from), to);
                }
            }
            if let Some(saved) = &frame.saved {
                // Results in registers of the function survive the restoring.
                let results = save_results(warp, info);
                restore(warp, info, saved, mask);
                carry_results(
                    self,
                    warp,
                    mask,
                    &results,
                    info,
                    from,
                    &call.results,
                    frame.base,
                );
            } else {
                carry(
                    self,
                    warp,
                    mask,
                    &info.results,
                    from,
                    &call.results,
                    frame.base,
                );
            }
        }
        let split = &mut warp.splits[s];
        split.base = frame.base;
        split.top = frame.top;
        split.pc = frame.return_pc;
        frame.return_pc
    }

    /// A call at a split's next instruction that leads nowhere.
    #[cold]
    pub(super) fn bad_call(&self, block: &Block, w: usize, s: usize, why: BadCall) -> Stop {
        let split = &block.warps[w].splits[s];
        Stop::InvalidCall {
            site: self.program.code[split.pc as usize].site,
            block: block.id,
            thread: block
                .who(w)
                .thread(LaneId(split.mask.trailing_zeros() as u8)),
            why,
        }
    }
}

fn save(warp: &Warp, info: &FunctionInfo) -> Saved {
    let [w, d, p] = info.rows.map(|(a, b)| a as usize..b as usize);
    Saved {
        w: warp.w[w].to_vec(),
        d: warp.d[d].to_vec(),
        p: warp.p[p].to_vec(),
    }
}

fn restore(warp: &mut Warp, info: &FunctionInfo, saved: &Saved, mask: u32) {
    let [w, d, p] = info.rows.map(|(a, b)| a as usize..b as usize);
    for l in lanes_of(mask) {
        warp.w[w.clone()]
            .iter_mut()
            .zip(&saved.w)
            .for_each(|(to, from)| to[l] = from[l]);
        warp.d[d.clone()]
            .iter_mut()
            .zip(&saved.d)
            .for_each(|(to, from)| to[l] = from[l]);
    }
    warp.p[p]
        .iter_mut()
        .zip(&saved.p)
        .for_each(|(to, from)| *to = *to & !mask | from & mask);
}

type RegisterResults = Vec<Option<[u64; 32]>>;

fn save_results(warp: &Warp, info: &FunctionInfo) -> RegisterResults {
    info.results
        .iter()
        .map(|c| match c {
            Carried::Register(slot, RegisterClass::W(_)) => {
                Some(warp.w[slot.0 as usize].map(u64::from))
            }
            Carried::Register(slot, RegisterClass::D) => Some(warp.d[slot.0 as usize]),
            _ => None,
        })
        .collect()
}

#[allow(clippy::too_many_arguments)]
fn carry_results<O: Hooks>(
    core: &Core<'_, O>,
    warp: &mut Warp,
    mask: u32,
    saved: &RegisterResults,
    info: &FunctionInfo,
    from: u32,
    to: &[Carried],
    base: u32,
) {
    for ((saved, source), to) in saved.iter().zip(&info.results).zip(to) {
        match (saved, to) {
            (Some(row), Carried::Register(slot, RegisterClass::W(_))) => {
                lanes_of(mask).for_each(|l| warp.w[slot.0 as usize][l] = row[l] as u32);
            }
            (Some(row), Carried::Register(slot, _)) => {
                lanes_of(mask).for_each(|l| warp.d[slot.0 as usize][l] = row[l]);
            }
            (Some(row), Carried::Frame { offset, bytes }) => {
                lanes_of(mask).for_each(|l| {
                    warp.local
                        .write(u64::from(base + offset), *bytes, l, row[l])
                });
            }
            (None, _) => carry(
                core,
                warp,
                mask,
                std::slice::from_ref(source),
                from,
                std::slice::from_ref(to),
                base,
            ),
        }
    }
}

/// Copies arguments or results, lane by lane.
fn carry<O: Hooks>(
    core: &Core<'_, O>,
    warp: &mut Warp,
    mask: u32,
    from: &[Carried],
    from_base: u32,
    to: &[Carried],
    to_base: u32,
) {
    for (from, to) in from.iter().zip(to) {
        for l in lanes_of(mask) {
            match (*from, *to) {
                (
                    Carried::Frame { offset, bytes },
                    Carried::Frame {
                        offset: place,
                        bytes: room,
                    },
                ) => {
                    for i in 0..bytes.min(room) {
                        let at = u64::from(from_base + offset + i);
                        if warp.local.is_valid(at, 1, l) {
                            let value = warp.local.read(at, 1, l);
                            warp.local
                                .write(u64::from(to_base + place + i), 1, l, value);
                        }
                    }
                }
                (Carried::Frame { offset, bytes }, Carried::Register(slot, class)) => {
                    let value = warp
                        .local
                        .read(u64::from(from_base + offset), bytes.min(8), l);
                    match class {
                        RegisterClass::W(_) => warp.w[slot.0 as usize][l] = value as u32,
                        _ => warp.d[slot.0 as usize][l] = value,
                    }
                }
                (Carried::Register(slot, class), Carried::Frame { offset, bytes }) => {
                    let value = core.register(warp, slot, class, l);
                    warp.local
                        .write(u64::from(to_base + offset), bytes.min(8), l, value);
                }
                (Carried::Register(slot, class), Carried::Register(to, to_class)) => {
                    let value = core.register(warp, slot, class, l);
                    match to_class {
                        RegisterClass::W(_) => warp.w[to.0 as usize][l] = value as u32,
                        RegisterClass::P => {
                            let p = &mut warp.p[to.0 as usize];
                            *p = *p & !(1 << l) | ((value as u32 & 1) << l);
                        }
                        _ => warp.d[to.0 as usize][l] = value,
                    }
                }
            }
        }
    }
}

impl<O: Hooks> Core<'_, O> {
    pub(super) fn register(&self, warp: &Warp, slot: Slot, class: RegisterClass, l: usize) -> u64 {
        match class {
            RegisterClass::W(_) => u64::from(row(&warp.w, self.const_w, slot)[l]),
            RegisterClass::P => u64::from(predicate(&warp.p, slot) >> l & 1),
            _ => row(&warp.d, self.const_d, slot)[l],
        }
    }
}

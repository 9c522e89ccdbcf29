//! Calls of device functions, and the ends of threads (PTX ISA, "Control Flow Instructions: call, ret, exit", "Abstracting the ABI", "alloca").
//!
//! A split has a frame in local memory for each call that it is in. Arguments and results move byte by byte between frames, or as whole registers. A
//! function that can call itself finds its registers as they were when the inner call returns.

use super::Turn;
use crate::alu::Mask;
use crate::call_stack::{Frame, Saved};
use crate::hooks::Hooks;
use crate::ids::lanes_of;
use crate::ids::*;
use crate::memory::{FUNCTION_BASE, Words};
use crate::op::*;
use crate::program::FunctionInfo;
use crate::stop::{BadCall, Stop};
use std::sync::Arc;

/// Largest local memory of a lane, bytes (CUDA C++ Programming Guide, "Compute Capabilities").
const STACK: u32 = 512 << 10;

/// What a place holds that is handed over: bytes with whether they were written, or a register.
enum Held {
    Bytes(Vec<Option<u8>>),
    Register(u64),
}

impl<O: Hooks> Turn<'_, '_, O> {
    /// "call": where the function begins.
    pub(super) fn call(&mut self, call: &CallOp) -> Result<u32, Box<Stop>> {
        let (s, pc) = (self.s, self.split().pc);
        let function = match call.function {
            Some(function) => function,
            None => self.pointed_at(call.pointer)?,
        };
        let program = self.core.program;
        let info = &program.functions[function as usize];
        let (mask, base, top) = (self.split().mask, self.split().base, self.split().top);
        let new_base = top.next_multiple_of(16);
        let new_top = new_base + info.frame + bytes_saved(info);
        if new_top > STACK {
            return Err(self.bad_call(BadCall::StackOverflow(STACK >> 10)));
        }
        let local = &mut self.warp_mut().local;
        local.reserve(new_top);
        lanes_of(mask).for_each(|l| local.forget(new_base, new_top, l));
        let saved = info.recursive.then(|| Arc::new(self.save(info)));
        for l in lanes_of(mask) {
            let held = self.held(&call.args, base, l);
            self.hand_over(held, &info.params, new_base, l);
        }
        if let Some(undefined) = &mut self.block.poison {
            undefined.forget(self.w, mask, new_base, new_top);
            undefined.carry(self.w, mask, (&call.args, base), (&info.params, new_base));
        }
        let split = &mut self.block.warps[self.w].splits[s];
        split.frames.push(Frame {
            return_pc: pc + 1,
            function,
            base,
            top,
            call: pc,
            saved,
        });
        (split.base, split.top, split.pc) = (new_base, new_top, info.start);
        Ok(info.start)
    }

    /// The function that a pointer points at. Lanes that call another one come on their own.
    fn pointed_at(&mut self, pointer: Slot) -> Result<u32, Box<Stop>> {
        let (s, pc, mask) = (self.s, self.split().pc, self.split().mask);
        let to = self.d(pointer, mask.trailing_zeros() as usize);
        let same = super::filter(mask, |l| self.d(pointer, l) == to);
        if same != mask {
            self.warp_mut().fork(s, pc, same, pc, mask & !same);
        }
        let index = to.wrapping_sub(FUNCTION_BASE);
        match to {
            _ if index < self.core.program.functions.len() as u64 => Ok(index as u32),
            0 => Err(self.bad_call(BadCall::Null)),
            to => Err(self.bad_call(BadCall::NoFunction(to))),
        }
    }

    /// "ret": where the caller goes on.
    pub(super) fn ret(&mut self) -> u32 {
        let s = self.s;
        let Some(frame) = self.split_mut().frames.pop() else {
            return self.split().pc;
        };
        let program = self.core.program;
        let info = &program.functions[frame.function as usize];
        let (mask, from) = (self.split().mask, self.split().base);
        if let Op::Call(call) = &program.code[frame.call as usize].op {
            if let Some(undefined) = &mut self.block.poison {
                match &frame.saved {
                    Some(_) => undefined.restore(self.w, mask, info.rows),
                    None => {
                        let to = (&call.results[..], frame.base);
                        undefined.carry(self.w, mask, (&info.results, from), to);
                    }
                }
            }
            for l in lanes_of(mask) {
                let held = self.held(&info.results, from, l);
                if let Some(saved) = &frame.saved {
                    self.restore(info, saved, l);
                }
                self.hand_over(held, &call.results, frame.base, l);
            }
        }
        let split = &mut self.block.warps[self.w].splits[s];
        (split.base, split.top) = (frame.base, frame.top);
        split.pc = frame.return_pc;
        frame.return_pc
    }

    /// What a lane hands over.
    fn held(&self, places: &[Carried], base: u32, l: usize) -> Vec<Held> {
        let local = &self.warp().local;
        let held = |place: &Carried| match *place {
            Carried::Register(slot, class) => Held::Register(self.register(class, slot, l)),
            Carried::Frame { offset, bytes } => {
                let at = |k: u32| u64::from(base + offset + k);
                let byte = |k| (local.is_valid(at(k), 1, l)).then(|| local.read(at(k), 1, l) as u8);
                Held::Bytes((0..bytes).map(byte).collect())
            }
        };
        places.iter().map(held).collect()
    }

    /// Puts it where a lane takes it over.
    fn hand_over(&mut self, held: Vec<Held>, places: &[Carried], base: u32, l: usize) {
        for (held, place) in held.into_iter().zip(places) {
            match (held, *place) {
                (Held::Bytes(values), Carried::Frame { offset, bytes }) => {
                    for (k, value) in values.into_iter().take(bytes as usize).enumerate() {
                        // What nobody has written stays so.
                        if let Some(value) = value {
                            let at = u64::from(base + offset) + k as u64;
                            self.warp().local.write(at, 1, l, value.into());
                        }
                    }
                }
                (Held::Bytes(values), Carried::Register(slot, class)) => {
                    let bytes = values.iter().take(8).enumerate();
                    let value = bytes.fold(0, |value, (k, byte)| {
                        value | u64::from(byte.unwrap_or_default()) << (8 * k)
                    });
                    self.set_register(class, slot, l, value);
                }
                (Held::Register(value), Carried::Frame { offset, bytes }) => {
                    for k in 0..bytes.min(8) {
                        let at = u64::from(base + offset + k);
                        (self.warp().local).write(at, 1, l, value >> (8 * k) & 0xff);
                    }
                }
                (Held::Register(value), Carried::Register(slot, class)) => {
                    self.set_register(class, slot, l, value);
                }
            }
        }
    }

    fn save(&self, info: &FunctionInfo) -> Saved {
        let warp = self.warp();
        let [w, d, p] = info.rows.map(|(first, end)| first as usize..end as usize);
        Saved {
            w: warp.w[w].to_vec(),
            d: warp.d[d].to_vec(),
            p: warp.p[p].to_vec(),
        }
    }

    /// Gives a lane's registers of a function back.
    fn restore(&mut self, info: &FunctionInfo, saved: &Saved, l: usize) {
        let [w, d, p] = info.rows.map(|(first, _)| first);
        for (slot, row) in (w..).map(Slot).zip(&saved.w) {
            self.set_w(slot, l, row[l]);
        }
        for (slot, row) in (d..).map(Slot).zip(&saved.d) {
            self.set_d(slot, l, row[l]);
        }
        for (slot, row) in (p..).map(Slot).zip(&saved.p) {
            self.set_p(slot, l, row >> l & 1 == 1);
        }
    }

    /// A call at the split's instruction that leads nowhere.
    pub(super) fn bad_call(&self, why: BadCall) -> Box<Stop> {
        let split = self.split();
        let lane = LaneId(split.mask.trailing_zeros() as u8);
        Box::new(Stop::InvalidCall {
            site: self.core.program.code[split.pc as usize].site,
            block: self.block.id,
            thread: self.who().thread(lane),
            why,
        })
    }

    /// "exit", and "ret" of a kernel: the threads of the split end. Who waits for them at a barrier or a warp operation waits no longer.
    pub(super) fn exit(&mut self, site: Site) {
        self.core.moved();
        let (s, mask) = (self.s, self.split().mask);
        let warp = self.warp_mut();
        warp.splits.swap_remove(s);
        warp.exited |= mask;
        lanes_of(mask).for_each(|l| warp.exit_site[l] = site);
        self.block.live -= mask.count_ones();
        if O::WATCHES {
            let who = self.who();
            self.core.observer.exits(who, mask, site);
        }
        (self.core).cluster_exit(self.block, self.w, mask);
        for id in 0..self.block.barriers.len() {
            self.complete_barrier(id);
        }
        self.complete_warp();
        if self.block.live == 0 {
            self.perform_rest();
        }
    }

    /// "alloca": a piece of local memory at the end of the frame, which all lanes of the split have: as large as the largest request.
    pub(super) fn alloca(&mut self, d: (Slot, bool), size: (Slot, bool), align: u32) {
        let mask: Mask = self.split().mask;
        let request = |l: usize| match size {
            (slot, true) => self.d(slot, l).min(u64::from(u32::MAX)) as u32,
            (slot, false) => self.w(slot, l),
        };
        let bytes = lanes_of(mask).map(request).max().unwrap_or(0);
        let at = self.split().top.next_multiple_of(align);
        let top = at.saturating_add(bytes).min(STACK);
        self.split_mut().top = top;
        self.warp_mut().local.reserve(top);
        for l in lanes_of(mask) {
            match d {
                (slot, true) => self.set_d(slot, l, at.into()),
                (slot, false) => self.set_w(slot, l, at),
            }
        }
    }
}

/// Bytes of a lane's stack that hold what a call saves.
fn bytes_saved(info: &FunctionInfo) -> u32 {
    let [w, d, _] = info.rows.map(|(first, end)| end.saturating_sub(first));
    match info.recursive {
        true => 16 + 4 * w + 8 * d,
        false => 0,
    }
}

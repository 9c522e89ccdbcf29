//! Bulk copies, asynchronous stores, and what arrives at mbarriers later (PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk", "st.async",
//! "red.async", "cp.async.mbarrier.arrive"). See [`crate::operations`].

use super::Core;
use super::memory::Request;
use crate::alu::{Mask, Row64};
use crate::bulk_events::{Bulk, space_of};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::mbarrier::PHASE;
use crate::memory::{FAR, GLOBAL_BASE, Words};
use crate::observer::*;
use crate::op::*;
use crate::operations::*;
use crate::state::*;
use crate::stop::{Engine, Stop};

/// What bulk copies move, and where it lies, in multiples of so many bytes.
const UNIT: u64 = 16;

impl<O: Hooks> Core<'_, O> {
    /// Begins an operation for each active lane. What may not be accessed is reported here, and not moved; the operation completes all the same.
    #[inline(never)]
    pub(super) fn bulk(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        index: u32,
        active: Mask,
        site: Site,
    ) -> Result<(), Box<Stop>> {
        let program = self.program;
        let op = &program.bulk_ops[index as usize];
        let write = &program.memory_ops[op.write as usize];
        let side = |core: &mut Self, part: &MemoryOp| -> Row64 {
            core.addresses(&block.warps[w], s, part.base, part.offset);
            match part.space {
                AddressSpace::Global => core.address.map(|at| at.wrapping_sub(GLOBAL_BASE)),
                _ => core.address,
            }
        };
        let to = side(self, write);
        let from = op
            .read
            .map(|read| side(self, &program.memory_ops[read as usize]));
        let objects = op.completes.map(|update| {
            let update = &program.atomic_ops[update as usize];
            self.addresses(&block.warps[w], s, update.base, update.offset);
            (self.address, update)
        });
        for l in lanes_of(active) {
            let (bytes, runs, reduce, read) = match (&op.tensor, from) {
                (Some(tensor), from) => {
                    let shared = match (write.space, from) {
                        (AddressSpace::Global, Some(from)) => from[l],
                        _ => to[l],
                    };
                    let copied = self.copied(block, (w, s, l), op, tensor, shared, site)?;
                    let bytes = copied.map.copied_bytes();
                    let who = block.who(w);
                    let mut runs = Vec::new();
                    if self.may_hold(block, who, l, &copied, site) {
                        runs = copied.runs(copied.map.pieces(&copied.start));
                        if !self.may_reach(block, who, l, &copied, &mut runs, site) {
                            runs.clear();
                        }
                    }
                    (bytes, runs, copied.reduce, None)
                }
                (None, from) => {
                    let (bytes, read) = match from {
                        Some(_) => (row(&block.warps[w].w, self.const_w, op.size)[l], None),
                        None => {
                            let values = self.registers(&block.warps[w], write, l);
                            (values.len() as u32, Some(values))
                        }
                    };
                    let run = Run {
                        from: Source::At(from.map_or(0, |from| from[l])),
                        to: to[l],
                        bytes,
                    };
                    let good = bytes != 0 && self.may_move(block, w, l, op, &run, site);
                    let runs = if good { vec![run] } else { Vec::new() };
                    (bytes.into(), runs, op.reduce, read)
                }
            };
            let work = Work::Runs {
                op: index,
                runs,
                reduce,
                read,
                written: false,
            };
            let completes = match (op.completes, &objects) {
                (Some(update), Some((objects, _))) => Completion::Phase {
                    objects: *objects,
                    update,
                    by: bytes,
                    copies: false,
                },
                _ => {
                    let operations = block.warps[w].operations.get_or_insert_default();
                    operations.in_group(Group::Bulk)
                }
            };
            let operation = Operation::new(site, 1 << l, work, completes);
            let to = match op.multicast {
                Slot::NONE => None,
                mask => Some(row(&block.warps[w].w, self.const_w, mask)[l]),
            };
            for operation in self.destinations(block, w, operation, to) {
                self.begin(block, w, operation);
            }
        }
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`
    #[inline(never)]
    pub(super) fn copies_arrive(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        update: u32,
        active: Mask,
        site: Site,
    ) {
        let op = &self.program.atomic_ops[update as usize];
        self.addresses(&block.warps[w], s, op.base, op.offset);
        let completes = Completion::Phase {
            objects: self.address,
            update,
            by: 1,
            copies: true,
        };
        self.begin(
            block,
            w,
            Operation::new(site, active, Work::Nothing, completes),
        );
    }

    /// Begins an operation. It is performed now if the schedule says so, or somebody waits for it already.
    fn begin(&mut self, block: &mut Block, w: usize, operation: Operation) {
        let operations = block.warps[w].operations.get_or_insert_default();
        let number = operations.next();
        if O::WATCHES
            && let Some(bulk) = Bulk::of(self.program, block.who(w), &operation)
        {
            bulk.begins(&mut self.observer, number);
        }
        let mut now = self.moment.is_now(block.id, w, number);
        if let Completion::Phase { objects, .. } = &operation.completes {
            now |= lanes_of(operation.mask)
                .any(|l| objects[l] >= FAR || is_awaited(block, objects[l]));
        }
        let operations = block.warps[w].operations.get_or_insert_default();
        if let Some(oldest) = operations.begin(operation) {
            self.complete_operation(block, w, oldest);
        }
        if !now {
            return;
        }
        let Some(operations) = &mut block.warps[w].operations else {
            return;
        };
        let Some(mut last) = operations.take_last() else {
            return;
        };
        match last.completes {
            Completion::Phase { .. } => self.complete_operation(block, w, last),
            // It is done, and nobody knows.
            Completion::Group { .. } => {
                self.move_runs(block, w, &mut last);
                if let Some(operations) = &mut block.warps[w].operations {
                    operations.put_back(last);
                }
            }
        }
    }

    /// `cp.async.bulk.wait_group{.read}`
    #[inline(never)]
    pub(super) fn wait_for_bulk(
        &mut self,
        block: &mut Block,
        w: usize,
        active: Mask,
        newest: u32,
        read: bool,
    ) {
        let who = block.who(w);
        let (warp, shared) = (&mut block.warps[w], &block.shared);
        let Some(operations) = &mut warp.operations else {
            return;
        };
        if !read {
            for operation in operations.wait(Group::Bulk, active, newest) {
                self.complete_operation(block, w, operation);
            }
            return;
        }
        let (program, arena) = (self.program, &self.device.arena);
        for operation in operations.reading(active, newest) {
            if let Work::Runs { op, runs, read, .. } = &mut operation.work
                && read.is_none()
            {
                *read = Some(match source_space(program, *op) {
                    Space::Shared => bytes_of(shared, runs),
                    _ => bytes_of(arena, runs),
                });
            }
            if O::WATCHES {
                self.observer
                    .copy_reads_end(who, operation.number, operation.mask);
            }
        }
    }

    /// Performs what completes a phase of an mbarrier that somebody asks for, the oldest operation of each warp first, until the phase is complete.
    pub(super) fn perform_at(&mut self, block: &mut Block, object: u64) {
        let phase =
            |block: &Block| super::mbarrier::word_at(block, object).map(|word| word & PHASE);
        let before = phase(block);
        for w in 0..block.warps.len() {
            while phase(block) == before
                && let Some(operations) = &mut block.warps[w].operations
                && let Some(operation) = operations.take_at(object)
            {
                self.complete_operation(block, w, operation);
            }
        }
    }

    /// The same for whichever engine runs.
    pub(super) fn complete_any(&mut self, block: &mut Block, w: usize, operation: Operation) {
        match self.engine {
            Engine::Plain => crate::plain::complete(self, block, w, operation),
            _ => self.complete_operation(block, w, operation),
        }
    }

    /// Performs an operation: somebody has waited for it, or it completes a phase.
    pub(super) fn complete_operation(
        &mut self,
        block: &mut Block,
        w: usize,
        mut operation: Operation,
    ) {
        let who = block.who(w);
        let arrives = matches!(operation.completes, Completion::Phase { .. });
        match &operation.work {
            Work::Rows(_) => self.complete(block, w, &operation, false),
            Work::Runs { .. } => {
                if O::WATCHES {
                    let (number, mask) = (operation.number, operation.mask);
                    match arrives {
                        true => self.observer.copy_arrives(who, number, mask),
                        false => self.observer.copy_ends(who, number, mask),
                    }
                }
                self.move_runs(block, w, &mut operation);
                if O::WATCHES
                    && let Some(bulk) = Bulk::of(self.program, block.who(w), &operation)
                {
                    bulk.performed(&mut self.observer);
                }
            }
            Work::Product(_) => self.complete_product(block, w, &mut operation),
            Work::Nothing => {}
        }
        let Completion::Phase {
            objects,
            update,
            by,
            copies,
        } = operation.completes
        else {
            return;
        };
        if copies {
            while let Some(operations) = &mut block.warps[w].operations
                && let Some(first) = operations.take_arrival(operation.mask, operation.number)
            {
                self.complete_operation(block, w, first);
            }
            self.complete_copies(block, w, operation.mask, operation.number);
        }
        let op = &self.program.atomic_ops[update as usize];
        if op.b[0].0 & Slot::CONST == 0 {
            let count = &mut block.warps[w].d[op.b[0].0 as usize];
            lanes_of(operation.mask).for_each(|l| count[l] = by);
        }
        self.address = objects;
        self.atomic_in(block, w, op, Space::Shared, operation.mask, operation.site);
    }

    /// All threads of a block have ended: what nobody has waited for happens some time, too.
    #[cold]
    pub(super) fn perform_rest(&mut self, block: &mut Block) {
        for w in 0..block.warps.len() {
            let Some(mut operations) = block.warps[w].operations.take() else {
                continue;
            };
            for mut operation in operations.take_rest() {
                self.move_runs(block, w, &mut operation);
            }
        }
    }

    /// Moves what an operation moves, as far as that has not been done, and tells nobody.
    fn move_runs(&mut self, block: &mut Block, w: usize, operation: &mut Operation) {
        let l = operation.mask.trailing_zeros() as usize;
        let site = operation.site;
        let Work::Runs {
            op,
            runs,
            reduce,
            read,
            written,
        } = &mut operation.work
        else {
            return;
        };
        if std::mem::replace(written, true) {
            return;
        }
        let program = self.program;
        let bulk = &program.bulk_ops[*op as usize];
        if O::WATCHES && bulk.read.is_some() {
            self.unwritten_sources(block, w, l, source_space(program, *op), runs, site);
        }
        let bytes = read
            .take()
            .unwrap_or_else(|| match source_space(program, *op) {
                Space::Shared => bytes_of(&block.shared, runs),
                _ => bytes_of(&self.device.arena, runs),
            });
        let space = space_of(program.memory_ops[bulk.write as usize].space);
        let mut from = 0;
        for run in runs.iter() {
            let bytes = &bytes[from..from + run.bytes as usize];
            from += run.bytes as usize;
            let reduce = run.combines(reduce.as_ref());
            match space {
                Space::Shared => put(&block.shared, reduce, run, bytes),
                _ => {
                    if let Some(range) = self.find_range(run.to, run.bytes.into()) {
                        self.keep(&range);
                    }
                    put(&self.device.arena, reduce, run, bytes);
                }
            }
        }
        if let Some(history) = &mut self.history {
            for (to, bytes) in destinations(runs) {
                history.tick();
                let (owner, at) = match space {
                    Space::Shared => self.geometry.owner((block.id, block.cluster), to),
                    _ => (block.id, to),
                };
                let place = (space == Space::Shared).then_some(owner);
                history.wide_access(place, at, bytes);
            }
        }
        *read = Some(bytes);
        self.moved();
    }

    /// Reports sources that nothing has written.
    fn unwritten_sources(
        &mut self,
        block: &Block,
        w: usize,
        l: usize,
        space: Space,
        runs: &[Run],
        site: Site,
    ) {
        let read = sources(runs).into_iter();
        for (at, size) in read.flat_map(|(at, bytes)| pieces(at, bytes)) {
            let written = match space {
                Space::Shared => block.shared.is_valid(at, size, l),
                _ => self.device.arena.is_valid(at, size, l),
            };
            if !written {
                self.address = [at; LANES];
                let word = Some(size.min(4));
                self.uninitialized(block, w, space, 1 << l, size, word, site);
            }
        }
    }

    /// Whether both ends of a run may be accessed; what is wrong is reported.
    fn may_move(
        &mut self,
        block: &Block,
        w: usize,
        l: usize,
        op: &BulkOp,
        run: &Run,
        site: Site,
    ) -> bool {
        let ops = &self.program.memory_ops;
        let to = (&ops[op.write as usize], run.to, true);
        let from = match (op.read, run.from) {
            (Some(read), Source::At(at)) => Some((&ops[read as usize], at, false)),
            _ => None,
        };
        let mut good = true;
        for (part, at, write) in from.into_iter().chain([to]) {
            let space = space_of(part.space);
            // "The addresses … and the size must be multiples of 16" ("cp.async.bulk"); registers go to multiples of their size.
            let unit = match op.read {
                Some(_) => UNIT,
                None => u64::from(part.element),
            };
            let end = at.wrapping_add(run.bytes.into());
            let wrong = [at, end].into_iter().find(|at| !at.is_multiple_of(unit));
            let fault = match wrong {
                Some(at) => Some((at, FaultKind::Misaligned)),
                None => self.outside(block, space, at, run.bytes, unit),
            };
            if let Some((at, kind)) = fault {
                let request = Request {
                    site,
                    who: block.who(w),
                    element: unit as u32,
                    count: 1,
                    write,
                    address: &[at; LANES],
                };
                self.report(&request, space, 1 << l, kind);
                good = false;
            }
        }
        good
    }

    /// The first piece of a range that is not there.
    pub(crate) fn outside(
        &self,
        block: &Block,
        space: Space,
        at: u64,
        bytes: u32,
        unit: u64,
    ) -> Option<(u64, FaultKind)> {
        let fault = |at: u64, size: u64| match space {
            Space::Shared => {
                let inside = block.shared.holds(at, size);
                (!inside).then_some(FaultKind::OutOfBounds)
            }
            _ => match self.find_range(at, size) {
                None => Some(FaultKind::OutOfBounds),
                Some(range) => range.freed.then_some(FaultKind::Freed),
            },
        };
        fault(at, bytes.into())?;
        let mut each = (0..u64::from(bytes)).step_by(unit as usize);
        each.find_map(|k| Some((at.wrapping_add(k), fault(at.wrapping_add(k), unit)?)))
    }

    /// The bytes that a lane's registers store.
    fn registers(&self, warp: &Warp, op: &MemoryOp, l: usize) -> Vec<u8> {
        let slots = &op.regs[..usize::from(op.count)];
        let value = |slot: &Slot| match op.class {
            RegisterClass::D => row(&warp.d, self.const_d, *slot)[l],
            _ => u64::from(row(&warp.w, self.const_w, *slot)[l]),
        };
        let bytes = |slot| {
            value(slot)
                .to_le_bytes()
                .into_iter()
                .take(op.element.into())
        };
        slots.iter().flat_map(bytes).collect()
    }
}

/// Whether lanes of a block wait for a phase of this mbarrier.
pub(crate) fn is_awaited(block: &Block, object: u64) -> bool {
    let splits = block.warps.iter().flat_map(|warp| &warp.splits);
    let waits = |split: &Split| matches!(split.state, State::Phase(p) if p.object == object);
    splits.into_iter().any(waits)
}

/// The space that a bulk operation reads.
fn source_space(program: &crate::Program, op: u32) -> Space {
    let read = program.bulk_ops[op as usize].read;
    read.map_or(Space::Shared, |read| {
        space_of(program.memory_ops[read as usize].space)
    })
}

/// The bytes of runs' sources, one after the other.
fn bytes_of<S: Words>(memory: &S, runs: &[Run]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(total(runs));
    for run in runs {
        match run.from {
            Source::At(from) => read(memory, from, run.bytes, &mut bytes),
            Source::Fill(pattern) => {
                let pattern = pattern.to_le_bytes().into_iter().cycle();
                bytes.extend(pattern.take(run.bytes as usize));
            }
        }
    }
    bytes
}

fn read<S: Words>(memory: &S, from: u64, bytes: u32, to: &mut Vec<u8>) {
    for (at, size) in pieces(from, bytes) {
        let mut left = size;
        while left > 0 {
            let part = left.min(8);
            let number = memory.read(at + u64::from(size - left), part, 0);
            to.extend_from_slice(&number.to_le_bytes()[..part as usize]);
            left -= part;
        }
    }
}

/// Writes a run's bytes, or reduces with them.
fn put<S: Words>(memory: &S, reduction: Option<&Reduction>, run: &Run, bytes: &[u8]) {
    let mut new = Vec::with_capacity(bytes.len());
    match reduction {
        Some(_) => read(memory, run.to, run.bytes, &mut new),
        None => new.resize(bytes.len(), 0),
    }
    reduce(reduction, &mut new, bytes);
    for (at, size) in pieces(run.to, run.bytes) {
        let from = (at - run.to) as usize;
        for part in (0..size as usize).step_by(8) {
            let take = (size as usize - part).min(8);
            let mut number = [0; 8];
            number[..take].copy_from_slice(&new[from + part..from + part + take]);
            memory.write(at + part as u64, take as u32, 0, u64::from_le_bytes(number));
        }
    }
}

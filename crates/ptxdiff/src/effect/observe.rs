//! Finds all effects of two functions: first what accounts for many instructions at once, then what moved, then single accesses and
//! operations. What an earlier step has explained, later ones leave out.

use super::view::{Alike, View, alike};
use super::*;
use crate::class::Space;
use crate::code::value::Values;
use crate::code::{Code, Place, Root};
use crate::compare::Matching;
use crate::cover::Cover;
use crate::loops::Loops;
use crate::proof::Prover;
use ptx::ast::Module;
use std::collections::HashSet;
use std::rc::Rc;

const SIDES: [Side; 2] = [Side::A, Side::B];

/// What has been found so far, and what it explains.
struct Observer<'o> {
    code: [&'o Code<'o>; 2],
    modules: [&'o Module; 2],
    matching: &'o Matching,
    values: &'o Values,
    alike: [Alike; 2],
    loops: Rc<Loops>,
    /// As in [`View`].
    unclear: [Vec<bool>; 2],
    explained: [Vec<bool>; 2],
    cover: Rc<Cover>,
    prover: Prover<'o>,
    regrouped: [HashSet<usize>; 2],
    crossed: HashSet<usize>,
    named: [HashSet<usize>; 2],
    found: Vec<Observed>,
}

/// All effects of two functions.
pub(crate) fn observe(
    a: (&Code, &Module),
    b: (&Code, &Module),
    matching: &Matching,
    values: &Values,
) -> Vec<Observed> {
    let mut observer = Observer::new(a, b, matching, values);
    observer.unrelated();
    if observer.found.is_empty() {
        observer.whole();
        observer.places();
        observer.movement();
        SIDES.into_iter().for_each(|side| observer.accesses(side));
        SIDES.into_iter().for_each(|side| observer.operations(side));
        observer.kept();
    }
    let mut found = observer.found;
    found.sort_by_key(|observed| (observed.effect, observed.side));
    found
}

impl<'o> Observer<'o> {
    fn new(
        a: (&'o Code<'o>, &'o Module),
        b: (&'o Code<'o>, &'o Module),
        matching: &'o Matching,
        values: &'o Values,
    ) -> Observer<'o> {
        let code = [a.0, b.0];
        let (loops, cover) = (Rc::new(Loops::of(a, b)), Rc::new(Cover::default()));
        let unclear = [0, 1].map(|side: usize| {
            let all = 0..code[side].instructions.len();
            all.map(|index| loops.is_explained(code[side], side, index))
                .collect::<Vec<bool>>()
        });
        Observer {
            code,
            modules: [a.1, b.1],
            matching,
            values,
            alike: code.map(alike),
            prover: Prover::new(code, [a.1, b.1], matching, values, (&cover, &loops)),
            loops,
            unclear,
            explained: code.map(|c| vec![false; c.instructions.len()]),
            cover,
            regrouped: Default::default(),
            crossed: HashSet::new(),
            named: Default::default(),
            found: Vec::new(),
        }
    }

    /// The functions, seen from a side.
    fn view(&self, side: Side) -> View<'_> {
        let (mine, other) = (side as usize, side.other() as usize);
        View {
            side,
            mine: self.code[mine],
            other: self.code[other],
            other_module: self.modules[other],
            my_module: self.modules[mine],
            matching: self.matching,
            values: self.values,
            explained: &self.explained[other],
            alike: &self.alike[other],
            cover: &self.cover,
            loops: &self.loops,
            unclear: &self.unclear,
            regrouped: &self.regrouped,
            crossed: &self.crossed,
            named: &self.named,
            prover: &self.prover,
        }
    }

    fn add(&mut self, effect: Effect, side: Option<Side>, occurrences: Vec<Occurrence>) {
        if !occurrences.is_empty() {
            self.found.push(Observed {
                effect,
                side,
                occurrences,
            });
        }
    }

    /// Adds what each detector sees from a side.
    fn each(&mut self, side: Side, detectors: &[(Effect, fn(&View) -> Vec<Occurrence>)]) {
        for (effect, find) in detectors {
            let occurrences = find(&self.view(side));
            self.add(*effect, Some(side), occurrences);
        }
    }

    fn unrelated(&mut self) {
        let occurrences = unrelated::find(&self.view(Side::A));
        self.add(Effect::Unrelated, None, occurrences);
    }

    /// What accounts for many instructions at once: loops, functions, fences that stand for orderings of accesses.
    fn whole(&mut self) {
        let mut explanations: Vec<(Side, Vec<usize>)> = Vec::new();
        for side in SIDES {
            self.each(
                side,
                &[
                    (Effect::LoopUnrolled, loop_unrolled::find),
                    (Effect::LoopSplit, loop_split::find),
                    (Effect::LoopUnswitched, loop_unswitched::find),
                ],
            );
            let pipelined = loop_pipelined::find(&self.view(side));
            let prologues = pipelined.iter().flat_map(|o| o.of(side));
            explanations.push((side, prologues.copied().collect()));
            self.add(Effect::LoopPipelined, Some(side), pipelined);
            let (occurrences, bodies) = call_inlined::find(&self.view(side));
            self.add(Effect::CallInlined, Some(side), occurrences);
            explanations.push((side, bodies));
            let fences = fence_regrouped::find(&self.view(side));
            for o in &fences {
                self.regrouped[0].extend(&o.a);
                self.regrouped[1].extend(&o.b);
            }
            self.add(Effect::FenceRegrouped, Some(side), fences);
        }
        for side in [0, 1] {
            let partners = [&self.matching.of_a, &self.matching.of_b][side];
            let unclear = self.unclear[side].iter().enumerate();
            let copies = unclear.filter(|(index, unclear)| **unclear && partners[*index].is_none());
            let copies: Vec<usize> = copies.map(|(index, _)| index).collect();
            for index in copies.iter().chain(&self.regrouped[side]) {
                self.explained[side][*index] = true;
            }
        }
        for (side, indices) in explanations {
            let own = &mut self.explained[side as usize];
            indices.into_iter().for_each(|index| own[index] = true);
        }
    }

    /// Which accesses touch the same bytes, and which are of local and constant memory on one side alone.
    fn places(&mut self) {
        let explained = [&self.explained[0][..], &self.explained[1][..]];
        self.cover = Rc::new(Cover::of(self.code, self.matching, self.values, explained));
        self.prover = Prover::new(
            self.code,
            self.modules,
            self.matching,
            self.values,
            (&self.cover, &self.loops),
        );
        for side in SIDES {
            let local = values_in_local_memory::find(&self.view(side));
            let constant = moved_to_constant_memory::find(&self.view(side));
            for o in local.iter().chain(&constant) {
                self.named[0].extend(&o.a);
                self.named[1].extend(&o.b);
            }
            // What is reached by a pointer there may be of local memory as well.
            if !local.is_empty() {
                let own = self.code[side as usize].instructions.iter().enumerate();
                let by_pointer = own.filter(|(_, i)| {
                    let unknown = |p: Place| p.space == Space::Generic && p.root == Root::Unknown;
                    i.place.is_some_and(unknown)
                });
                let by_pointer: Vec<usize> = by_pointer.map(|(index, _)| index).collect();
                self.named[side as usize].extend(by_pointer);
            }
            self.add(Effect::ValuesInLocalMemory, Some(side), local);
            self.add(Effect::MovedToConstantMemory, Some(side), constant);
        }
    }

    /// What moved, and what it moved across.
    fn movement(&mut self) {
        let before = self.found.len();
        for side in SIDES {
            self.each(
                side,
                &[
                    (Effect::LoadMoved, load_moved::find),
                    (Effect::StoreMoved, store_moved::find),
                    (Effect::BarrierMoved, barrier_moved::find),
                ],
            );
        }
        let renumbered = barrier_renumbered::find(&self.view(Side::A));
        self.add(Effect::BarrierRenumbered, None, renumbered);
        let moved = self.found[before..].iter().flat_map(|o| &o.occurrences);
        let crossed: Vec<usize> = moved.flat_map(|o| o.a.iter().copied()).collect();
        let reordered = accesses_reordered::find(&self.view(Side::A));
        self.add(Effect::AccessesReordered, None, reordered);
        self.crossed.extend(crossed);
    }

    /// What a side does not do, and the shape of the accesses that it does.
    fn accesses(&mut self, side: Side) {
        let more = does_more::find(&self.view(side.other()));
        if more.is_empty() {
            let loads = load_elided::find(&self.view(side));
            let kept = value_kept::find(&self.view(side), &loads);
            self.add(Effect::ValueKept, Some(side), kept);
            self.add(Effect::LoadElided, Some(side), loads);
            self.each(
                side,
                &[
                    (Effect::StoreElided, store_elided::find),
                    (Effect::AtomicElided, atomic_elided::find),
                    (Effect::BarrierLost, barrier_lost::find),
                    (Effect::FenceLost, fence_lost::find),
                ],
            );
        } else {
            self.add(Effect::DoesMore, Some(side.other()), more);
        }
        self.each(
            side,
            &[
                (Effect::AccessesVectorised, accesses_vectorised::find),
                (Effect::AccessesMerged, accesses_merged::find),
                (Effect::AccessMadeAtomic, access_made_atomic::find),
                (Effect::CopyMadeAsynchronous, copy_made_asynchronous::find),
                (
                    Effect::SynchronisationWeakened,
                    synchronisation_weakened::find,
                ),
                (Effect::LoadHoisted, load_hoisted::find),
                (Effect::StoreSunk, store_sunk::find),
                (Effect::LoadMadeReadOnly, load_made_read_only::find),
                (Effect::TailsMerged, tails_merged::find),
                (Effect::AtomicsAggregated, atomics_aggregated::find),
                (Effect::AtomicToReduction, atomic_to_reduction::find),
                (Effect::VolatileDropped, volatile_dropped::find),
            ],
        );
    }

    /// How a side computes.
    fn operations(&mut self, side: Side) {
        self.each(
            side,
            &[
                (Effect::BranchToSelection, branch_to_selection::find),
                (Effect::StrengthReduced, strength_reduced::find),
                (Effect::OperationChanged, operation_changed::find),
                (Effect::Contracted, contracted::find),
                (Effect::Approximated, approximated::find),
                (Effect::DenormalsFlushed, denormals_flushed::find),
            ],
        );
    }

    /// What both sides share.
    fn kept(&mut self) {
        for (effect, find) in [
            (
                Effect::BarrierKept,
                barrier_kept::find as fn(&View) -> Vec<Occurrence>,
            ),
            (Effect::FenceKept, fence_kept::find),
            (Effect::VolatileKept, volatile_kept::find),
        ] {
            let occurrences = find(&self.view(Side::A));
            self.add(effect, None, occurrences);
        }
    }
}

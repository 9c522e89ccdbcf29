//! Runs a plan on a GPU: the one file of the catalogue that knows this backend.

use super::arguments::{self, Encoded};
use super::compare::{Left, compared};
use super::load::Catalog;
use super::machine::{MachineError, PrepareError, Prepared};
use super::oracle::Elements;
use super::pinned::{Pin, TARGETS};
use super::plan::{Plan, PlanError};
use crate::device::job::{Buffer, Done, Job, Launch, Param, Step};
use crate::simt::Dim3;
use std::collections::BTreeMap;

/// A plan that can't be made a job. These are mistakes of the case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JobError {
    /// An argument.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// What is compared.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// The pinned PTX of a case for a GPU: that of the newest target that it can run (code for an architecture runs on later ones
/// too: PTX ISA, "`.target`").
pub fn ptx<'c>(
    catalog: &'c Catalog,
    prepared: &Prepared<'_>,
    compute_capability: (u32, u32),
) -> Result<&'c str, PrepareError> {
    let (major, minor) = compute_capability;
    let number = |target: &str| target.trim_start_matches("sm_").parse().unwrap_or(u32::MAX);
    let target = TARGETS
        .iter()
        .filter(|target| number(target) <= major * 10 + minor)
        .max_by_key(|target| number(target))
        .unwrap_or(&TARGETS[0]);
    let file = Pin::new(&prepared.entry.case, target).ptx;
    catalog.tree.text(&file).ok_or(PrepareError::NoPtx { file })
}

/// A plan as a job: its launches on one stream, and back come the buffers that the oracle speaks of.
pub fn job(prepared: &Prepared<'_>, plan: &Plan, ptx: &str) -> Result<Job, JobError> {
    let mut buffers: Vec<_> = plan
        .buffers
        .iter()
        .map(|planned| Buffer {
            bytes: planned.length * planned.element.bytes() as u64,
            data: planned
                .data
                .as_ref()
                .map(|data| data.to_bytes(planned.element).into()),
            read_bytes: None,
        })
        .collect();
    let mut read = Vec::new();
    for (_, _, buffer, elements) in compared(&prepared.entry.case, plan)? {
        let bytes = elements * plan.buffers[buffer].element.bytes() as u64;
        let known = buffers[buffer].read_bytes.unwrap_or(0);
        buffers[buffer].read_bytes = Some(bytes.max(known));
        if !read.contains(&buffer) {
            read.push(buffer);
        }
    }
    let mut steps = Vec::new();
    for planned in &plan.launches {
        let program = prepared.program(planned)?;
        let params = arguments::encode(planned, &program.params)?;
        steps.push(Step::Launch(Launch {
            entry: program.entry.clone(),
            grid: extent(planned.grid),
            block: extent(planned.block),
            shared: planned.shared,
            params: params.into_iter().map(param).collect(),
            cooperative: planned.cooperative,
            stream: 0,
        }));
    }
    Ok(Job {
        ptx: ptx.to_owned(),
        buffers,
        steps,
        read,
        ..Job::default()
    })
}

fn extent(dim: Dim3) -> [u32; 3] {
    [dim.x, dim.y, dim.z]
}

fn param(encoded: Encoded) -> Param {
    match encoded {
        Encoded::Address(buffer) => Param::Buffer(buffer),
        Encoded::Bytes(bytes) => Param::Bytes(bytes.into()),
    }
}

/// What a job of a plan left behind.
#[derive(Clone, Debug)]
pub struct GpuRan {
    buffers: BTreeMap<usize, Vec<u8>>,
    printed: String,
}

impl GpuRan {
    /// The answer to that job.
    pub fn new(job: &Job, done: Done) -> GpuRan {
        let bytes = done.buffers.into_iter().map(|b| b.0);
        GpuRan {
            buffers: job.read.iter().copied().zip(bytes).collect(),
            printed: done.printed,
        }
    }
}

impl Left for GpuRan {
    fn result(&self, plan: &Plan, buffer: usize) -> Result<(Elements, Vec<bool>), MachineError> {
        let none = Vec::new();
        let bytes = self.buffers.get(&buffer).unwrap_or(&none);
        let elements = Elements::from_bytes(plan.buffers[buffer].element, bytes);
        // A GPU does not keep account of what was written; initcheck does.
        let written = vec![true; elements.len()];
        Ok((elements, written))
    }

    fn printed(&self) -> &str {
        &self.printed
    }
}

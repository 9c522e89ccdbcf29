//! Runs a plan on a GPU. Only this file of the catalogue knows this backend.

use super::arguments::{self, Encoded};
use super::compare::{RunResults, compared};
use super::entry::Catalog;
use super::host::Memory;
use super::oracle::Elements;
use super::pinned::Pin;
use super::plan::{Does, Plan, PlanError, PlannedCopy, PlannedStep};
use super::simulate::{PrepareError, Prepared, SimulateError};

use device::job::{Buffer, Done, Job, Launch, Param, Place, Step, StreamKind};
use simt::Dim3;
use std::collections::BTreeMap;

/// A plan that can't be made a job. These are mistakes of the case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JobError {
    /// An argument.
    #[error(transparent)]
    Machine(#[from] SimulateError),
    /// What is compared.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A tensor map.
    #[error("`{tensor}` is a tensor map, which cases have on the simulator alone")]
    Tensor {
        /// The tensor.
        tensor: String,
    },
    /// Unified memory.
    #[error("`{buffer}` is unified memory, which runs only on the simulator")]
    Managed {
        /// The buffer.
        buffer: String,
    },
}

/// The pinned PTX of a case for a GPU: that of the newest target that it can run.
///
/// # Errors
///
/// PTX that is not there, or a case that has none for such a GPU.
pub fn ptx<'c>(
    catalog: &'c Catalog,
    prepared: &Prepared<'_>,
    compute_capability: (u32, u32),
) -> Result<&'c str, PrepareError> {
    let case = &prepared.entry.case;
    let target = case.target_on(compute_capability);
    let target = target.ok_or_else(|| PrepareError::OtherGpu {
        targets: case.target_names().collect::<Vec<_>>().join(", "),
        capability: compute_capability,
    })?;
    let file = Pin::new(case, target).ptx;
    catalog.tree.text(&file).ok_or(PrepareError::NoPtx { file })
}

/// A plan as a job; back come the buffers that the oracle speaks of.
pub fn job(prepared: &Prepared<'_>, plan: &Plan, ptx: &str) -> Result<Job, JobError> {
    let mut job = Job {
        ptx: ptx.to_owned(),
        ..Job::default()
    };
    if let Some(tensor) = plan.tensors.first() {
        let tensor = tensor.name.clone();
        return Err(JobError::Tensor { tensor });
    }
    let mut homes = Vec::new();
    for planned in &plan.buffers {
        if planned.memory == Memory::Managed {
            let buffer = planned.name.clone();
            return Err(JobError::Managed { buffer });
        }
        let buffer = Buffer {
            bytes: planned.length * planned.element.bytes() as u64,
            data: planned
                .data
                .as_ref()
                .map(|data| data.to_bytes(planned.element).into()),
            read_bytes: None,
            symbol: planned.symbol.clone(),
        };
        let (home, all) = match planned.memory.is_of_host() {
            true => (Home::Host as fn(usize) -> Home, &mut job.host),
            false => (Home::Device as fn(usize) -> Home, &mut job.buffers),
        };
        homes.push(home(all.len()));
        all.push(buffer);
    }
    for (_, _, buffer, elements) in compared(&prepared.entry.case, plan)? {
        let bytes = elements * plan.buffers[buffer].element.bytes() as u64;
        let (all, read, index) = match homes[buffer] {
            Home::Device(index) => (&mut job.buffers, &mut job.read, index),
            Home::Host(index) => (&mut job.host, &mut job.read_host, index),
        };
        let known = all[index].read_bytes.unwrap_or(0);
        all[index].read_bytes = Some(bytes.max(known));
        if !read.contains(&index) {
            read.push(index);
        }
    }
    let kinds = plan.streams.iter().enumerate();
    job.streams = kinds
        .filter_map(|(stream, kind)| match kind {
            session::StreamKind::NonBlocking => None,
            session::StreamKind::Blocking => Some((stream, StreamKind::Blocking)),
            session::StreamKind::Legacy => Some((stream, StreamKind::Legacy)),
        })
        .collect();
    for planned in &plan.steps {
        job.steps.push(step(prepared, planned, &homes)?);
    }
    Ok(job)
}

/// Where a buffer of a plan is in a job.
#[derive(Clone, Copy, Debug)]
enum Home {
    Device(usize),
    Host(usize),
}

fn step(
    prepared: &Prepared<'_>,
    planned: &PlannedStep,
    homes: &[Home],
) -> Result<Step, SimulateError> {
    let place = |buffer: usize, offset: u64| match homes[buffer] {
        Home::Device(index) => Place::Buffer { index, offset },
        Home::Host(index) => Place::Host { index, offset },
    };
    let ends = |copy: &PlannedCopy| {
        let from = place(copy.from, copy.from_offset);
        (from, place(copy.to, copy.to_offset), copy.bytes)
    };
    Ok(match &planned.does {
        Does::Launch(launch) => {
            let program = prepared.program(launch)?;
            let params = arguments::encode(launch, &program.params)?;
            let param = |encoded: Encoded| match encoded {
                Encoded::Address(buffer) => match homes[buffer] {
                    Home::Device(index) => Param::Buffer(index),
                    Home::Host(index) => Param::Host(index),
                },
                // Such a plan has made no job.
                Encoded::Tensor(_) => Param::Bytes(Vec::new().into()),
                Encoded::Bytes(bytes) => Param::Bytes(bytes.into()),
            };
            Step::Launch(Launch {
                entry: program.entry.clone(),
                grid: extent(launch.grid),
                block: extent(launch.block),
                shared: launch.shared,
                params: params.into_iter().map(param).collect(),
                cooperative: launch.cooperative,
                cluster: launch.cluster.map(extent),
                dependent: launch.dependent,
                stream: launch.stream,
            })
        }
        Does::Copy { copy, stream } => {
            let (from, to, bytes) = ends(copy);
            let stream = *stream;
            Step::Copy {
                from,
                to,
                bytes,
                stream,
            }
        }
        Does::Host(copy) => {
            let (from, to, bytes) = ends(copy);
            Step::Host { from, to, bytes }
        }
        Does::Record { event, stream } => Step::Record {
            event: *event,
            stream: *stream,
        },
        Does::Wait { event, stream } => Step::Wait {
            event: *event,
            stream: *stream,
        },
        Does::Synchronize { stream } => Step::Synchronize { stream: *stream },
    })
}

fn extent(dim: Dim3) -> [u32; 3] {
    [dim.x, dim.y, dim.z]
}

/// What a job of a plan left behind.
#[derive(Clone, Debug)]
pub struct GpuRan {
    /// What came back of a plan's buffers, by their index.
    buffers: BTreeMap<usize, Vec<u8>>,
    printed: String,
}

impl GpuRan {
    /// The answer to the job of a plan.
    pub fn new(plan: &Plan, job: &Job, done: Done) -> GpuRan {
        let (mut device, mut host) = (0.., 0..);
        let homes = plan.buffers.iter().map(|b| match b.memory.is_of_host() {
            true => (&job.read_host, &done.host, host.next()),
            false => (&job.read, &done.buffers, device.next()),
        });
        let came_back = homes
            .enumerate()
            .filter_map(|(buffer, (read, came, index))| {
                let at = read.iter().position(|i| Some(*i) == index)?;
                Some((buffer, came.get(at)?.0.clone()))
            });
        GpuRan {
            buffers: came_back.collect(),
            printed: done.printed,
        }
    }
}

impl RunResults for GpuRan {
    fn result(&self, plan: &Plan, buffer: usize) -> Result<(Elements, Vec<bool>), SimulateError> {
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

//! What a launch needs before its first block runs.

use super::Launch;
use crate::alu::{Row32, Row64};
use crate::device::Device;
use crate::device::WORKSPACE;
use crate::exec::Range;
use crate::ids::*;
use crate::memory::*;
use crate::observer::LaunchShape;
use crate::op::{ImageKind, Op};
use crate::program::Program;
use crate::state::*;
use crate::stop::Stop;
use crate::texture::Image;
use std::sync::Arc;

/// The launch's geometry, and what its code finds in memory.
#[derive(Debug)]
pub(super) struct Prepared {
    pub geometry: Geometry,
    /// The program's constants, with the addresses of variables.
    pub const_d: Vec<Row64>,
    /// The allocations, in the order of their addresses.
    pub ranges: Vec<Range>,
}

impl Prepared {
    /// Loads the program, and makes room for what the launch needs.
    pub fn new(device: &mut Device, program: &Program, launch: &Launch) -> Result<Prepared, Stop> {
        let geometry = geometry(device, program, launch)?;
        let mut const_d = program.const_d.clone();
        for r in &program.relocations {
            let address = device
                .variable_of(program.module, &program.globals[r.symbol].name)
                .unwrap_or(0);
            const_d[r.row] = [address.wrapping_add_signed(r.addend); LANES];
        }
        Ok(Prepared {
            geometry,
            const_d,
            ranges: ranges(device),
        })
    }

    /// What observers are told of the launch.
    pub fn shape(&self, device: &Device, program: &Program, launch: &Launch) -> LaunchShape {
        LaunchShape {
            grid: launch.grid,
            block: launch.block,
            cluster: self.geometry.cluster,
            shared_bytes: self.geometry.shared_bytes,
            reserved_shared: program.reserved_shared.clone(),
            global_bytes: device.arena_bytes(),
            shared_granule: program.facts.shared_granule,
            global_granule: program.facts.global_granule,
            strong_shared: program.facts.strong_shared,
            strong_global: program.facts.strong_global,
            non_coherent: program.facts.non_coherent,
            async_copies: program.facts.async_copies,
            async_proxy: program.facts.async_proxy,
            unwritten: unwritten(device, program),
            launch: launch.number,
            fine_sync: program.facts.fine_sync,
            control_only: program.facts.control_only.clone(),
            hands_on: program.facts.hands_on.clone(),
            effects: program.facts.effects.clone(),
            stale_values: false,
            polls: program.facts.polls,
        }
    }

    /// Bytes of state that a resident block takes.
    pub fn state_bytes(&self, program: &Program) -> u64 {
        let geometry = &self.geometry;
        let rows = program.rows_w * size_of::<Row32>()
            + program.rows_d * size_of::<Row64>()
            + program.preds * 4;
        let local = program.functions[0].frame as usize * LANES * 5 / 4;
        (rows + local + 512) as u64 * geometry.tids.len() as u64
            + u64::from(geometry.shared_bytes) * 2
            + 1024
    }
}

/// Where accesses may go.
pub(super) fn ranges(device: &Device) -> Vec<Range> {
    let all = device.allocations().iter();
    // Nobody's memory: what only keeps others apart has never been anything to free.
    let known = all.filter(|a| !(a.freed && a.name == crate::memory::GAP_NAME));
    known
        .map(|a| Range {
            start: a.offset,
            end: a.offset + a.bytes,
            freed: a.freed,
        })
        .collect()
}

/// Arrays that textures read, where the program stores to no surface.
fn unwritten(device: &Device, program: &Program) -> Arc<[std::ops::Range<u64>]> {
    let mut images = program.image_ops.iter();
    if program.image_ops.is_empty() || images.any(|i| i.kind == ImageKind::Store) {
        return Arc::default();
    }
    let textures = device.images.textures.values();
    let arrays = textures.map(|t| &t.image).filter(|image| image.array);
    let mut ranges: Vec<_> = arrays.map(Image::bytes).collect();
    ranges.sort_by_key(|r| (r.start, r.end));
    ranges.dedup();
    ranges.into()
}

fn geometry(device: &mut Device, program: &Program, launch: &Launch) -> Result<Geometry, Stop> {
    let full = |e: MemoryError| Stop::OutOfMemory(e.to_string());
    device.load(program).map_err(full)?;
    let mallocs = program
        .code
        .iter()
        .any(|i| matches!(&i.op, Op::System(c) if c.which.uses_heap()));
    if mallocs {
        device.reserve_heap().map_err(full)?;
    }
    let workspace = if launch.cooperative {
        // The grid's barrier lives in memory that the driver provides, zeroed.
        const NAME: &str = WORKSPACE;
        let known = device
            .allocations()
            .iter()
            .find(|a| a.name == NAME)
            .map(Allocation::address);
        let address = match known {
            Some(address) => address,
            None => device.alloc(256, NAME).map_err(full)?,
        };
        device.write(address, &[0; 256]).map_err(full)?;
        Some(address - GLOBAL_BASE)
    } else {
        None
    };
    let block = launch.block;
    let warps = block.count().div_ceil(LANES as u64) as u32;
    let tids = (0..warps)
        .map(|w| {
            let coordinate = |axis: usize| {
                std::array::from_fn(|l| block.coordinates(w * LANES as u32 + l as u32)[axis])
            };
            [coordinate(0), coordinate(1), coordinate(2)]
        })
        .collect();
    Ok(Geometry {
        grid: launch.grid,
        block,
        dynamic_shared: launch.dynamic_shared,
        shared_bytes: program.shared_bytes + launch.dynamic_shared,
        params: Params::new(&launch.params),
        tids,
        workspace,
        cluster: cluster_of(program, launch).unwrap_or(Dim3::ONE),
        clustered: is_clustered(program, launch),
        explicit_cluster: cluster_of(program, launch).is_some(),
    })
}

/// The blocks of a cluster, where the launch or the kernel says.
pub(super) fn cluster_of(program: &Program, launch: &Launch) -> Option<Dim3> {
    let required = program.required_cluster.map(|[x, y, z]| Dim3 { x, y, z });
    launch.cluster.or(required)
}

/// Whether blocks of a cluster have something to do with each other: there are several, or they meet at its barrier.
pub(super) fn is_clustered(program: &Program, launch: &Launch) -> bool {
    cluster_of(program, launch).is_some_and(|size| size.count() > 1)
        || (program.code.iter())
            .any(|i| matches!(i.op, Op::ClusterArrive { .. } | Op::ClusterWait { .. }))
}

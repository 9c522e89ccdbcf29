//! What a kernel does when it runs: how often each byte is accessed, which bytes each line of its PTX accesses, and its barriers and fences.

use super::{ELEMENTS, THREADS};
use ptxdiff::Unit;
use simt::ids::{Mask, Site};
use simt::observer::*;
use simt::{Device, Dim3, Launch, Limits, Program, ScheduleSpec};
use std::collections::{HashMap, HashSet};

/// A byte, and whether it is written.
pub type Byte = (Space, u64, bool);

/// What one access touched: its first byte, how many bytes, and whether it wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Touched {
    pub space: Space,
    pub address: u64,
    pub width: u32,
    pub write: bool,
}

impl Touched {
    pub fn bytes(self) -> impl Iterator<Item = Byte> {
        (0..u64::from(self.width)).map(move |at| (self.space, self.address + at, self.write))
    }
}

/// What ran.
#[derive(Default)]
pub struct Counts {
    /// How often each byte was read and written.
    pub bytes: HashMap<Byte, u64>,
    /// What each line of the PTX accessed.
    pub touched: HashMap<u32, HashSet<Touched>>,
    /// Barriers of the block that were completed.
    pub barriers: u64,
    /// Fences that threads came to.
    pub fences: u64,
}

/// The same by site.
#[derive(Default)]
struct Watcher {
    bytes: HashMap<Byte, u64>,
    touched: HashMap<u32, HashSet<Touched>>,
    barriers: u64,
    fences: u64,
}

impl Counts {
    /// How often a byte was accessed.
    pub fn of(&self, byte: &Byte) -> u64 {
        self.bytes.get(byte).copied().unwrap_or(0)
    }
}

impl Events for Watcher {
    fn access(&mut self, access: &Access<'_>) {
        let directions: &[bool] = match access.kind {
            AccessKind::Read => &[false],
            AccessKind::Write => &[true],
            AccessKind::Atomic | AccessKind::Reduction => &[false, true],
        };
        let touched = self.touched.entry(access.site.0).or_default();
        for lane in (0..32).filter(|lane| access.performed() >> lane & 1 == 1) {
            for &write in directions {
                let own = Touched {
                    space: access.space,
                    address: access.address[lane as usize],
                    width: access.bytes(),
                    write,
                };
                own.bytes()
                    .for_each(|byte| *self.bytes.entry(byte).or_default() += 1);
                touched.insert(own);
            }
        }
    }

    fn block_barrier(&mut self, _: &BlockBarrier<'_>) {
        self.barriers += 1;
    }

    fn fence(&mut self, _: Site, _: WarpRef, mask: Mask, _: FenceOrder, _: Scope) {
        self.fences += u64::from(mask.count_ones());
    }
}

/// Runs a kernel with one block.
pub fn run(unit: &Unit, name: &str) -> Counts {
    let program =
        Program::lower(&unit.module, &unit.text, name).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut device = Device::new(1 << 24);
    let mut params = Vec::new();
    for buffer in ["a", "b", "c", "q"] {
        let address = device.alloc(u64::from(4 * ELEMENTS), buffer).unwrap();
        let values = (0..ELEMENTS)
            .flat_map(|i| (i % 11).to_le_bytes())
            .collect::<Vec<u8>>();
        device.write(address, &values).unwrap();
        params.extend(address.to_le_bytes());
    }
    params.extend(7u32.to_le_bytes());
    let launch = Launch {
        cluster: None,
        grid: Dim3::linear(1),
        block: Dim3::linear(THREADS),
        dynamic_shared: 0,
        params,
        cooperative: false,
        number: 0,
    };
    let mut seen = Watcher::default();
    let schedule = ScheduleSpec::default();
    let limits = Limits::default();
    simt::watch(
        &mut device,
        &program,
        &launch,
        &schedule,
        &limits,
        &mut seen,
    )
    .unwrap_or_else(|stop| panic!("{name}: {stop:?}"));
    let line = |site: &u32| program.site(Site(*site)).ptx_line;
    let mut counts = Counts {
        bytes: seen.bytes,
        barriers: seen.barriers,
        fences: seen.fences,
        ..Counts::default()
    };
    for (site, touched) in &seen.touched {
        counts
            .touched
            .entry(line(site))
            .or_default()
            .extend(touched);
    }
    counts
}

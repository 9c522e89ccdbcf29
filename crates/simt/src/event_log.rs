//! For tests of what nobody is to notice: everything that a launch tells and leaves.

use crate::ids::*;
use crate::observer::*;
use crate::program::Program;
use crate::{Device, Dim3, Launch, Limits, ScheduleSpec, launch, watch};

/// Everything that a launch tells, in its order.
#[derive(Default)]
struct EventLog(Vec<String>);

impl Events for EventLog {
    fn row_access(&mut self, access: &RowAccess<'_>) {
        let RowAccess {
            site,
            who,
            first,
            layout,
            write,
            ..
        } = access;
        self.0
            .push(format!("{site:?} {who:?} {first:?} {layout:?} {write}"));
    }
    fn access(&mut self, access: &Access<'_>) {
        let Access {
            site,
            who,
            mask,
            address,
            kind,
            ..
        } = access;
        self.0
            .push(format!("{site:?} {who:?} {mask} {address:?} {kind:?}"));
    }
    fn fault(&mut self, fault: &MemoryFault<'_>) {
        self.0.push(format!("{fault:?}"));
    }
    fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        self.0.push(format!("{barrier:?}"));
    }
    fn block_arrives(&mut self, block: BlockId, id: u32, who: Party) {
        self.0.push(format!("{block:?} {id} {who:?}"));
    }
    fn misuse(&mut self, block: BlockId, misuse: Misuse) {
        self.0.push(format!("{block:?} {misuse:?}"));
    }
    fn uniform_branch(&mut self, site: Site, who: WarpRef, taken: bool) {
        self.0.push(format!("{site:?} {who:?} {taken}"));
    }
    fn diverges(&mut self, divergence: &Divergence) {
        self.0.push(format!("{divergence:?}"));
    }
    fn exits(&mut self, who: WarpRef, mask: Mask, site: Site) {
        self.0.push(format!("{who:?} {mask} {site:?}"));
    }
}

/// What a program with 64 bytes for each thread of its one block leaves in memory and tells, and how it ended: watched, and with nobody to watch.
pub(crate) fn results(
    program: &Program,
    threads: u32,
    schedule: &str,
) -> (Vec<u8>, Vec<String>, String, Vec<u8>) {
    let schedule: ScheduleSpec = schedule.parse().expect("a schedule");
    let (mut told, mut ended, mut memory) = (EventLog::default(), String::new(), Vec::new());
    for watched in [true, false] {
        let mut device = Device::new(1 << 20);
        let out = device.alloc(u64::from(threads) * 64, "out").expect("room");
        let how = Launch {
            cluster: None,
            grid: Dim3::linear(1),
            block: Dim3::linear(threads),
            dynamic_shared: 0,
            params: out.to_le_bytes().to_vec(),
            cooperative: false,
            number: 0,
        };
        let limits = Limits::default();
        let end = match watched {
            true => watch(&mut device, program, &how, &schedule, &limits, &mut told),
            false => launch(
                &mut device,
                program,
                &how,
                &schedule,
                &limits,
                1,
                &mut NullObserver,
            ),
        };
        ended += &format!("{end:?}\n");
        memory.push(
            device
                .read(out, u64::from(threads) * 64)
                .unwrap_or_default(),
        );
    }
    let plain = memory.pop().expect("two runs");
    (memory.pop().expect("two runs"), told.0, ended, plain)
}

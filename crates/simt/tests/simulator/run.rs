//! A device, a kernel and its launches, in as few words as tests like to write.

use ptx::parser::parse;
use simt::*;

/// The schedules of each kind that do not replay another one.
pub const SCHEDULES: [&str; 6] = [
    "lockstep",
    "lane-by-lane",
    "in-step",
    "random:1",
    "random:2",
    "pct:3:3",
];

/// A kernel on a device of its own.
pub struct Run {
    pub device: Device,
    pub program: Program,
    pub limits: Limits,
}

impl Run {
    /// Of the first kernel in a text.
    pub fn of(ptx: &str) -> Run {
        let module = parse(ptx).unwrap_or_else(|e| panic!("{e}"));
        let entry = entries(&module)[0].to_owned();
        let program = Program::lower(&module, ptx, &entry).unwrap_or_else(|e| panic!("{e}"));
        Run {
            device: Device::new(1 << 28),
            program,
            limits: Limits::default(),
        }
    }

    /// A buffer that holds these words.
    pub fn buffer(&mut self, values: &[u32]) -> u64 {
        let at = self
            .device
            .alloc(values.len() as u64 * 4, "buffer")
            .unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.device.write(at, &bytes).unwrap();
        at
    }

    /// Words from an address on.
    pub fn words(&self, at: u64, n: u64) -> Vec<u32> {
        let bytes = self.device.read(at, n * 4).unwrap();
        bytes
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
            .collect()
    }

    /// Launches under a schedule; the arguments are the parameters' values in order.
    pub fn launch(
        &mut self,
        grid: u32,
        block: u32,
        params: &[u64],
        schedule: &str,
    ) -> Result<Stats, Stop> {
        self.launch_with(grid, block, params, schedule, 0, false)
    }

    /// The same with dynamic shared memory, and with all blocks resident.
    pub fn launch_with(
        &mut self,
        grid: u32,
        block: u32,
        params: &[u64],
        schedule: &str,
        dynamic_shared: u32,
        cooperative: bool,
    ) -> Result<Stats, Stop> {
        let mut bytes = vec![0; self.program.param_bytes as usize];
        for (info, value) in self.program.params.iter().zip(params) {
            let at = info.offset as usize;
            bytes[at..at + info.bytes as usize]
                .copy_from_slice(&value.to_le_bytes()[..info.bytes as usize]);
        }
        let how = Launch {
            cluster: None,
            grid: Dim3::linear(grid),
            block: Dim3::linear(block),
            dynamic_shared,
            params: bytes,
            cooperative,
            number: 0,
        };
        let schedule = schedule.parse().unwrap();
        launch_unwatched(
            &mut self.device,
            &self.program,
            &how,
            &schedule,
            &self.limits,
            2,
        )
    }
}

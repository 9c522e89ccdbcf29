//! A kernel of a benchmark with its input, ready to be launched.

use ptx::parser::parse;
use simt::*;

/// A kernel with its input.
pub struct Setup {
    /// The kernel.
    pub program: Program,
    /// A device that holds its buffers.
    pub device: Device,
    /// Its launch.
    pub launch: Launch,
}

impl Setup {
    /// `words`: for each pointer parameter the 32-bit words of its buffer; `scalars`: index and value of others.
    pub fn new(
        ptx: &str,
        grid: Dim3,
        block: Dim3,
        words: &[usize],
        scalars: &[(usize, u32)],
    ) -> Setup {
        let module = parse(ptx).expect("the benchmark's PTX parses");
        let program = Program::lower(&module, ptx, entries(&module)[0]).expect("it can be lowered");
        let mut device = Device::new(1 << 30);
        let mut params = vec![0; program.param_bytes as usize];
        let mut state = 12345u32;
        for (index, words) in words.iter().enumerate().filter(|(_, w)| **w > 0) {
            let at = device
                .alloc(*words as u64 * 4, "buffer")
                .expect("the device is large enough");
            let bytes: Vec<u8> = (0..*words)
                .flat_map(|_| {
                    state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                    (state >> 8 & 0xff).to_le_bytes()
                })
                .collect();
            device.write(at, &bytes).expect("the buffer is there");
            let offset = program.params[index].offset as usize;
            params[offset..offset + 8].copy_from_slice(&at.to_le_bytes());
        }
        for (index, value) in scalars {
            let offset = program.params[*index].offset as usize;
            params[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        }
        let launch = Launch {
            cluster: None,
            grid,
            block,
            dynamic_shared: 0,
            params,
            cooperative: false,
            number: 0,
        };
        Setup {
            program,
            device,
            launch,
        }
    }
}

//! The simulated GPU: its limits and attributes.
//!
//! Limits follow the compute capability (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"); what depends on
//! the model (multiprocessors, clocks, caches) is that of a common GPU of the capability, rounded. Attributes have one number in the
//! runtime and the driver (`cudaDeviceAttr`, `CUdevice_attribute`).

/// A model of GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// As `cudaDeviceProp::name` has it.
    pub name: &'static str,
    /// 75, 80, 90.
    pub capability: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Core clock, kHz.
    pub clock: u32,
    /// Memory clock, kHz.
    pub memory_clock: u32,
    /// Width of the memory bus, bits.
    pub bus: u32,
    /// L2 cache, bytes.
    pub l2: u32,
    /// Shared memory of a multiprocessor, bytes.
    pub shared: u32,
    /// Threads of a multiprocessor.
    pub threads: u32,
    /// Blocks of a multiprocessor.
    pub blocks: u32,
}

/// The models that `--device` knows.
pub const MODELS: [Model; 3] = [
    Model {
        name: "racetrap simulated GPU (sm_75)",
        capability: 75,
        multiprocessors: 40,
        clock: 1_590_000,
        memory_clock: 5_001_000,
        bus: 256,
        l2: 4 << 20,
        shared: 64 << 10,
        threads: 1024,
        blocks: 16,
    },
    Model {
        name: "racetrap simulated GPU (sm_80)",
        capability: 80,
        multiprocessors: 108,
        clock: 1_410_000,
        memory_clock: 1_215_000,
        bus: 5120,
        l2: 40 << 20,
        shared: 164 << 10,
        threads: 2048,
        blocks: 32,
    },
    Model {
        name: "racetrap simulated GPU (sm_90)",
        capability: 90,
        multiprocessors: 132,
        clock: 1_980_000,
        memory_clock: 2_619_000,
        bus: 5120,
        l2: 50 << 20,
        shared: 228 << 10,
        threads: 2048,
        blocks: 32,
    },
];

/// Registers of a block and of a multiprocessor.
pub const REGISTERS: u32 = 65536;
/// Constant memory, bytes.
pub const CONSTANT: u32 = 64 << 10;
/// Shared memory of a block without opting in for more, bytes.
pub const SHARED: u32 = 48 << 10;
/// Registers that a thread is taken to use: which it would be, `ptxas` alone knows.
pub const THREAD_REGISTERS: u32 = 32;
/// Largest pitch of a copy, bytes.
pub const PITCH: u32 = i32::MAX as u32;
/// To what pitched allocations and textures align, bytes.
pub const ALIGNMENT: u32 = 512;

impl Model {
    /// The model of a capability, or the nearest one below.
    pub fn of(capability: u32) -> Model {
        let below = MODELS.iter().rev().find(|m| m.capability <= capability);
        *below.unwrap_or(&MODELS[0])
    }

    /// Shared memory of a block with opting in, bytes.
    pub fn shared_limit(&self) -> u32 {
        simt::shared_limit(self.capability)
    }

    /// Blocks of so many threads and bytes of shared memory that fit on a multiprocessor.
    pub fn occupancy(&self, threads: u64, shared: u64) -> u32 {
        let warps = threads.div_ceil(32).max(1);
        let by_threads = u64::from(self.threads / 32) / warps;
        let reserved = if self.capability >= 80 { 1024 } else { 0 };
        let by_shared = match shared {
            0 => u64::from(self.blocks),
            shared => u64::from(self.shared) / shared.saturating_add(reserved),
        };
        let by_registers =
            u64::from(REGISTERS) / warps.saturating_mul(32 * u64::from(THREAD_REGISTERS));
        let all = [by_threads, by_shared, by_registers, u64::from(self.blocks)];
        all.into_iter().min().unwrap_or(0) as u32
    }

    /// An attribute by its number; `None` if there is no such attribute.
    pub fn attribute(&self, attribute: i32) -> Option<i32> {
        let value = match attribute {
            1 => 1024,
            2 | 3 => 1024,
            4 => 64,
            5 => i32::MAX as u32,
            6 | 7 => 65535,
            8 => SHARED,
            9 => CONSTANT,
            10 => 32,
            11 => PITCH,
            12 | 82 => REGISTERS,
            13 => self.clock,
            14 => ALIGNMENT,
            15 => 1,
            16 => self.multiprocessors,
            17 | 18 => 0,
            19 => 1,
            20 => 0,
            21 | 22 | 23 | 27 | 28 | 42 | 45 | 46 | 55 | 61 => {
                131_072 / if attribute == 21 { 1 } else { 4 }
            }
            24..=26 | 47..=49 => 16384,
            29 | 43 | 54 | 62 | 65 | 68 => 2048,
            30 | 51 => {
                if attribute == 30 {
                    ALIGNMENT
                } else {
                    32
                }
            }
            31 => 1,
            32 => 0,
            33 => 1,
            34 | 35 => 0,
            36 => self.memory_clock,
            37 => self.bus,
            38 => self.l2,
            39 => self.threads,
            40 => 3,
            41 | 44 => 1,
            50 => 0,
            52 | 53 | 56..=60 | 63 | 64 | 66 | 67 => 32768,
            69 => 1 << 28,
            70 | 71 => 131_072,
            72 => 2_097_120,
            73 | 74 | 77 => 32768,
            75 => self.capability / 10,
            76 => self.capability % 10,
            78..=80 => 1,
            81 => self.shared,
            83 => 1,
            84..=86 => 0,
            87 => 2,
            88 => 0,
            89 => 1,
            90 => 1,
            91 => 0,
            92 | 93 | 94 | 96 => 0,
            95 => 1,
            97 => self.shared_limit(),
            98 => 0,
            99 => 1,
            100 | 101 => 0,
            // Addresses and memory apart, by one process.
            102 => 1,
            103..=105 | 110 => 0,
            107 => u32::from(self.capability >= 80),
            106 => self.blocks,
            108 => self.l2 / 2,
            109 => self.l2 / 2,
            111 => {
                if self.capability >= 80 {
                    1024
                } else {
                    0
                }
            }
            112..=114 => 0,
            115 => 1,
            116..=119 => 0,
            120 => u32::from(self.capability >= 90),
            121..=147 => match attribute {
                126 => 1,
                _ => 0,
            },
            _ => return None,
        };
        Some(value as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_model_below_is_taken() {
        let of = |c| Model::of(c).capability;
        assert_eq!(
            [of(75), of(86), of(90), of(120), of(60)],
            [75, 80, 90, 90, 75]
        );
    }

    #[test]
    fn occupancy_is_what_the_scarcest_resource_allows() {
        let model = Model::of(90);
        assert_eq!(model.occupancy(1024, 0), 2);
        assert_eq!(model.occupancy(64, 0), 32);
        assert_eq!(model.occupancy(64, 100 << 10), 2);
        assert_eq!(model.occupancy(64, 400 << 10), 0);
    }

    #[test]
    fn attributes_are_those_of_the_capability() {
        let model = Model::of(80);
        assert_eq!(
            (model.attribute(75), model.attribute(76)),
            (Some(8), Some(0))
        );
        assert_eq!(model.attribute(10), Some(32));
        assert_eq!((1..=147).find(|a| model.attribute(*a).is_none()), None);
        assert_eq!(model.attribute(9999), None);
    }
}

//! Runs a job's instrumented PTX on the simulator, the runtime as ordinary code, and reads what it found.

use device::job::{Buffer, Job, Param, Place, Step, StreamKind};
use racetrap_instrument::layout::{self, Config, PAGE, Results};
use racetrap_instrument::{Instrumented, Pointer, instrument};
use session::{Command, Order};
use simt::memory::GLOBAL_BASE;
use simt::{Device, Dim3, Launch, Limits, Program, ScheduleSpec};
use std::collections::BTreeMap;

/// Room for findings.
const FINDINGS: u32 = 256;

/// What a run left behind.
pub struct Ran {
    pub results: Results,
    pub instrumented: Instrumented,
    /// Contents of the job's buffers.
    pub buffers: Vec<Vec<u8>>,
    /// Whether all launches came to their end.
    pub ended: bool,
    /// Where the first buffer is.
    pub at: u64,
    /// Groups of loads that had no records, in all launches.
    pub only_read: usize,
}

pub fn order(job: &Job) -> Order {
    let streams = job.streams.keys().last().map_or(0, |last| last + 1);
    let kind = |stream: usize| match job.streams.get(&stream) {
        None => session::StreamKind::NonBlocking,
        Some(StreamKind::Blocking) => session::StreamKind::Blocking,
        Some(StreamKind::Legacy) => session::StreamKind::Legacy,
    };
    let commands: Vec<_> = job.steps.iter().map(command).collect();
    Order::new(&commands, &(0..streams).map(kind).collect::<Vec<_>>())
}

fn command(step: &Step) -> Command {
    match step {
        Step::Launch(device::job::Launch { stream, .. }) | Step::Copy { stream, .. } => {
            Command::Operation { stream: *stream }
        }
        Step::Host { .. } => Command::Host,
        Step::Record { event, stream } => Command::Record {
            event: *event,
            stream: *stream,
        },
        Step::Wait { event, stream } => Command::Wait {
            event: *event,
            stream: *stream,
        },
        Step::Synchronize { stream } => Command::Synchronize { stream: *stream },
    }
}

/// Memory as a job wants it, and its programs.
pub struct Memory {
    pub addresses: Vec<u64>,
    pub host: Vec<u64>,
}

impl Memory {
    pub fn load<'p>(
        job: &Job,
        device: &mut Device,
        programs: impl Iterator<Item = &'p Program>,
    ) -> Memory {
        for program in programs {
            device.load(program).unwrap();
        }
        let mut allocate = |buffers: &[Buffer]| -> Vec<u64> {
            let one = |buffer: &Buffer| {
                let address = match &buffer.symbol {
                    Some(symbol) => device.variable(symbol).unwrap(),
                    None => device.alloc(buffer.bytes, "buffer").unwrap(),
                };
                if let Some(data) = &buffer.data
                    && !data.0.is_empty()
                {
                    device.write(address, &data.0).unwrap();
                }
                address
            };
            buffers.iter().map(one).collect()
        };
        let addresses = allocate(&job.buffers);
        let host = allocate(&job.host);
        Memory { addresses, host }
    }

    pub fn at(&self, place: &Place) -> u64 {
        match place {
            Place::Buffer { index, offset } => self.addresses[*index] + offset,
            Place::Host { index, offset } => self.host[*index] + offset,
        }
    }

    /// Parameters of a launch as a program wants them; those that the job does not name stay 0.
    pub fn params(&self, launch: &device::job::Launch, program: &Program) -> Vec<u8> {
        let mut params = vec![0; program.param_bytes as usize];
        for (given, param) in launch.params.iter().zip(&program.params) {
            let bytes = match given {
                Param::Buffer(index) => self.addresses[*index].to_le_bytes().to_vec(),
                Param::Host(index) => self.host[*index].to_le_bytes().to_vec(),
                Param::Bytes(bytes) => bytes.0.clone(),
            };
            params[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        params
    }
}

pub fn dim([x, y, z]: [u32; 3]) -> Dim3 {
    Dim3 { x, y, z }
}

/// Runs a job with checks.
pub fn run(job: &Job, schedule: &ScheduleSpec, steps: u64) -> Ran {
    run_bounded(job, schedule, steps, u64::MAX)
}

/// The same, with nobody's memory in the first buffer behind so many bytes.
pub fn run_bounded(job: &Job, schedule: &ScheduleSpec, steps: u64, inside: u64) -> Ran {
    let module = ptx::parse(&job.ptx).unwrap();
    let instrumented = instrument(&module).unwrap();
    let text = ptx::print(&instrumented.module);
    let tree = ptx::parse(&text).unwrap();
    let mut programs = BTreeMap::new();
    for step in &job.steps {
        if let Step::Launch(l) = step {
            let lower = || Program::lower(&tree, &text, &l.entry).unwrap();
            programs.entry(l.entry.clone()).or_insert_with(lower);
        }
    }
    let mut device = Device::new(1 << 31);
    let memory = Memory::load(job, &mut device, programs.values());
    let shift = instrumented.global_unit.trailing_zeros();
    let end = (GLOBAL_BASE + device.arena_bytes()).next_multiple_of(PAGE);
    let page_count = (end - GLOBAL_BASE) / PAGE;
    let mut zeros = |bytes: u64, name: &str| {
        let address = device.alloc(bytes, name).unwrap();
        device.write(address, &vec![0; bytes as usize]).unwrap();
        address
    };
    let of_page = layout::page_shadow(shift);
    let shadow = zeros(page_count * of_page + layout::HEADERS, "shadow");
    let shadow = shadow.next_multiple_of(layout::HEADERS);
    let pages = zeros(layout::PAGES * 8, "pages");
    let sync = zeros(layout::SYNC_BYTES * (job.steps.len() as u64 + 1), "sync");
    let kept = zeros(layout::KEPT_BYTES << 12, "kept");
    let result_bytes = u64::from(FINDINGS) * layout::FINDING_BYTES;
    let tally_bytes = layout::tallies_bytes(FINDINGS);
    let findings = zeros(result_bytes, "findings");
    let tallies = zeros(tally_bytes, "tallies");
    let concurrent = zeros(32 * (job.steps.len() as u64 + 1), "concurrent");
    let numbers = zeros(4 * (job.steps.len() as u64 + 1), "numbers");
    let at = zeros(layout::CONFIG_BYTES, "config");
    for page in 0..page_count {
        let (at, entry) = layout::entry(GLOBAL_BASE + page * PAGE, shadow + page * of_page);
        device.write(pages + at * 8, &entry.to_le_bytes()).unwrap();
    }
    let at_buffer = memory.addresses.first().copied().unwrap_or(0);
    let buffer_bytes = job.buffers.first().map_or(0, |b| b.bytes);
    for word in (inside / 4..buffer_bytes / 4).filter(|_| shift == 2) {
        let address = at_buffer + word * 4;
        let (page, within) = ((address - GLOBAL_BASE) / PAGE, address % PAGE);
        let shadow = shadow + page * of_page;
        let twice = |value: u32| [value.to_le_bytes(), value.to_le_bytes()].concat();
        let record = shadow + layout::HEADERS + within / 4 * 8;
        device.write(record, &twice(layout::NOTHING)).unwrap();
        let whole = address - address % 64 >= at_buffer + inside;
        let header = if whole { layout::NOTHING } else { layout::PART };
        device
            .write(shadow + within / 64 * 8, &twice(header))
            .unwrap();
    }
    let config = Config {
        pages,
        sync,
        findings,
        tallies,
        kept,
        concurrent,
        finding_count: FINDINGS,
        kept_mask: (1 << 12) - 1,
        global_shift: shift,
        numbers,
    };
    device.write(at, &config.bytes()).unwrap();
    let order = order(job);
    let limits = Limits {
        steps,
        ..Limits::default()
    };
    let mut ended = true;
    let mut only_read = 0;
    for index in order.sequence(schedule) {
        let launch = match &job.steps[index] {
            Step::Launch(launch) => launch,
            Step::Copy {
                from, to, bytes, ..
            }
            | Step::Host { from, to, bytes } => {
                device.copy(memory.at(from), memory.at(to), *bytes).unwrap();
                continue;
            }
            _ => continue,
        };
        let program = &programs[&launch.entry];
        let shared_shift = instrumented.shared_unit.trailing_zeros();
        let used = program.shared_bytes.next_multiple_of(16) + launch.shared;
        let mut shadow = 0;
        let mut dynamic = launch.shared;
        if used > 0 && instrumented.uses_shared {
            shadow = layout::Launch::shadow_for(used, shared_shift);
            dynamic = launch.shared.next_multiple_of(16) + shadow;
            // A GPU that has enough, whatever the PTX was compiled for.
            if program.shared_bytes.next_multiple_of(16) + dynamic
                > simt::shared_limit(program.device)
            {
                (shadow, dynamic) = (0, launch.shared);
            }
        }
        let number = index as u32 + 1;
        let mut others = [0u32; 8];
        for other in 0..job.steps.len() {
            if order.is_concurrent(index, other) {
                let number = other + 1;
                others[number >> 5] |= 1 << (number & 31);
            }
        }
        let is_concurrent = others != [0; 8];
        let bytes: Vec<u8> = others.iter().flat_map(|o| o.to_le_bytes()).collect();
        device
            .write(concurrent + u64::from(number) * 32, &bytes)
            .unwrap();
        // As a graph's node finds its number.
        let slot = numbers + u64::from(number) * 4;
        device.write(slot, &number.to_le_bytes()).unwrap();
        let first = (1..number).find(|n| others[(n >> 5) as usize] >> (n & 31) & 1 != 0);
        let mut params = memory.params(launch, program);
        let known = instrumented.kernels.iter().find(|k| k.name == launch.entry);
        let known = known.unwrap();
        let value = |pointer: Pointer| {
            let at = known.offsets[pointer.parameter] + pointer.within;
            params[at as usize..]
                .first_chunk()
                .map(|b| u64::from_le_bytes(*b))
        };
        let buffer = |address: u64| {
            let of = |(b, at): (&Buffer, &u64)| {
                (
                    *at,
                    b.bytes
                        .min(if *at == at_buffer { inside } else { u64::MAX }),
                )
            };
            let device = job.buffers.iter().zip(&memory.addresses).map(of);
            let host = job.host.iter().zip(&memory.host).map(of);
            device
                .chain(host)
                .find(|(at, bytes)| (*at..at + bytes).contains(&address))
        };
        let handed = layout::Launch {
            config: at,
            plain_pages: if shift == 2 { pages } else { 0 },
            number: match is_concurrent {
                true => layout::Launch::SLOT | number,
                false => number,
            },
            dynamic: launch.shared,
            shadow,
            shared_shift,
            many_blocks: dim(launch.grid).count() > layout::BLOCKS,
            concurrent: is_concurrent,
            module: 0,
            floor: first.unwrap_or(number),
            read_only: match order.has_concurrency() {
                true => Vec::new(),
                false => known.read_only.buffers(value, buffer),
            },
        };
        let ours = program.params.last().unwrap();
        only_read += handed.read_only.iter().filter(|b| b.1 > 0).count();
        let handed = handed.bytes(&known.read_only);
        params[ours.offset as usize..][..handed.len()].copy_from_slice(&handed);
        let how = Launch {
            cluster: None,
            grid: dim(launch.grid),
            block: dim(launch.block),
            dynamic_shared: dynamic,
            params,
            cooperative: launch.cooperative,
            number: index as u32,
        };
        let stop = simt::launch_unwatched(&mut device, program, &how, schedule, &limits, 1);
        if let Err(stop) = stop {
            if std::env::var_os("RACETRAP_STOPS").is_some() {
                eprintln!("{}: {stop}", launch.entry);
            }
            ended = false;
            break;
        }
    }
    let raw = device.read(findings, result_bytes).unwrap();
    let counted = device.read(tallies, tally_bytes).unwrap();
    let read = |(buffer, address): (&Buffer, &u64)| device.read(*address, buffer.bytes).unwrap();
    let buffers = job.buffers.iter().zip(&memory.addresses).map(read);
    Ran {
        results: Results::read(&raw, &counted, FINDINGS),
        buffers: buffers.collect(),
        instrumented,
        ended,
        at: at_buffer,
        only_read,
    }
}

/// One launch of a kernel, in so many blocks of so many threads, on a buffer of so many bytes of zeros.
pub fn one_launch(ptx: String, entry: &str, (blocks, threads): (u32, u32), bytes: usize) -> Job {
    Job {
        ptx,
        buffers: vec![Buffer::of(vec![0; bytes])],
        steps: vec![Step::Launch(device::job::Launch {
            entry: entry.to_owned(),
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared: 0,
            params: vec![Param::Buffer(0)],
            cooperative: false,
            cluster: None,
            stream: 0,
        })],
        ..Job::default()
    }
}

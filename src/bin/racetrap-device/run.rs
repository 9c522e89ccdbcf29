//! Executes one job: memory, module, steps, results.

use crate::driver::*;
use crate::gpu::Gpu;
use cust::sys::{CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream};
use device::error::{At, DeviceError};
use device::job::{Buffer, Bytes, Done, Job, Launch, ParamBlock, Place, Step, StreamKind};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{CString, c_void};
use std::ptr::{from_ref, null_mut};

/// Bytes of the compiler's log that are kept.
const LOG_BYTES: usize = 16 << 10;

/// Does a job that makes sense.
pub fn run(gpu: &Gpu, job: &Job) -> Result<Done, DeviceError> {
    let host = job
        .host
        .iter()
        .enumerate()
        .map(|(index, buffer)| HostMemory::new(buffer, At::Host(index)))
        .collect::<Result<Vec<_>, _>>()?;
    let module = match job.ptx.as_str() {
        "" => None,
        ptx => Some(Module::load(ptx, gpu)?),
    };
    let buffers = job
        .buffers
        .iter()
        .enumerate()
        .map(|(index, buffer)| DeviceMemory::new(buffer, module.as_ref(), At::Buffer(index)))
        .collect::<Result<Vec<_>, _>>()?;
    // A copy of pageable memory may still be in progress when its call has returned.
    // SAFETY: takes nothing.
    check("cuCtxSynchronize", At::Start, unsafe { cuCtxSynchronize() })?;
    let mut runner = Runner {
        job,
        module,
        addresses: buffers.iter().map(|b| b.address).collect(),
        host_addresses: host.iter().map(|h| h.pointer as u64).collect(),
        buffers,
        host,
        streams: BTreeMap::new(),
        events: BTreeMap::new(),
        timed: Vec::new(),
        wait: job.is_sequential() && job.intervals.is_empty(),
    };
    for stream in job.streams.keys() {
        runner.stream(*stream, At::Start)?;
    }
    for (index, step) in job.steps.iter().enumerate() {
        runner.step(index, step)?;
    }
    runner.finish(gpu)
}

struct Runner<'a> {
    job: &'a Job,
    module: Option<Module>,
    addresses: Vec<u64>,
    host_addresses: Vec<u64>,
    buffers: Vec<DeviceMemory>,
    host: Vec<HostMemory>,
    streams: BTreeMap<usize, Stream>,
    events: BTreeMap<usize, Event>,
    /// The step of each launch, and the events around it.
    timed: Vec<(usize, Event, Event)>,
    /// Whether to wait for the end of every step.
    wait: bool,
}

impl Runner<'_> {
    fn step(&mut self, index: usize, step: &Step) -> Result<(), DeviceError> {
        let at = self.at(index);
        let stream = match step.stream() {
            Some(stream) => self.stream(stream, at)?,
            None => null_mut(),
        };
        match step {
            Step::Launch(launch) => self.launch(index, launch, stream)?,
            Step::Record { event, .. } => {
                let event = self.event(*event, at)?;
                // SAFETY: both handles live as long as the runner.
                check("cuEventRecord", at, unsafe { cuEventRecord(event, stream) })?;
            }
            Step::Wait { event, .. } => {
                let event = self.event(*event, at)?;
                // SAFETY: both handles live as long as the runner.
                let code = unsafe { cuStreamWaitEvent(stream, event, 0) };
                check("cuStreamWaitEvent", at, code)?;
            }
            Step::Copy {
                from, to, bytes, ..
            } if *bytes > 0 => {
                let (from, to) = (self.place(*from), self.place(*to));
                // SAFETY: the job was checked: both ranges lie inside their memory, which lives until all streams have
                // come to their end. Host addresses are those of the device, too (CUDA Driver API,
                // "Unified Addressing").
                let code = unsafe { cuMemcpyAsync(to, from, *bytes as usize, stream) };
                check("cuMemcpyAsync", at, code)?;
            }
            Step::Host { from, to, bytes } if *bytes > 0 => {
                let (from, to) = (self.place(*from), self.place(*to));
                // SAFETY: the job was checked: both ranges are of host memory and lie inside of it. A stream may touch it
                // meanwhile, which is what some jobs are about: nothing here relies on what is read.
                unsafe { std::ptr::copy(from as *const u8, to as *mut u8, *bytes as usize) };
            }
            Step::Host { .. } | Step::Copy { .. } | Step::Synchronize { .. } => {}
        }
        if self.wait || matches!(step, Step::Synchronize { .. }) {
            // SAFETY: the stream lives as long as the runner.
            let code = unsafe { cuStreamSynchronize(stream) };
            check("cuStreamSynchronize", at, code)?;
        }
        Ok(())
    }

    /// Where an error is that a call of this step reports.
    fn at(&self, index: usize) -> At {
        if self.wait {
            At::Step(index)
        } else {
            At::UpTo(index)
        }
    }

    fn launch(
        &mut self,
        index: usize,
        launch: &Launch,
        stream: CUstream,
    ) -> Result<(), DeviceError> {
        let at = self.at(index);
        let function = match &mut self.module {
            Some(module) => module.function(index, &launch.entry)?,
            None => return Ok(()),
        };
        if launch.shared > 0 {
            // More than 48 KiB must be asked for (CUDA C++ Programming Guide, "Shared Memory", compute capability 7.x and up).
            let shared = i32::try_from(launch.shared).unwrap_or(i32::MAX);
            // SAFETY: the function belongs to the module, which lives as long as the runner.
            let code = unsafe { cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED, shared) };
            check("cuFuncSetAttribute", at, code)?;
        }
        let block = ParamBlock::new(&launch.params, &self.addresses, &self.host_addresses);
        let mut params: Vec<*mut c_void> = block
            .values()
            .map(|v| from_ref(v).cast_mut().cast())
            .collect();
        let dependent = |step: &Step| matches!(step, Step::Launch(launch) if launch.dependent);
        let is_timed = self.job.intervals.is_empty() && !self.job.steps.iter().any(dependent);
        let timed = match is_timed {
            true => Some((Event::new(at)?, Event::new(at)?)),
            false => None,
        };
        if let Some((start, _)) = &timed {
            // SAFETY: the handles live as long as the runner.
            let code = unsafe { cuEventRecord(start.0, stream) };
            check("cuEventRecord", at, code)?;
        }
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
        let shared = launch.shared;
        // SAFETY: the driver reads parameters as the kernel declares them, and there are pointers for many more than the job
        // gives, with as many bytes behind each as a kernel can have; it has copied them when the call returns. What the kernel
        // itself does to memory is the reason why this is a process of its own.
        let (call, code) = unsafe {
            let params = params.as_mut_ptr();
            if launch.cooperative {
                let code = cuLaunchCooperativeKernel(
                    function, gx, gy, gz, bx, by, bz, shared, stream, params,
                );
                ("cuLaunchCooperativeKernel", code)
            } else if launch.cluster.is_some() || launch.dependent {
                let cluster = launch
                    .cluster
                    .map(|size| (CLUSTER_DIMENSION, size.to_vec()));
                let dependent = (launch.dependent).then(|| (STREAM_SERIALIZATION, vec![1]));
                let attributes = cluster.into_iter().chain(dependent).map(|(id, words)| {
                    let mut attribute = LaunchAttribute {
                        id,
                        pad: [0; 4],
                        value: [0; 16],
                    };
                    attribute.value[..words.len()].copy_from_slice(&words);
                    attribute
                });
                let attributes: Vec<LaunchAttribute> = attributes.collect();
                let config = LaunchConfig {
                    grid: launch.grid,
                    block: launch.block,
                    shared,
                    stream,
                    attributes: attributes.as_ptr(),
                    count: attributes.len() as u32,
                };
                let code = cuLaunchKernelEx(from_ref(&config), function, params, null_mut());
                ("cuLaunchKernelEx", code)
            } else {
                let extra = null_mut();
                let code = cuLaunchKernel(
                    function, gx, gy, gz, bx, by, bz, shared, stream, params, extra,
                );
                ("cuLaunchKernel", code)
            }
        };
        check(call, at, code)?;
        if let Some((start, end)) = timed {
            // SAFETY: the handles live as long as the runner.
            check("cuEventRecord", at, unsafe { cuEventRecord(end.0, stream) })?;
            self.timed.push((index, start, end));
        }
        Ok(())
    }

    fn finish(self, gpu: &Gpu) -> Result<Done, DeviceError> {
        let last = self.at(self.job.steps.len().saturating_sub(1));
        // SAFETY: takes nothing.
        check("cuCtxSynchronize", last, unsafe { cuCtxSynchronize() })?;
        let elapsed = |start: &Event, end: &Event, at: At| {
            let mut milliseconds = 0.0;
            // SAFETY: the events were recorded and have come to pass.
            let code = unsafe { cuEventElapsedTime(&raw mut milliseconds, start.0, end.0) };
            check("cuEventElapsedTime", at, code)?;
            Ok((f64::from(milliseconds) * 1e6).round() as u64)
        };
        let launches = self.timed.iter();
        let nanoseconds: Vec<u64> = launches
            .map(|(index, start, end)| elapsed(start, end, At::Step(*index)))
            .collect::<Result<_, _>>()?;
        let intervals = self.job.intervals.iter();
        // A job whose intervals are of events that nothing records was refused.
        let intervals: Vec<u64> = intervals
            .filter_map(|[a, b]| Some(elapsed(self.events.get(a)?, self.events.get(b)?, last)))
            .collect::<Result<_, _>>()?;
        let read = |index: &usize| {
            let length = self.job.buffers[*index].read_bytes;
            self.buffers[*index].read(length, At::Read(*index))
        };
        Ok(Done {
            buffers: self
                .job
                .read
                .iter()
                .map(read)
                .collect::<Result<Vec<_>, _>>()?,
            host: self
                .job
                .read_host
                .iter()
                .map(|index| self.host[*index].read(self.job.host[*index].read_bytes))
                .collect(),
            printed: String::new(),
            nanoseconds,
            intervals,
            device: gpu.info.clone(),
        })
    }

    fn place(&self, place: Place) -> CUdeviceptr {
        match place {
            Place::Buffer { index, offset } => self.buffers[index].address + offset,
            Place::Host { index, offset } => self.host[index].pointer as u64 + offset,
        }
    }

    fn stream(&mut self, index: usize, at: At) -> Result<CUstream, DeviceError> {
        Ok(match self.streams.entry(index) {
            Entry::Occupied(made) => made.get().0,
            Entry::Vacant(none) => {
                none.insert(Stream::new(self.job.streams.get(&index), at)?)
                    .0
            }
        })
    }

    fn event(&mut self, index: usize, at: At) -> Result<CUevent, DeviceError> {
        Ok(match self.events.entry(index) {
            Entry::Occupied(made) => made.get().0,
            Entry::Vacant(none) => none.insert(Event::new(at)?).0,
        })
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        // After an error, other streams may still use what is given back now.
        // SAFETY: takes nothing.
        unsafe { cuCtxSynchronize() };
    }
}

struct Module {
    handle: CUmodule,
    functions: BTreeMap<String, CUfunction>,
}

impl Module {
    /// Compiles PTX for this GPU, with the source lines that it names, so that tools can name them too.
    fn load(ptx: &str, gpu: &Gpu) -> Result<Module, DeviceError> {
        // A job with a NUL in its PTX was refused.
        let text = CString::new(ptx).unwrap_or_default();
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [JIT_LINE_INFO, JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES, JIT_LEVEL];
        // Numbers are given as pointers of their value.
        let mut values = [
            std::ptr::without_provenance_mut(1),
            log.as_mut_ptr().cast::<c_void>(),
            std::ptr::without_provenance_mut(LOG_BYTES - 1),
            std::ptr::without_provenance_mut(gpu.jit_level),
        ];
        let mut handle = null_mut();
        // SAFETY: the text ends with a NUL, there are as many options as values, and the log is longer than it is said to be.
        let code = unsafe {
            cuModuleLoadDataEx(
                &raw mut handle,
                text.as_ptr().cast(),
                options.len() as std::ffi::c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if code == 0 {
            return Ok(Module {
                handle,
                functions: BTreeMap::new(),
            });
        }
        let name = name(code);
        log.truncate(log.iter().position(|b| *b == 0).unwrap_or(log.len()));
        Err(if name == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" {
            let version = ptx
                .lines()
                .find_map(|l| l.trim().strip_prefix(".version"))
                .unwrap_or("?");
            DeviceError::OldDriver {
                name,
                version: version.trim().to_owned(),
                driver: gpu.info.driver.clone(),
            }
        } else {
            DeviceError::Jit {
                name,
                log: String::from_utf8_lossy(&log).into_owned(),
            }
        })
    }

    /// The address of a variable that has at least so many bytes.
    fn variable(&self, symbol: &str, bytes: usize, at: At) -> Result<CUdeviceptr, DeviceError> {
        let text = CString::new(symbol).unwrap_or_default();
        let (mut address, mut held) = (0, 0);
        // SAFETY: the module is loaded, the name ends with a NUL, and an address and a size are written.
        let code = unsafe {
            cuModuleGetGlobal_v2(&raw mut address, &raw mut held, self.handle, text.as_ptr())
        };
        let none = || DeviceError::NoVariable {
            symbol: symbol.to_owned(),
            bytes: bytes as u64,
        };
        if name(code) == "CUDA_ERROR_NOT_FOUND" {
            return Err(none());
        }
        check("cuModuleGetGlobal", at, code)?;
        if held < bytes {
            return Err(none());
        }
        Ok(address)
    }

    fn function(&mut self, step: usize, entry: &str) -> Result<CUfunction, DeviceError> {
        if let Some(function) = self.functions.get(entry) {
            return Ok(*function);
        }
        let none = || DeviceError::NoEntry {
            step,
            entry: entry.to_owned(),
        };
        let text = CString::new(entry).map_err(|_| none())?;
        let mut function = null_mut();
        // SAFETY: the module is loaded, and the name ends with a NUL.
        let code = unsafe { cuModuleGetFunction(&raw mut function, self.handle, text.as_ptr()) };
        if name(code) == "CUDA_ERROR_NOT_FOUND" {
            return Err(none());
        }
        check("cuModuleGetFunction", At::Step(step), code)?;
        self.functions.insert(entry.to_owned(), function);
        Ok(function)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: nothing of it runs any more: the runner has waited, or the process is about to end.
        unsafe { cuModuleUnload(self.handle) };
    }
}

/// Global memory.
struct DeviceMemory {
    address: CUdeviceptr,
    bytes: usize,
    /// Whether it is a module's.
    borrowed: bool,
}

impl DeviceMemory {
    fn new(buffer: &Buffer, module: Option<&Module>, at: At) -> Result<DeviceMemory, DeviceError> {
        let bytes = usize::try_from(buffer.bytes).unwrap_or(usize::MAX);
        let mut memory = DeviceMemory {
            address: 0,
            bytes,
            borrowed: false,
        };
        if bytes == 0 {
            return Ok(memory);
        }
        match (&buffer.symbol, module) {
            (Some(symbol), Some(module)) => {
                memory.address = module.variable(symbol, bytes, at)?;
                memory.borrowed = true;
            }
            // SAFETY: writes one address.
            _ => check("cuMemAlloc", at, unsafe {
                cuMemAlloc_v2(&raw mut memory.address, bytes)
            })?,
        }
        if let Some(Bytes(data)) = buffer.data.as_ref().filter(|data| !data.0.is_empty()) {
            // SAFETY: a job whose data is longer than its buffer was refused.
            let code = unsafe { cuMemcpyHtoD_v2(memory.address, data.as_ptr().cast(), data.len()) };
            check("cuMemcpyHtoD", at, code)?;
        }
        Ok(memory)
    }

    fn read(&self, length: Option<u64>, at: At) -> Result<Bytes, DeviceError> {
        let length = length.map_or(self.bytes, |n| usize::try_from(n).unwrap_or(self.bytes));
        let mut data = vec![0u8; length.min(self.bytes)];
        if !data.is_empty() {
            // SAFETY: as long as the vector, and no longer than the buffer.
            let code =
                unsafe { cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), self.address, data.len()) };
            check("cuMemcpyDtoH", at, code)?;
        }
        Ok(Bytes(data))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.address != 0 && !self.borrowed {
            // SAFETY: it was allocated, and is given back once.
            unsafe { cuMemFree_v2(self.address) };
        }
    }
}

/// Page-locked host memory.
struct HostMemory {
    pointer: *mut u8,
    bytes: usize,
}

impl HostMemory {
    fn new(buffer: &Buffer, at: At) -> Result<HostMemory, DeviceError> {
        let bytes = usize::try_from(buffer.bytes).unwrap_or(usize::MAX);
        let mut pointer = null_mut();
        if bytes > 0 {
            // SAFETY: writes one pointer.
            check("cuMemHostAlloc", at, unsafe {
                cuMemHostAlloc(&raw mut pointer, bytes, 0)
            })?;
        }
        let memory = HostMemory {
            pointer: pointer.cast(),
            bytes,
        };
        // SAFETY: the allocation is that long (or there is none, and nothing is written).
        unsafe { memory.pointer.write_bytes(0, bytes) };
        if let Some(Bytes(data)) = buffer.data.as_ref().filter(|data| !data.0.is_empty()) {
            // SAFETY: a job whose data is longer than its buffer was refused, and nothing else knows this memory yet.
            unsafe {
                memory
                    .pointer
                    .copy_from_nonoverlapping(data.as_ptr(), data.len())
            };
        }
        Ok(memory)
    }

    fn read(&self, length: Option<u64>) -> Bytes {
        let length = length.map_or(self.bytes, |n| usize::try_from(n).unwrap_or(self.bytes));
        let length = length.min(self.bytes);
        if length == 0 {
            return Bytes::default();
        }
        // SAFETY: inside the allocation, which was filled with zeros, and which no stream writes any more.
        Bytes(unsafe { std::slice::from_raw_parts(self.pointer, length) }.to_vec())
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if !self.pointer.is_null() {
            // SAFETY: it was allocated, and is given back once.
            unsafe { cuMemFreeHost(self.pointer.cast()) };
        }
    }
}

struct Stream(CUstream);

impl Stream {
    fn new(kind: Option<&StreamKind>, at: At) -> Result<Stream, DeviceError> {
        let flags = match kind {
            None => NON_BLOCKING,
            Some(StreamKind::Blocking) => BLOCKING,
            Some(StreamKind::Legacy) => {
                return Ok(Stream(std::ptr::without_provenance_mut(LEGACY_STREAM)));
            }
        };
        let mut stream = null_mut();
        // SAFETY: writes one handle.
        check("cuStreamCreate", at, unsafe {
            cuStreamCreate(&raw mut stream, flags)
        })?;
        Ok(Stream(stream))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.0.addr() == LEGACY_STREAM {
            return;
        }
        // SAFETY: it was made, and is given back once.
        unsafe { cuStreamDestroy_v2(self.0) };
    }
}

struct Event(CUevent);

impl Event {
    fn new(at: At) -> Result<Event, DeviceError> {
        let mut event = null_mut();
        // SAFETY: writes one handle.
        check("cuEventCreate", at, unsafe {
            cuEventCreate(&raw mut event, 0)
        })?;
        Ok(Event(event))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it was made, and is given back once.
        unsafe { cuEventDestroy_v2(self.0) };
    }
}

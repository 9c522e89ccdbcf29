//! Launches: what a kernel gets beside its own parameters.

use crate::hooks::is_capturing;
use crate::order::StreamName;
use crate::real_driver::real;
use crate::shadow::{RESERVED, Shadow, attribute};
use crate::state::{Kernel, Launched, Loaded, State, state};
use instrument::Pointer;
use instrument::layout::{self, Launch};
use std::ffi::c_void;
use std::sync::Arc;

/// A launch as the program wants it.
pub struct Wanted {
    pub function: usize,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub stream: StreamName,
    /// Whether it is recorded in a graph.
    pub recorded: bool,
    /// Where its replays find their numbers, once the graph is to be launched.
    pub slot: Option<u32>,
    pub params: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

/// What it becomes. The parameters live as long as this.
pub struct Extended {
    pub shared: u32,
    params: Vec<*mut c_void>,
    buffer: Vec<u8>,
    size: usize,
    list: [*mut c_void; 5],
    config: Vec<u8>,
}

impl Extended {
    /// `kernelParams`
    pub fn params(&mut self) -> *mut *mut c_void {
        match self.params.is_empty() {
            true => std::ptr::null_mut(),
            false => self.params.as_mut_ptr(),
        }
    }

    /// `extra`
    pub fn extra(&mut self) -> *mut *mut c_void {
        match self.buffer.is_empty() {
            true => std::ptr::null_mut(),
            false => self.list.as_mut_ptr(),
        }
    }
}

/// `CU_LAUNCH_PARAM_BUFFER_POINTER`, `CU_LAUNCH_PARAM_BUFFER_SIZE`
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

pub fn current_device() -> Option<i32> {
    let mut device = 0i32;
    (real!(cuCtxGetDevice(&mut device => *mut i32)) == 0).then_some(device)
}

/// Whether a stream's work is recorded instead of done.
pub fn is_captured(stream: usize) -> bool {
    let mut status = 0u32;
    let asked = real!(cuStreamIsCapturing(stream => usize, &mut status => *mut u32));
    // The legacy stream can't be asked while another one is captured, and can't be used then.
    asked == 0 && status != 0
}

/// What a launch becomes; `None` where the kernel has no checks.
///
/// # Safety
///
/// As for `cuLaunchKernel`.
pub unsafe fn extend(wanted: &Wanted) -> Option<Extended> {
    let mut state = state();
    let kernel = state.kernels.get(&wanted.function).cloned();
    let threads = wanted
        .grid
        .iter()
        .chain(&wanted.block)
        .fold(1u64, |all, n| all.saturating_mul(u64::from(*n)));
    let name = kernel.as_ref().map_or("a kernel", |k| &k.name).to_owned();
    let module = kernel.as_ref().and_then(|k| k.module.clone());
    if !wanted.recorded {
        let totals = state.totals.entry(name.clone()).or_default();
        totals.launches += 1;
        totals.threads = totals.threads.saturating_add(threads);
        totals.has_ptx |= module.is_some();
    }
    let (kernel, (number, module)) = (kernel?, module?);
    let known = module.checked.kernels.iter().find(|k| k.name == name)?;
    if known.parameters > 0 && wanted.params.is_null() && wanted.extra.is_null() {
        // The driver refuses it.
        return None;
    }
    let (mut config, shared) = state.configure(wanted, &kernel, number, &module, &name);
    // SAFETY: by the function's own condition.
    config.read_only = unsafe { state.read_only(wanted, known, config.number) };
    drop(state);
    let mut extended = Extended {
        shared,
        params: Vec::new(),
        buffer: Vec::new(),
        size: 0,
        list: [std::ptr::null_mut(); 5],
        config: config.bytes(&known.read_only),
    };
    // SAFETY: by the function's own condition: as many parameters as the kernel has, or a list that ends in a null.
    unsafe {
        if !wanted.extra.is_null() {
            let (from, size) = buffer(wanted.extra)?;
            let own = known.parameter_bytes as usize;
            extended.buffer = vec![0; own.next_multiple_of(8)];
            if !from.is_null() {
                std::ptr::copy_nonoverlapping(from, extended.buffer.as_mut_ptr(), size.min(own));
            }
            extended.buffer.extend_from_slice(&extended.config);
            extended.size = extended.buffer.len();
            extended.list = [
                BUFFER_POINTER as *mut c_void,
                extended.buffer.as_mut_ptr().cast(),
                BUFFER_SIZE as *mut c_void,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            ];
        } else {
            for index in 0..known.parameters {
                extended.params.push(*wanted.params.add(index));
            }
            extended.params.push(extended.config.as_mut_ptr().cast());
        }
    }
    Some(extended)
}

/// Address and bytes of the parameters in `extra`; `None`: it has no size.
///
/// # Safety
///
/// `extra` is a list as `cuLaunchKernel` wants it, that ends in a null.
unsafe fn buffer(extra: *mut *mut c_void) -> Option<(*const u8, usize)> {
    let mut at = extra;
    let (mut from, mut size) = (std::ptr::null::<u8>(), 0);
    // SAFETY: by the function's own condition.
    unsafe {
        while !(*at).is_null() {
            match (*at).addr() {
                BUFFER_POINTER => from = (*at.add(1)).cast(),
                BUFFER_SIZE if (*at.add(1)).is_null() => return None,
                BUFFER_SIZE => size = (*at.add(1)).cast::<usize>().read_unaligned(),
                _ => {}
            }
            at = at.add(2);
        }
    }
    Some((from, size))
}

impl Extended {
    /// Sets what points into itself, where it has come to stay.
    pub fn settle(&mut self) -> &mut Extended {
        if !self.buffer.is_empty() {
            self.list[3] = std::ptr::from_mut(&mut self.size).cast();
        }
        self
    }
}

impl State {
    fn configure(
        &mut self,
        wanted: &Wanted,
        kernel: &Arc<Kernel>,
        module_number: usize,
        module: &Loaded,
        name: &str,
    ) -> (Launch, u32) {
        let unwatched = Launch {
            dynamic: wanted.shared,
            ..Launch::default()
        };
        let launches = self.totals.get(name).map_or(0, |t| t.launches);
        let samples = wanted.recorded || self.options.samples(launches);
        // What is recorded is watched when it is replayed.
        let later = wanted.recorded && wanted.slot.is_none();
        if !self.options.watches(name) || !samples || later {
            return (unwatched, wanted.shared);
        }
        let Some(device) = current_device() else {
            return (unwatched, wanted.shared);
        };
        self.open(device);
        if self.shadow.as_ref().is_none_or(|s| s.device != device) {
            self.doubt("launches on a second GPU were not watched".to_owned());
            return (unwatched, wanted.shared);
        }
        self.refine_if_due();
        self.cover_variables(module_number);
        let (number, concurrent) = match wanted.slot {
            Some(slot) => (Launch::SLOT | slot, true),
            None => match self.numbered(wanted.stream) {
                Some(numbered) => numbered,
                None => return (unwatched, wanted.shared),
            },
        };
        let Some(shadow) = &self.shadow else {
            return (unwatched, wanted.shared);
        };
        let mut shared = wanted.shared;
        let mut shared_shadow = 0;
        let shared_shift = module.checked.shared_unit.trailing_zeros();
        if module.checked.uses_shared {
            (shared_shadow, shared) = room(wanted, kernel, device, shared_shift);
        }
        let blocks = wanted
            .grid
            .iter()
            .fold(1u64, |all, n| all.saturating_mul(u64::from(*n)));
        let config = Launch {
            config: shadow.config,
            plain_pages: match shadow.shift == 2 {
                true => shadow.pages,
                false => 0,
            },
            number,
            dynamic: wanted.shared,
            shadow: shared_shadow,
            shared_shift,
            many_blocks: blocks > layout::BLOCKS,
            concurrent,
            module: module_number as u32,
            // What a replay runs beside is known when it begins.
            floor: match wanted.slot {
                Some(_) => 1,
                None => self.order.floor(number),
            },
            read_only: Vec::new(),
        };
        if wanted.slot.is_none() {
            self.is_launched(number, kernel, wanted.grid, wanted.block);
        }
        (config, shared)
    }

    /// Of each group of a kernel's loads the buffer that the launch only reads. None where a launch or copy on another stream may write it.
    ///
    /// # Safety
    ///
    /// As for `cuLaunchKernel`.
    unsafe fn read_only(
        &self,
        wanted: &Wanted,
        known: &instrument::Kernel,
        number: u32,
    ) -> Vec<(u64, u64)> {
        let alone = number != 0 && number & Launch::SLOT == 0 && self.order.is_one_stream();
        let Some(shadow) = self.shadow.as_ref().filter(|_| alone) else {
            return Vec::new();
        };
        let value = |pointer: Pointer| {
            // SAFETY: as many parameters as the kernel has, of the bytes that it declares.
            let at = unsafe {
                match wanted.extra.is_null() {
                    true => (*wanted.params.add(pointer.parameter)).cast::<u8>(),
                    false => {
                        let (from, size) = buffer(wanted.extra)?;
                        let at = known.offsets[pointer.parameter] as usize;
                        let end = at + pointer.within as usize + 8;
                        (end <= size && !from.is_null()).then(|| from.add(at).cast_mut())?
                    }
                }
            };
            // SAFETY: the parameter has so many bytes.
            (!at.is_null()).then(|| unsafe {
                at.add(pointer.within as usize)
                    .cast::<u64>()
                    .read_unaligned()
            })
        };
        known
            .read_only
            .buffers(value, |address| shadow.bounds.around(address))
    }

    /// A number for a launch on a stream, and whether there are launches that nothing orders with it.
    pub fn numbered(&mut self, stream: StreamName) -> Option<(u32, bool)> {
        self.follow_copies(stream);
        let next = self.next_number()?;
        let changed = self.order.launch(next, stream);
        self.tell_concurrent(changed.as_deref());
        if let Some(by) = self.order.is_unknown() {
            self.doubt(format!(
                "launches on several streams were not compared, because the program calls `{by}`"
            ));
        }
        Some((next, changed.is_some()))
    }

    /// A watched launch has this number.
    pub fn is_launched(
        &mut self,
        next: u32,
        kernel: &Arc<Kernel>,
        grid: [u32; 3],
        block: [u32; 3],
    ) {
        let number = self.totals.values().map(|t| t.launches).sum();
        self.launched[next as usize] = Some(Launched {
            kernel: kernel.clone(),
            grid,
            block,
            number,
            call: None,
        });
        let totals = self.totals.entry(kernel.name.clone()).or_default();
        totals.watched += 1;
        if totals.watched == 1 && self.told.at_end() {
            // SAFETY: a function without parameters, of a library that stays loaded.
            unsafe { libc::atexit(end) };
            crate::stopped::listen();
        }
    }

    /// Makes the shadow of a device, if there is none yet.
    pub fn open(&mut self, device: i32) {
        if self.shadow.is_some() {
            return;
        }
        let shift = self.shift();
        self.shadow = Shadow::new(device, shift);
        if self.shadow.is_none() {
            self.doubt("there is no room for shadow memory: nothing was watched".to_owned());
        }
    }

    /// The device learns which launches are concurrent: of those whose sets have changed.
    pub fn tell_concurrent(&self, changed: Option<&[u32]>) {
        if let (Some(shadow), Some(changed)) = (&self.shadow, changed) {
            for number in changed {
                shadow.set_concurrent(*number, &self.order.concurrent[*number as usize]);
            }
            shadow.wait();
        }
    }

    /// The number of the next watched launch.
    pub fn next_number(&mut self) -> Option<u32> {
        self.reserve(1).then(|| {
            self.told.next += 1;
            self.told.next
        })
    }

    /// Whether there are so many numbers left before they are used again. For that the device must have come to rest, which nobody may wait for while
    /// a stream is recording.
    pub fn reserve(&mut self, count: u32) -> bool {
        if self.told.next + count <= layout::LAST_LAUNCH {
            return true;
        }
        if is_capturing() {
            self.doubt(
                "some launches were not watched, because more than 254 came while a stream was captured"
                    .to_owned(),
            );
            return false;
        }
        // What is still running may find something, which is told by the numbers as they are now.
        if self.shadow.is_some() {
            real!(cuCtxSynchronize());
        }
        self.flush();
        if let Some(shadow) = &mut self.shadow {
            shadow.renew();
        }
        self.order.renew();
        self.told.next = 0;
        count <= layout::LAST_LAUNCH
    }

    /// A module's variables are watched from its first launch on.
    fn cover_variables(&mut self, number: usize) {
        if !self.told.variables.insert(number) {
            return;
        }
        let handles: Vec<usize> = self
            .modules
            .iter()
            .filter(|(_, n)| **n == number)
            .map(|(handle, _)| *handle)
            .collect();
        let loaded = self.loaded[number].clone();
        for name in &loaded.checked.variables {
            let Ok(text) = std::ffi::CString::new(name.as_str()) else {
                continue;
            };
            for handle in &handles {
                let (mut address, mut bytes) = (0u64, 0usize);
                let found = match self.told.libraries.contains(handle) {
                    true => {
                        real!(cuLibraryGetGlobal(&mut address => *mut u64, &mut bytes => *mut usize, *handle => usize, text.as_ptr() => *const libc::c_char))
                    }
                    false => {
                        real!(cuModuleGetGlobal_v2(&mut address => *mut u64, &mut bytes => *mut usize, *handle => usize, text.as_ptr() => *const libc::c_char))
                    }
                };
                if let (0, Some(shadow)) = (found, &mut self.shadow) {
                    shadow.variable(address, bytes as u64);
                }
            }
        }
    }
}

extern "C" fn end() {
    let _ = std::panic::catch_unwind(|| state().end());
}

/// Shadow and dynamic shared memory of a launch; without the first where it does not fit.
fn room(wanted: &Wanted, kernel: &Kernel, device: i32, shift: u32) -> (u32, u32) {
    const STATIC: u32 = 1;
    const MAX_DYNAMIC: u32 = 8;
    const OPTIN: u32 = 97;
    let function = match kernel.of_library {
        true => function_of(wanted.function),
        false => wanted.function,
    };
    let mut declared = 0i32;
    real!(cuFuncGetAttribute(&mut declared => *mut i32, STATIC => u32, function => usize));
    let declared = declared.max(0) as u32;
    let reserved = attribute(RESERVED, device);
    let most = attribute(OPTIN, device);
    if wanted.shared > most || declared > most {
        // The driver refuses it; and no sum below is larger than a few times as much.
        return (0, wanted.shared);
    }
    // Dynamic memory begins at a multiple of its alignment, which is at most 1,024 (PTX ISA, "Variable and Opaque Declarations").
    let end = (reserved + declared).next_multiple_of(128) + wanted.shared;
    if declared + wanted.shared == 0 {
        return (0, wanted.shared);
    }
    let shadow = Launch::shadow_for(end, shift);
    let dynamic = wanted.shared.next_multiple_of(16) + shadow;
    if declared + dynamic + 128 > most {
        return (0, wanted.shared);
    }
    // The program may have asked for less than this, whatever the usual limit is.
    let mut allowed = 0i32;
    real!(cuFuncGetAttribute(&mut allowed => *mut i32, MAX_DYNAMIC => u32, function => usize));
    if dynamic as i32 > allowed
        && real!(cuFuncSetAttribute(function => usize, MAX_DYNAMIC => u32, dynamic as i32 => i32))
            != 0
    {
        return (0, wanted.shared);
    }
    (shadow, dynamic)
}

/// The current context's function of a library's kernel.
pub fn function_of(handle: usize) -> usize {
    let mut function = 0usize;
    match real!(cuKernelGetFunction(&mut function => *mut usize, handle => usize)) {
        0 => function,
        _ => handle,
    }
}

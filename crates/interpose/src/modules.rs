//! Modules: which PTX an image has, and what the driver gets in its place.

use crate::hooks::is_capturing;
use crate::real_driver::real;
use crate::state::{Loaded, State, state};
use context::fatbin;
use context::pages::readable;
use report::SourceFile;
use std::ffi::CString;
use std::sync::{Arc, Mutex};

/// An image for the driver in place of the program's own.
pub struct Replacement {
    pub text: CString,
    loaded: Loaded,
}

/// `__fatBinC_Wrapper_t` of the public `fatbinary_section.h`.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    more: *const u8,
}

/// Bytes of the container at an address.
///
/// # Safety
///
/// A container begins there, or other memory.
unsafe fn container(at: *const u8) -> Option<&'static [u8]> {
    let here = |bytes: usize| readable(at.addr() as u64, bytes as u64) as usize;
    if here(fatbin::HEADER) < fatbin::HEADER {
        return None;
    }
    // SAFETY: so many bytes can be read, as the system says; the header may say more than there is.
    unsafe {
        let header: &[u8; fatbin::HEADER] = &*at.cast();
        let size = fatbin::size(header).ok()?;
        Some(std::slice::from_raw_parts(at, here(size)))
    }
}

/// The PTX of an image that fits the device.
///
/// # Safety
///
/// `image` is what the driver's loading functions take.
unsafe fn ptx_of(image: *const u8) -> Option<String> {
    const LONGEST: usize = 512 << 20;
    // SAFETY: by the function's own condition.
    unsafe {
        // A text may be shorter than a number.
        let mut first = [0u8; 4];
        for (at, byte) in first.iter_mut().enumerate() {
            *byte = image.add(at).read();
            if *byte == 0 {
                break;
            }
        }
        let first = u32::from_le_bytes(first);
        let container = match first {
            fatbin::MAGIC => container(image)?,
            fatbin::WRAPPER_MAGIC => {
                let wrapper = image.cast::<Wrapper>().read_unaligned();
                container(wrapper.data)?
            }
            _ if first.to_le_bytes() == *b"\x7fELF" => return None,
            _ => {
                let length = libc::strnlen(image.cast(), LONGEST);
                let bytes = std::slice::from_raw_parts(image, length);
                return std::str::from_utf8(bytes).ok().map(str::to_owned);
            }
        };
        chosen(container)
    }
}

/// The PTX of a container that fits the device.
fn chosen(container: &[u8]) -> Option<String> {
    let contents = fatbin::read(container).ok()?;
    let capability = capability();
    let best = fatbin::choose(&contents.ptx, capability)?;
    (best.arch <= capability).then(|| best.text.clone())
}

/// The same of a file. A wrapper, which has addresses, is in no file.
fn ptx_in(file: &[u8]) -> Option<String> {
    match file.first_chunk::<4>() {
        Some(first) if u32::from_le_bytes(*first) == fatbin::MAGIC => chosen(file),
        Some(b"\x7fELF") => None,
        _ => {
            let text = file.split(|byte| *byte == 0).next()?;
            std::str::from_utf8(text).ok().map(str::to_owned)
        }
    }
}

/// The device's compute capability: 90.
fn capability() -> u32 {
    const MAJOR: u32 = 75;
    const MINOR: u32 = 76;
    let number = |which: u32| {
        let mut value = 0i32;
        real!(cuDeviceGetAttribute(&mut value => *mut i32, which => u32, 0 => i32));
        value.max(0) as u32
    };
    number(MAJOR) * 10 + number(MINOR)
}

/// What the driver gets in place of an image; `None` where the image stays.
///
/// # Safety
///
/// As for the driver's function.
pub unsafe fn replacement(image: *const u8) -> Option<Replacement> {
    if image.is_null() {
        return None;
    }
    // SAFETY: by the function's own condition.
    replacement_for(unsafe { ptx_of(image) }?)
}

/// What the driver gets in place of a file.
pub fn replacement_of_file(file: &[u8]) -> Option<Replacement> {
    replacement_for(ptx_in(file)?)
}

fn replacement_for(text: String) -> Option<Replacement> {
    let tree = match ptx::parse(&text) {
        Ok(tree) => tree,
        Err(error) => {
            state().doubt(format!("a module's PTX can't be read: {error}"));
            return None;
        }
    };
    match instrument::instrument(&tree) {
        Ok(checked) => {
            let printed = ptx::print(&checked.module);
            Some(Replacement {
                text: CString::new(printed).ok()?,
                loaded: Loaded {
                    tree,
                    text: Arc::new(SourceFile::new("kernels.ptx".to_owned(), text)),
                    checked,
                    programs: Mutex::default(),
                },
            })
        }
        Err(error) => {
            state().doubt(format!("a module was not watched: {error}"));
            None
        }
    }
}

impl State {
    /// The driver has taken a replacement, under this handle.
    pub fn add_module(&mut self, handle: usize, replacement: Replacement) {
        self.modules.insert(handle, self.loaded.len());
        self.loaded.push(Arc::new(replacement.loaded));
        self.refine_if_due();
    }

    /// Records stand for fewer bytes from now on, where a module needs it: as soon as the device may be waited for.
    pub fn refine_if_due(&mut self) {
        let shift = self.shift();
        if let Some(shadow) = self.shadow.as_mut().filter(|_| !is_capturing()) {
            shadow.refine(shift);
        }
    }

    /// The finest unit that any module's accesses need, as a shift.
    pub fn shift(&self) -> u32 {
        let units = self.loaded.iter().map(|m| m.checked.global_unit);
        units.min().unwrap_or(4).trailing_zeros()
    }

    /// The driver has refused a replacement.
    pub fn refused(&mut self, error: u32) {
        self.doubt(format!(
            "the driver refuses a module with checks (error {error}), which was not watched"
        ));
    }
}

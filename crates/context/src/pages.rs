//! What the system says of the process's pages (`proc_pid_maps(5)`).

use std::io;
use std::ops::Range;

/// Bytes of a page, as the protections have them.
pub const PAGE: u64 = 4096;

/// Pages that are mapped alike (`proc_pid_maps(5)`).
pub struct Mapping {
    /// Their addresses.
    pub pages: Range<u64>,
    /// `rw-p`
    pub mode: String,
    /// Where in the file the first one lies.
    pub offset: u64,
    /// The file's number; 0 where there is none.
    pub inode: u64,
    /// The file, or what the pages are: `[heap]`.
    pub name: String,
}

/// All pages of the process, in the order of their addresses.
///
/// # Errors
///
/// The system does not tell.
pub fn mappings() -> io::Result<Vec<Mapping>> {
    let one = |line: &str| {
        let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
        let mut words = line.split_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let (mode, offset, _device) = (words.next()?, words.next()?, words.next()?);
        Some(Mapping {
            pages: hexadecimal(from)?..hexadecimal(to)?,
            mode: mode.to_owned(),
            offset: hexadecimal(offset)?,
            inode: words.next()?.parse().ok()?,
            name: words.next().unwrap_or_default().to_owned(),
        })
    };
    let text = std::fs::read_to_string("/proc/self/maps")?;
    Ok(text.lines().filter_map(one).collect())
}

/// Whether pages are readable, writable and nobody else's.
///
/// # Errors
///
/// The system does not tell.
pub fn is_private(start: u64, bytes: u64) -> io::Result<bool> {
    let Some(bytes) = bytes.checked_next_multiple_of(PAGE) else {
        return Ok(false);
    };
    let own = |m: &Mapping| m.mode.starts_with("rw") && m.mode.ends_with('p') && m.inode == 0;
    Ok(mapped(start, bytes, own)? == bytes)
}

/// How many of so many bytes from an address on can be read; all of them, where the system does not tell.
pub fn readable(start: u64, bytes: u64) -> u64 {
    mapped(start, bytes, |m| m.mode.starts_with('r')).unwrap_or(bytes)
}

/// How many of so many bytes from an address on lie in mappings of a kind.
fn mapped(start: u64, bytes: u64, is: impl Fn(&Mapping) -> bool) -> io::Result<u64> {
    let Some(end) = start.checked_add(bytes) else {
        return Ok(0);
    };
    let mut at = start;
    for mapping in mappings()? {
        if at < end && mapping.pages.contains(&at) {
            if !is(&mapping) {
                break;
            }
            at = mapping.pages.end.min(end);
        }
    }
    Ok(at - start)
}

//! PTX that was compiled before: the same text, headers, options and compiler give the same PTX.
//!
//! An entry is a file in `$XDG_CACHE_HOME/racetrap/ptx` that holds all that the compiler was given, the headers that it read, and what
//! it wrote. Its name is a hash, but nothing is trusted to a hash: the texts themselves are compared, so that nobody can make a source
//! that is taken for another one. Of headers outside the source's reach, those of the system and the toolkit, size and time of change
//! are compared. Not seen: a header that appears in a folder that is searched earlier.
//!
//! Only what a compiler made is kept, never that it failed. An entry is written beside its place and moved there, and what it ends with
//! is a sum of the rest, so that half an entry, or one whose bits a disk has lost, is none.
//!
//! A cache that can't be read or written is none; that is no error.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Entries that are kept; the oldest go first.
const ENTRIES: usize = 200;
/// Largest entry, bytes.
const LARGEST: usize = 32 << 20;
/// First line of an entry: its format.
const FORMAT: &str = "racetrap ptx 2";

/// Compiled PTX in a folder.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    entries: usize,
}

/// A header that the compiler read, and how it is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// By its text.
    Text(PathBuf),
    /// By its size and time of change.
    Stamp(PathBuf),
}

impl Cache {
    /// In this folder.
    pub fn at(folder: &Path) -> Cache {
        Cache {
            folder: folder.to_path_buf(),
            entries: ENTRIES,
        }
    }

    /// That keeps so many entries.
    #[must_use]
    pub fn of_entries(self, entries: usize) -> Cache {
        Cache { entries, ..self }
    }

    /// What was compiled of this: the text of all that the compiler is given.
    pub fn get(&self, given: &[u8]) -> Option<String> {
        let path = self.path(given);
        let bytes = std::fs::read(&path).ok()?;
        let mut parts = Parts(whole(&bytes)?);
        if parts.next()? != FORMAT.as_bytes() || parts.next()? != given {
            return None;
        }
        let count = number(parts.next()?)?;
        for _ in 0..count {
            let kind = parts.next()?;
            let path = PathBuf::from(std::str::from_utf8(parts.next()?).ok()?);
            let header = match kind {
                b"text" => Header::Text(path),
                _ => Header::Stamp(path),
            };
            if header.content()? != parts.next()? {
                return None;
            }
        }
        String::from_utf8(parts.next()?.to_vec()).ok()
    }

    /// Keeps what was compiled.
    pub fn put(&self, given: &[u8], headers: &[Header], ptx: &str) {
        let mut entry = Vec::new();
        part(&mut entry, FORMAT.as_bytes());
        part(&mut entry, given);
        part(&mut entry, headers.len().to_string().as_bytes());
        for header in headers {
            let (kind, path) = match header {
                Header::Text(path) => ("text", path),
                Header::Stamp(path) => ("stamp", path),
            };
            let (Some(path), Some(content)) = (path.to_str(), header.content()) else {
                return;
            };
            part(&mut entry, kind.as_bytes());
            part(&mut entry, path.as_bytes());
            part(&mut entry, &content);
        }
        part(&mut entry, ptx.as_bytes());
        let sum = sum(&entry);
        entry.extend(sum.to_le_bytes());
        if entry.len() > LARGEST || std::fs::create_dir_all(&self.folder).is_err() {
            return;
        }
        // Whole or not at all.
        let Ok(mut file) = tempfile::NamedTempFile::new_in(&self.folder) else {
            return;
        };
        if std::io::Write::write_all(&mut file, &entry).is_ok() {
            let _ = file.persist(self.path(given));
        }
        self.forget_oldest();
    }

    fn path(&self, given: &[u8]) -> PathBuf {
        let mut hash = DefaultHasher::new();
        given.hash(&mut hash);
        self.folder.join(format!("{:016x}", hash.finish()))
    }

    fn forget_oldest(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            return;
        };
        let mut all: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            // `racetrap diff --across` keeps its own in the same folder.
            .filter(|e| e.path().extension().is_none())
            .filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path())))
            .collect();
        all.sort();
        let over = all.len().saturating_sub(self.entries);
        for (_, path) in &all[..over] {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Header {
    fn content(&self) -> Option<Vec<u8>> {
        match self {
            Header::Text(path) => std::fs::read(path).ok(),
            Header::Stamp(path) => stamp(path).map(String::into_bytes),
        }
    }
}

/// Size and time of change of a file.
pub(super) fn stamp(path: &Path) -> Option<String> {
    let data = std::fs::metadata(path).ok()?;
    let changed = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {}", data.len(), changed.as_nanos()))
}

/// What an entry ends with.
fn sum(bytes: &[u8]) -> u64 {
    let mut hash = DefaultHasher::new();
    hash.write(bytes);
    hash.finish()
}

/// An entry without its sum, where that is right.
fn whole(bytes: &[u8]) -> Option<&[u8]> {
    let (rest, end) = bytes.split_last_chunk::<8>()?;
    (sum(rest) == u64::from_le_bytes(*end)).then_some(rest)
}

/// Appends a part of an entry: its length, and its bytes.
pub(super) fn part(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(format!("{}\n", bytes.len()).into_bytes());
    out.extend(bytes);
    out.push(b'\n');
}

/// The parts of an entry, in order.
struct Parts<'a>(&'a [u8]);

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|b| *b == b'\n')?;
        let length = number(&self.0[..end])?;
        let rest = &self.0[end + 1..];
        let bytes = rest.get(..length)?;
        self.0 = rest.get(length..)?.strip_prefix(b"\n")?;
        Some(bytes)
    }
}

/// What an entry is the answer to.
#[cfg(test)]
pub(super) fn given_of(entry: &[u8]) -> Vec<u8> {
    Parts(entry).nth(1).unwrap().to_vec()
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_not_found() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(&folder.path().join("ptx"));
        let header = folder.path().join("h.h");
        std::fs::write(&header, "one").unwrap();
        assert_eq!(cache.get(b"given"), None);
        cache.put(
            b"given",
            &[Header::Text(header.clone()), Header::Stamp(header.clone())],
            "ptx\n2\n",
        );
        assert_eq!(cache.get(b"given").as_deref(), Some("ptx\n2\n"));
        assert_eq!(cache.get(b"other"), None);
        // Another source of the same hash.
        std::fs::rename(cache.path(b"given"), cache.path(b"other")).unwrap();
        assert_eq!(cache.get(b"other"), None);
        std::fs::rename(cache.path(b"other"), cache.path(b"given")).unwrap();
        std::fs::write(&header, "two").unwrap();
        assert_eq!(cache.get(b"given"), None);
        std::fs::remove_file(&header).unwrap();
        assert_eq!(cache.get(b"given"), None);
    }

    #[test]
    fn rubbish_is_no_entry() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        cache.put(b"given", &[], "ptx");
        let path = cache.path(b"given");
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(cache.get(b"given"), None);
        }
        std::fs::write(&path, b"99999999999999999999\n").unwrap();
        assert_eq!(cache.get(b"given"), None);
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 1;
            std::fs::write(&path, other).unwrap();
            assert_eq!(cache.get(b"given"), None, "bit of byte {at}");
        }
    }

    #[test]
    fn old_entries_go() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        for i in 0..ENTRIES + 5 {
            cache.put(format!("{i}").as_bytes(), &[], "ptx");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), ENTRIES);
    }
}

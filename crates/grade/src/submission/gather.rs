//! What is taken of a folder or an archive: plain files that are asked for, up to the size that is allowed, and nothing else.

use super::{CollectError, Files, SubmissionError};
use crate::assignment::{Submission, read::is_file_name};
use crate::forbidden_text;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek};
use std::path::{Component, Path};

/// Entries of an archive or folder that are looked at.
pub(super) const ENTRIES: usize = 10_000;

/// A problem with the submission, or with the machine.
pub(super) enum Trouble {
    Submission(SubmissionError),
    Io(io::Error),
}

impl Trouble {
    pub fn or_read(self, path: &Path) -> CollectError {
        match self {
            Trouble::Submission(error) => error.into(),
            Trouble::Io(error) => CollectError::Read {
                path: path.display().to_string(),
                error,
            },
        }
    }

    /// In an archive, what can't be read is the archive's fault.
    fn or_archive(self) -> SubmissionError {
        match self {
            Trouble::Submission(error) => error,
            Trouble::Io(error) => bad_archive(error),
        }
    }
}

impl From<SubmissionError> for Trouble {
    fn from(error: SubmissionError) -> Trouble {
        Trouble::Submission(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Io(error)
    }
}

fn bad_archive(reason: impl ToString) -> SubmissionError {
    SubmissionError::Archive {
        reason: reason.to_string(),
    }
}

/// What was gathered until now.
pub(super) struct Gathered<'a> {
    wanted: &'a Submission,
    bytes: BTreeMap<String, Vec<u8>>,
    ignored: Vec<String>,
    total: u64,
    entries: usize,
}

impl<'a> Gathered<'a> {
    /// Nothing yet.
    pub fn new(wanted: &'a Submission) -> Gathered<'a> {
        Gathered {
            wanted,
            bytes: BTreeMap::new(),
            ignored: Vec::new(),
            total: 0,
            entries: 0,
        }
    }

    fn takes(&self, name: &str) -> bool {
        let patterns = self.wanted.require.iter().map(|n| n == name);
        let allowed = self.wanted.allow.iter().map(|p| matches(p, name));
        is_file_name(name) && patterns.chain(allowed).any(|takes| takes)
    }

    fn count(&mut self) -> Result<(), SubmissionError> {
        self.entries += 1;
        match self.entries > ENTRIES {
            true => Err(SubmissionError::Entries),
            false => Ok(()),
        }
    }

    /// Takes a file, or notes that it is not wanted.
    pub fn add(&mut self, name: &str, mut from: impl Read) -> Result<(), Trouble> {
        if !self.takes(name) || self.bytes.contains_key(name) {
            self.ignore(name);
            return Ok(());
        }
        let most = self.wanted.max_bytes;
        let mut bytes = Vec::new();
        from.by_ref()
            .take(most - self.total + 1)
            .read_to_end(&mut bytes)?;
        self.total += bytes.len() as u64;
        if self.total > most {
            return Err(SubmissionError::TooLarge { most }.into());
        }
        self.bytes.insert(name.to_owned(), bytes);
        Ok(())
    }

    fn ignore(&mut self, name: &str) {
        const SHOWN: usize = 50;
        if self.ignored.len() < SHOWN {
            self.ignored
                .push(name.chars().filter(|c| !c.is_control()).take(200).collect());
        }
    }

    /// The files of a folder; if there is one folder in it and nothing else, of that one.
    pub fn folder(&mut self, folder: &Path) -> Result<(), Trouble> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            self.count()?;
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.push((name, entry.file_type()?, entry.path()));
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let seen = |(name, ..): &&(String, std::fs::FileType, _)| {
            !name.starts_with('.') && name != "__MACOSX"
        };
        let shown: Vec<_> = entries.iter().filter(seen).collect();
        if let [(_, kind, path)] = shown.as_slice()
            && kind.is_dir()
        {
            return self.folder(path);
        }
        for (name, kind, path) in &entries {
            if kind.is_symlink() {
                if self.takes(name) {
                    return Err(SubmissionError::Link { name: name.clone() }.into());
                }
                self.ignore(name);
            } else if kind.is_file() {
                self.add(name, std::fs::File::open(path)?)?;
            } else if self.takes(name) {
                // A device or a pipe would never end.
                return Err(SubmissionError::NoFile { name: name.clone() }.into());
            } else {
                self.ignore(name);
            }
        }
        Ok(())
    }

    pub fn zip(&mut self, file: impl Read + Seek) -> Result<(), SubmissionError> {
        let mut archive = zip::ZipArchive::new(file).map_err(bad_archive)?;
        let mut names = Vec::new();
        for index in 0..archive.len() {
            self.count()?;
            let entry = archive.by_index_raw(index).map_err(bad_archive)?;
            let is_link = entry
                .unix_mode()
                .is_some_and(|mode| mode & 0o170_000 == 0o120_000);
            names.push((entry.name().to_owned(), entry.is_dir(), is_link));
        }
        let base = base(names.iter().map(|(name, ..)| name.as_str()))?;
        for (index, (name, is_dir, is_link)) in names.iter().enumerate() {
            let Some(inside) = inside(&base, name, *is_dir, *is_link, self)? else {
                continue;
            };
            let entry = archive.by_index(index).map_err(bad_archive)?;
            self.add(&inside, entry).map_err(Trouble::or_archive)?;
        }
        Ok(())
    }

    pub fn tar(&mut self, from: impl Read) -> Result<(), SubmissionError> {
        // The whole is read once, so what it may unpack to has a limit of its own.
        const SCAN: u64 = 256 << 20;
        let mut archive = tar::Archive::new(from.take(SCAN));
        let mut all: Vec<(String, bool, bool, Vec<u8>)> = Vec::new();
        let (mut kept, most) = (0, self.wanted.max_bytes);
        for entry in archive.entries().map_err(bad_archive)? {
            self.count()?;
            let mut entry = entry.map_err(bad_archive)?;
            let name = entry
                .path()
                .map_err(bad_archive)?
                .to_string_lossy()
                .into_owned();
            let kind = entry.header().entry_type();
            let last = name.rsplit('/').next().unwrap_or_default();
            let mut bytes = Vec::new();
            if kind.is_file() && self.takes(last) {
                let read = entry.by_ref().take(most + 1 - kept).read_to_end(&mut bytes);
                kept += read.map_err(bad_archive)? as u64;
                if kept > most {
                    return Err(SubmissionError::TooLarge { most });
                }
            }
            let is_link = kind.is_symlink() || kind.is_hard_link();
            if !kind.is_file() && !kind.is_dir() && !is_link {
                continue;
            }
            all.push((name, kind.is_dir(), is_link, bytes));
        }
        let base = base(all.iter().map(|(name, ..)| name.as_str()))?;
        for (name, is_dir, is_link, bytes) in &all {
            if let Some(inside) = inside(&base, name, *is_dir, *is_link, self)? {
                self.add(&inside, bytes.as_slice())
                    .map_err(Trouble::or_archive)?;
            }
        }
        Ok(())
    }

    /// The files, if they keep to what is asked for.
    pub fn finish(self) -> Result<Files, SubmissionError> {
        let mut texts = BTreeMap::new();
        for (name, bytes) in self.bytes {
            let text = String::from_utf8(bytes).ok().filter(|t| !t.contains('\0'));
            let text = text.ok_or_else(|| SubmissionError::NoText { name: name.clone() })?;
            texts.insert(name, text);
        }
        for name in &self.wanted.require {
            if !texts.contains_key(name) {
                let others = self.ignored.iter().map(String::as_str);
                let same = others.clone().find(|n| n.eq_ignore_ascii_case(name));
                let near = same.or_else(|| report::nearest(name, others));
                return Err(SubmissionError::Missing {
                    name: name.clone(),
                    near: near.map(str::to_owned),
                });
            }
        }
        for (name, text) in &texts {
            if let Some((line, text)) = forbidden_text::forbidden(text, &self.wanted.forbid) {
                return Err(SubmissionError::Forbidden {
                    name: name.clone(),
                    line,
                    text,
                });
            }
        }
        Ok(Files {
            texts,
            ignored: self.ignored,
        })
    }
}

/// What the names of an archive begin with: a folder that all of them are in, with its slash.
fn base<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Result<String, SubmissionError> {
    for name in names.clone() {
        let outside = Path::new(name)
            .components()
            .any(|c| !matches!(c, Component::Normal(_) | Component::CurDir));
        if outside || name.contains('\\') {
            let name = name.chars().filter(|c| !c.is_control()).take(200).collect();
            return Err(SubmissionError::Outside { name });
        }
    }
    let mut base = String::new();
    loop {
        let mut rest = names
            .clone()
            .filter_map(|n| n.trim_start_matches("./").strip_prefix(base.as_str()))
            .filter(|n| !n.is_empty() && !n.starts_with("__MACOSX"));
        let Some(folder) = rest
            .next()
            .and_then(|n| n.split_once('/'))
            .map(|(f, _)| format!("{f}/"))
        else {
            return Ok(base);
        };
        if !rest.all(|n| n.starts_with(&folder)) {
            return Ok(base);
        }
        base += &folder;
    }
}

/// The name of an entry in the base folder; `None` for what is not taken.
fn inside(
    base: &str,
    name: &str,
    is_dir: bool,
    is_link: bool,
    gathered: &mut Gathered<'_>,
) -> Result<Option<String>, SubmissionError> {
    let Some(inside) = name.trim_start_matches("./").strip_prefix(base) else {
        return Ok(None);
    };
    if is_link && gathered.takes(inside) {
        return Err(SubmissionError::Link {
            name: inside.to_owned(),
        });
    }
    if is_dir || is_link || inside.contains('/') {
        if !is_dir {
            gathered.ignore(inside);
        }
        return Ok(None);
    }
    Ok(Some(inside.to_owned()))
}

/// Whether a name fits a pattern in which `*` is any text.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

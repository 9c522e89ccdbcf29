//! Collects what a student handed in: a folder, a file, or an archive.
//!
//! Nothing in it is trusted. Of a folder or archive, plain files of the names that the assignment asks for are read, and nothing else:
//! links are refused wherever they lead, and so is an archive with a name that leads out of it. No more is read than the assignment
//! allows, however large a file says it is or grows when it is unpacked.

use crate::assignment::{Submission, read::is_file_name};
use crate::code;
use crate::hash::sha256;
use crate::result::{FileHash, Submitted};
use std::collections::BTreeMap;
use std::io::{self, Read, Seek};
use std::path::{Component, Path};

/// Entries of an archive or folder that are looked at.
const ENTRIES: usize = 10_000;

/// The files that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Their texts by name.
    pub texts: BTreeMap<String, String>,
    /// Names of others, which are not looked at.
    pub ignored: Vec<String>,
}

/// Why a submission does not keep to what is asked for. The words are for the student.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmissionError {
    /// A file is not there.
    #[error("the file `{name}` is missing{}", near.as_ref().map(|n| format!("; there is `{n}`: rename it")).unwrap_or_default())]
    Missing {
        /// The file.
        name: String,
        /// One whose name is like it.
        near: Option<String>,
    },
    /// More bytes than are allowed.
    #[error("the files have more than {most} bytes together")]
    TooLarge {
        /// Bytes.
        most: u64,
    },
    /// A link.
    #[error("`{name}` is a link; hand in the file itself")]
    Link {
        /// Its name.
        name: String,
    },
    /// A name that leads out of the archive.
    #[error("the archive has an entry `{name}`, which leads out of it")]
    Outside {
        /// The name.
        name: String,
    },
    /// Something else than a file has a name that is asked for.
    #[error("`{name}` is not a file")]
    NoFile {
        /// The name.
        name: String,
    },
    /// No text.
    #[error("`{name}` is not a text file in UTF-8")]
    NoText {
        /// The file.
        name: String,
    },
    /// A text that may not stand there.
    #[error("`{name}:{line}` uses `{text}`, which this assignment does not allow")]
    Forbidden {
        /// The file.
        name: String,
        /// The line.
        line: usize,
        /// The text.
        text: String,
    },
    /// An archive that can't be read.
    #[error("the archive can't be read: {reason}")]
    Archive {
        /// Why.
        reason: String,
    },
    /// It has too many entries.
    #[error("there are more than {ENTRIES} files")]
    Entries,
}

/// Why nothing can be said of a submission.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The submission does not keep to what is asked for.
    #[error(transparent)]
    Submission(#[from] SubmissionError),
    /// It can't be read here.
    #[error("{path}: {error}")]
    Read {
        /// The path.
        path: String,
        /// The system's error.
        error: io::Error,
    },
}

impl Files {
    /// What a result says of them.
    pub fn submitted(&self, name: &str) -> Submitted {
        let files = self.texts.iter().map(|(file, text)| {
            let hash = FileHash {
                bytes: text.len() as u64,
                sha256: sha256([text.as_bytes()]),
            };
            (file.clone(), hash)
        });
        Submitted {
            name: name.to_owned(),
            sha256: self.hash(),
            files: files.collect(),
            ignored: self.ignored.clone(),
        }
    }

    /// A hash of the names and texts.
    pub fn hash(&self) -> String {
        let parts = self
            .texts
            .iter()
            .flat_map(|(n, t)| [n.as_bytes(), t.as_bytes()]);
        sha256(parts)
    }
}

/// Reads a submission.
///
/// # Errors
///
/// It does not keep to what is asked for, or can't be read.
pub fn collect(path: &Path, wanted: &Submission) -> Result<Files, CollectError> {
    let read = |error| CollectError::Read {
        path: path.display().to_string(),
        error,
    };
    let kind = std::fs::symlink_metadata(path).map_err(read)?.file_type();
    let mut gathered = Gathered::new(wanted);
    let name = path
        .file_name()
        .and_then(|n| n.to_str())
        .unwrap_or_default();
    if kind.is_symlink() {
        return Err(SubmissionError::Link { name: name.into() }.into());
    } else if kind.is_dir() {
        gathered.folder(path).map_err(|e| e.or_read(path))?;
    } else {
        let file = std::fs::File::open(path).map_err(read)?;
        let lower = name.to_ascii_lowercase();
        if lower.ends_with(".zip") {
            gathered.zip(file)?;
        } else if lower.ends_with(".tar.gz") || lower.ends_with(".tgz") {
            gathered.tar(flate2::read::GzDecoder::new(file))?;
        } else if lower.ends_with(".tar") {
            gathered.tar(file)?;
        } else {
            // A file by itself is the one that is asked for, if one is.
            let name = match wanted.require.as_slice() {
                [one] => one.as_str(),
                _ => name,
            };
            gathered.add(name, file).map_err(|e| e.or_read(path))?;
        }
    }
    Ok(gathered.finish()?)
}

/// A problem with the submission, or with the machine.
enum Trouble {
    Submission(SubmissionError),
    Io(io::Error),
}

impl Trouble {
    fn or_read(self, path: &Path) -> CollectError {
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

struct Gathered<'a> {
    wanted: &'a Submission,
    bytes: BTreeMap<String, Vec<u8>>,
    ignored: Vec<String>,
    total: u64,
    entries: usize,
}

impl<'a> Gathered<'a> {
    fn new(wanted: &'a Submission) -> Gathered<'a> {
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
    fn add(&mut self, name: &str, mut from: impl Read) -> Result<(), Trouble> {
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
    fn folder(&mut self, folder: &Path) -> Result<(), Trouble> {
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

    fn zip(&mut self, file: impl Read + Seek) -> Result<(), SubmissionError> {
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

    fn tar(&mut self, from: impl Read) -> Result<(), SubmissionError> {
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

    fn finish(self) -> Result<Files, SubmissionError> {
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
            if let Some((line, text)) = code::forbidden(text, &self.wanted.forbid) {
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
fn matches(pattern: &str, name: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn wanted() -> Submission {
        Submission {
            require: vec!["scan.cu".into()],
            allow: vec!["*.cuh".into()],
            forbid: vec!["asm".into()],
            max_bytes: 1000,
        }
    }

    fn zip(entries: &[(&str, &str)], link: Option<&str>) -> tempfile::NamedTempFile {
        let file = tempfile::Builder::new().suffix(".zip").tempfile().unwrap();
        let mut archive = zip::ZipWriter::new(file.reopen().unwrap());
        let options = zip::write::SimpleFileOptions::default();
        for (name, text) in entries {
            archive.start_file(*name, options).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        if let Some(name) = link {
            archive.add_symlink(name, "/etc/passwd", options).unwrap();
        }
        archive.finish().unwrap();
        file
    }

    fn refused(path: &Path) -> SubmissionError {
        match collect(path, &wanted()) {
            Err(CollectError::Submission(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_archive_in_a_folder_is_taken_with_what_is_asked_for() {
        let file = zip(
            &[
                ("ada/scan.cu", "// a"),
                ("ada/x.cuh", ""),
                ("ada/notes.txt", ""),
                ("ada/sub/scan.cu", ""),
            ],
            None,
        );
        let files = collect(file.path(), &wanted()).unwrap();
        assert_eq!(files.texts.keys().collect::<Vec<_>>(), ["scan.cu", "x.cuh"]);
        assert_eq!(files.ignored, ["notes.txt", "sub/scan.cu"]);
    }

    #[test]
    fn what_leads_out_of_an_archive_is_refused() {
        for name in [
            "../scan.cu",
            "/tmp/scan.cu",
            "a/../../scan.cu",
            "..\\scan.cu",
        ] {
            let file = zip(&[("scan.cu", ""), (name, "")], None);
            assert!(
                matches!(refused(file.path()), SubmissionError::Outside { .. }),
                "{name}"
            );
        }
        let file = zip(&[("x.cuh", "")], Some("scan.cu"));
        assert!(matches!(refused(file.path()), SubmissionError::Link { .. }));
    }

    #[test]
    fn archives_that_grow_are_cut() {
        let large = " ".repeat(50_000_000);
        let file = zip(&[("scan.cu", &large)], None);
        assert!(matches!(
            refused(file.path()),
            SubmissionError::TooLarge { most: 1000 }
        ));
        let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(
            Vec::new(),
            flate2::Compression::fast(),
        ));
        let mut header = tar::Header::new_gnu();
        header.set_size(large.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, "scan.cu", large.as_bytes())
            .unwrap();
        let file = tempfile::Builder::new().suffix(".tgz").tempfile().unwrap();
        std::fs::write(file.path(), archive.into_inner().unwrap().finish().unwrap()).unwrap();
        assert!(matches!(
            refused(file.path()),
            SubmissionError::TooLarge { most: 1000 }
        ));
        std::fs::write(file.path(), "no archive").unwrap();
        assert!(matches!(
            refused(file.path()),
            SubmissionError::Archive { .. }
        ));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("scan.cu");
        std::os::unix::fs::symlink("/etc/passwd", &at).unwrap();
        assert!(matches!(
            refused(folder.path()),
            SubmissionError::Link { .. }
        ));
        assert!(matches!(refused(&at), SubmissionError::Link { .. }));
        std::fs::remove_file(&at).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(&at)
            .status()
            .unwrap();
        assert!(made.success());
        assert!(matches!(
            refused(folder.path()),
            SubmissionError::NoFile { .. }
        ));
    }

    #[test]
    fn what_is_missing_or_no_text_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Scan.cu"), "").unwrap();
        assert_eq!(
            refused(folder.path()).to_string(),
            "the file `scan.cu` is missing; there is `Scan.cu`: rename it"
        );
        std::fs::write(folder.path().join("scan.cu"), [0xff, 0xfe]).unwrap();
        assert!(matches!(
            refused(folder.path()),
            SubmissionError::NoText { .. }
        ));
        std::fs::write(
            folder.path().join("scan.cu"),
            "// asm\nint x;\nvoid f() { asm volatile(\"\"); }",
        )
        .unwrap();
        assert_eq!(
            refused(folder.path()).to_string(),
            "`scan.cu:3` uses `asm`, which this assignment does not allow"
        );
    }

    #[test]
    fn patterns_match() {
        assert!(matches("*.cuh", "a.cuh") && matches("a*b*c", "aXbYc") && matches("a", "a"));
        assert!(!matches("*.cuh", "a.cu") && !matches("a", "ab") && !matches("a*b*c", "acb"));
    }
}

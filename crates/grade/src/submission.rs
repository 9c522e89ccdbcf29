//! Collects what a student handed in: a folder, a file, or an archive.
//!
//! Nothing in it is trusted. Of a folder or archive, plain files of the names that the assignment asks for are read, and nothing else:
//! links are refused wherever they lead, and so is an archive with a name that leads out of it. No more is read than the assignment
//! allows, however large a file says it is or grows when it is unpacked.

mod gather;

use crate::assignment::Submission;
use crate::hash::sha256;
use crate::result::{FileHash, Submitted};
use gather::{ENTRIES, Gathered, plain_file};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

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
    /// A name that no file can have.
    #[error("the archive has a name of more than {most} bytes")]
    LongName {
        /// Bytes.
        most: usize,
    },
    /// Folders without end.
    #[error("the folders lie too deep inside each other")]
    Deep,
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
        // What never ends is not begun.
        let Some(file) = plain_file(path).map_err(read)? else {
            return Err(SubmissionError::NoFile { name: name.into() }.into());
        };
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

#[cfg(test)]
mod tests {
    use super::gather::matches;
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

    /// Small archives that ask for much: names of a million folders, lists without end, and what unpacks to more than is read.
    #[test]
    fn archives_that_ask_for_much_are_refused_soon() {
        let began = std::time::Instant::now();
        let gz = || flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let tgz = tempfile::Builder::new().suffix(".tgz").tempfile().unwrap();
        let refused_tar = |archive: tar::Builder<flate2::write::GzEncoder<Vec<u8>>>| {
            std::fs::write(tgz.path(), archive.into_inner().unwrap().finish().unwrap()).unwrap();
            refused(tgz.path())
        };
        // GNU's long name: an entry of type `L` before the file.
        let long = "a/".repeat(500_000) + "scan.cu";
        let mut archive = tar::Builder::new(gz());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(long.len() as u64);
        header.set_path("././@LongLink").unwrap();
        header.set_cksum();
        archive.append(&header, long.as_bytes()).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_path("scan.cu").unwrap();
        header.set_cksum();
        archive.append(&header, &b""[..]).unwrap();
        let error = refused_tar(archive);
        assert!(matches!(error, SubmissionError::LongName { .. }), "{error}");
        // Many names that are as deep as names may be.
        let mut archive = tar::Builder::new(gz());
        for number in 0..3000 {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            let name = "a/".repeat(2000) + &number.to_string();
            archive.append_data(&mut header, name, &b""[..]).unwrap();
        }
        let error = refused_tar(archive);
        assert!(matches!(error, SubmissionError::Missing { .. }), "{error}");
        // What nobody asked for, without end.
        let mut archive = tar::Builder::new(gz());
        let mut header = tar::Header::new_gnu();
        header.set_size(1 << 40);
        header.set_path("data").unwrap();
        header.set_cksum();
        let zeros = std::io::Read::take(std::io::repeat(0), 300 << 20);
        archive.append(&header, zeros).unwrap();
        let error = refused_tar(archive);
        assert!(matches!(error, SubmissionError::Archive { .. }), "{error}");
        // A list that is longer than all that is looked at.
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        for number in 0..200_000 {
            archive.start_file(number.to_string(), options).unwrap();
        }
        let file = tempfile::Builder::new().suffix(".zip").tempfile().unwrap();
        std::fs::write(file.path(), archive.finish().unwrap().into_inner()).unwrap();
        let error = refused(file.path());
        assert!(matches!(error, SubmissionError::Archive { .. }), "{error}");
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
    }

    #[cfg(unix)]
    #[test]
    fn folders_without_end_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let deep = (0..100).fold(folder.path().to_owned(), |path, _| path.join("d"));
        std::fs::create_dir_all(&deep).unwrap();
        assert_eq!(refused(folder.path()), SubmissionError::Deep);
        let error = refused(Path::new("/dev/zero"));
        assert!(matches!(error, SubmissionError::NoFile { .. }), "{error}");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let error = refused(&pipe);
        assert!(matches!(error, SubmissionError::NoFile { .. }), "{error}");
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

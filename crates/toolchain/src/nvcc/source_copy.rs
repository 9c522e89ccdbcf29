//! The scratch folder in which one source is compiled: a copy under a harmless name, links to folders of headers, a header with the macros;
//! and back: messages and PTX that name the files where they are.

use super::CompileOptions;
use super::SOURCE;
use crate::cache::Header;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The scratch folder in which a source is compiled.
pub(super) struct Room {
    pub(super) scratch: PathBuf,
    /// The copy's name.
    pub(super) copy: String,
    /// The source as the user named it, and where it is.
    file: PathBuf,
    real: PathBuf,
    /// Links in the scratch folder, and where they lead. The first one is the source's folder.
    pub(super) links: Vec<(String, PathBuf)>,
    /// Headers to include before the source.
    pub(super) headers: Vec<PathBuf>,
}

/// The name by which a compiler that runs in its scratch folder sees the source's folder; messages about files above it have it.
pub const SOURCE_FOLDER: &str = "source";
/// The header that has the macros.
pub(super) const MACROS: &str = "racetrap-macros.h";
/// The file that names the headers that were read.
pub(super) const DEPENDENCIES: &str = "out.d";

impl Room {
    pub(super) fn new(
        scratch: &Path,
        file: &Path,
        options: &CompileOptions,
    ) -> std::io::Result<Room> {
        let real = std::path::absolute(file)?;
        let folder = real.parent().unwrap_or(Path::new("/")).to_path_buf();
        let mut links = vec![(SOURCE_FOLDER.to_owned(), folder)];
        for (number, folder) in options.includes.iter().enumerate() {
            links.push((format!("include{number}"), std::path::absolute(folder)?));
        }
        let headers: Result<Vec<PathBuf>, _> =
            options.before.iter().map(std::path::absolute).collect();
        let room = Room {
            scratch: scratch.canonicalize()?,
            copy: copy_name(&real),
            file: file.to_path_buf(),
            real,
            links,
            headers: headers?,
        };
        for (link, folder) in &room.links {
            link_to(folder, &room.scratch.join(link))?;
        }
        let size = std::fs::metadata(file)?.len();
        if size > SOURCE {
            return Err(std::io::Error::other(format!(
                "the source has {} MiB, more than {} MiB",
                size >> 20,
                SOURCE >> 20
            )));
        }
        let mut text = match line_name(&room.real) {
            Some(name) => format!("#line 1 \"{name}\"\n").into_bytes(),
            None => Vec::new(),
        };
        text.extend(std::fs::read(file)?);
        std::fs::write(room.scratch.join(&room.copy), text)?;
        let mut macros: String = options.defines.iter().map(|d| macro_line(d)).collect();
        for header in &room.headers {
            if let Some(name) = line_name(header) {
                macros += &format!("#include \"{name}\"\n");
            }
        }
        std::fs::write(room.scratch.join(MACROS), macros)?;
        Ok(room)
    }

    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut all: Vec<OsString> = vec!["-include".into(), MACROS.into()];
        for (index, (link, _)) in self.links.iter().enumerate() {
            match index {
                // For `#include "…"` alone, as if the copy lay there.
                0 => all.extend(["-Xcompiler".into(), format!("-iquote{link}").into()]),
                _ => all.extend(["-I".into(), link.into()]),
            }
        }
        all.extend(["-o".into(), "out.ptx".into(), self.copy.clone().into()]);
        all
    }

    /// The headers that the compiler read, where they are; `None` where that is not known.
    pub(super) fn headers_read(&self) -> Option<Vec<Header>> {
        let text = std::fs::read_to_string(self.scratch.join(DEPENDENCIES)).ok()?;
        // `out.ptx : copy.cu \` and one name a line; a blank in a name has a backslash.
        let (_, names) = text.split_once(" :")?;
        let mut all = Vec::new();
        for line in names.lines() {
            let name = line.trim().trim_end_matches('\\').trim();
            // The header that has the macros is named so.
            let name = name.strip_prefix("./").unwrap_or(name);
            if name.is_empty() || name == self.copy || name == MACROS {
                continue;
            }
            if name.contains('\\') || name.contains(' ') {
                return None;
            }
            let link = self.links.iter().find_map(|(link, folder)| {
                let inside = self.scratch.join(link);
                let rest = Path::new(name)
                    .strip_prefix(&inside)
                    .or_else(|_| Path::new(name).strip_prefix(link));
                Some(folder.join(rest.ok()?))
            });
            all.push(match link {
                Some(path) => Header::Text(path),
                None if self.headers.iter().any(|h| h == Path::new(name)) => {
                    Header::Text(name.into())
                }
                None => Header::Stamp(name.into()),
            });
        }
        Some(all)
    }

    /// A text in which the scratch folder's names are the real ones.
    pub(super) fn renamed(&self, text: &str) -> String {
        let mut text = text.replace(&*self.real.to_string_lossy(), &self.file.to_string_lossy());
        for (link, folder) in &self.links {
            let folder = format!("{}/", folder.display());
            let inside = format!("{}/{link}/", self.scratch.display());
            text = text.replace(&inside, &folder);
            text = text
                .lines()
                .map(|line| match line.strip_prefix(&format!("{link}/")) {
                    Some(rest) => format!("{folder}{rest}"),
                    None => line.to_owned(),
                })
                .collect::<Vec<_>>()
                .join("\n");
        }
        let copy = format!("\"{}\"", Path::new(&self.copy).display());
        let file = format!("\"{}\"", self.file.display());
        text.replace(&format!("{}/", self.scratch.display()), "")
            .replace(
                &format!("compilation of {copy}"),
                &format!("compilation of {file}"),
            )
    }

    /// PTX whose `.file` directives name the files where they are. nvcc puts the folder that it runs in before all names.
    pub(super) fn with_real_files(&self, ptx: &str) -> String {
        let mut out = String::with_capacity(ptx.len());
        for line in ptx.split_inclusive('\n') {
            if !line.trim_start().starts_with(".file") {
                out.push_str(line);
                continue;
            }
            let mut line = line.to_owned();
            for (link, folder) in &self.links {
                let inside = format!("{}/{link}/", self.scratch.display());
                line = line.replace(&inside, &format!("{}/", folder.display()));
            }
            out.push_str(&line);
        }
        out
    }
}

/// The source's name, of characters that no shell minds.
fn copy_name(real: &Path) -> String {
    let stem = real.file_stem().unwrap_or_default().to_string_lossy();
    let plain: String = stem
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    match plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => format!("{plain}.cu"),
        false => format!("k{plain}.cu"),
    }
}

/// A path in the quotes of a directive; `None` where it can't stand there.
fn line_name(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let fits = !text.contains(['\n', '\r', '\0']);
    fits.then(|| text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// `-D NAME=VALUE` as a directive. A line feed in it would begin another one.
fn macro_line(define: &str) -> String {
    let define = define.replace(['\n', '\r'], " ");
    match define.split_once('=') {
        Some((name, value)) => format!("#define {name} {value}\n"),
        None => format!("#define {define} 1\n"),
    }
}

#[cfg(unix)]
fn link_to(folder: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(folder, link)
}

#[cfg(not(unix))]
fn link_to(folder: &Path, link: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_dir(folder, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_in_names_end_no_directive() {
        assert_eq!(
            line_name(Path::new("/a\"b\\c.cu")).unwrap(),
            "/a\\\"b\\\\c.cu"
        );
        assert_eq!(line_name(Path::new("/a\nb.cu")), None);
        assert_eq!(copy_name(Path::new("/x/-$(a) b.cu")), "k___a__b.cu");
        assert_eq!(copy_name(Path::new("/x/scan_2.cu")), "scan_2.cu");
    }
}

//! An input as files, for people who want to repeat what it shows.

use crate::assignment::read::{self, AssignmentError};
use crate::assignment::{Argument, Assignment, BuildKind};
use crate::input::{self, Drawn, InputError};
use crate::program::build::WB;
use check::argument::Value;
use session::fill::Fill;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An input that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The folder.
    pub folder: PathBuf,
    /// Its files.
    pub files: Vec<String>,
    /// The sizes.
    pub sizes: BTreeMap<String, i64>,
    /// The command that runs a submission on it; none of a kernel, whose command also says how it is launched.
    pub command: Option<String>,
}

/// Why an input is not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The assignment's file.
    #[error(transparent)]
    Assignment(#[from] AssignmentError),
    /// The input can't be drawn.
    #[error(transparent)]
    Input(#[from] InputError),
    /// There is no such input.
    #[error("the assignment has no input `{input}`, but {known}")]
    Unknown {
        /// What was asked for.
        input: String,
        /// What there is.
        known: String,
    },
    /// There is no such size.
    #[error("the input has no size `{size}`, but {known}")]
    Size {
        /// What was asked for.
        size: String,
        /// What there is.
        known: String,
    },
    /// A file can't be written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// Writes an input into a folder, with other sizes where there are some. An input of several draws has a folder for each in it.
///
/// # Errors
///
/// [`WriteError`]
pub fn write(
    path: &Path,
    input: &str,
    sizes: &BTreeMap<String, i64>,
    folder: &Path,
) -> Result<Vec<Written>, WriteError> {
    let (assignment, _) = read::read(path)?;
    let home = path.parent().unwrap_or(Path::new(""));
    let mut drawn = input::draw(&assignment, home)?;
    drawn.retain(|d| assignment.inputs[d.input].id == input);
    if drawn.is_empty() {
        let known = names(assignment.inputs.iter().map(|i| i.id.as_str()));
        let input = input.to_owned();
        return Err(WriteError::Unknown { input, known });
    }
    if !sizes.is_empty() {
        // All draws have the same values then.
        drawn.truncate(1);
        let known = &drawn[0].sizes;
        if let Some(size) = sizes.keys().find(|name| !known.contains_key(*name)) {
            let known = names(known.keys().map(String::as_str));
            let size = size.clone();
            return Err(WriteError::Size { size, known });
        }
        let mut all = known.clone();
        all.extend(sizes.clone());
        let made = input::resized(&assignment, home, &drawn[0], all);
        drawn[0] = made.map_err(|what| InputError {
            input: input.to_owned(),
            what,
        })?;
    }
    let several = drawn.len() > 1;
    let place = |number: usize| match several {
        true => folder.join((number + 1).to_string()),
        false => folder.to_path_buf(),
    };
    let all = drawn.iter().enumerate();
    all.map(|(number, drawn)| one(&assignment, drawn, place(number)))
        .collect()
}

fn one(assignment: &Assignment, drawn: &Drawn, folder: PathBuf) -> Result<Written, WriteError> {
    let fail = |path: &Path| {
        let path = path.to_path_buf();
        move |error| WriteError::File { path, error }
    };
    std::fs::create_dir_all(&folder).map_err(fail(&folder))?;
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (name, bytes) in &drawn.files {
        files.insert(name.clone(), bytes.to_vec());
    }
    for (name, bytes) in buffers(assignment, drawn) {
        files.insert(file_of(name), bytes.to_vec());
    }
    if assignment.build.kind == BuildKind::Wb {
        files.insert("wb.h".to_owned(), WB.as_bytes().to_vec());
    }
    for (name, bytes) in &files {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(fail(&path))?;
    }
    let program = assignment.build.kind != BuildKind::Kernel;
    Ok(Written {
        folder,
        files: files.into_keys().collect(),
        sizes: drawn.sizes.clone(),
        command: program.then(|| run_command(assignment, drawn)),
    })
}

/// The buffers of a kernel that no word of `racetrap check --arg` makes.
fn buffers<'a>(
    assignment: &'a Assignment,
    drawn: &'a Drawn,
) -> impl Iterator<Item = (&'a str, &'a [u8])> {
    let arguments = assignment.kernel.iter().flat_map(|k| &k.arguments.0);
    arguments
        .zip(&drawn.arguments)
        .filter_map(|((name, argument), value)| {
            let (Argument::Buffer(_), Value::Buffer(spec)) = (argument, &value.value) else {
                return None;
            };
            match &spec.fill {
                Fill::Bytes(bytes) => Some((name.as_str(), &bytes[..])),
                _ => None,
            }
        })
}

fn file_of(buffer: &str) -> String {
    format!("{buffer}.bin")
}

/// A command of `racetrap check` that takes such buffers from the files that [`write`] leaves.
pub(crate) fn with_files(assignment: &Assignment, drawn: &Drawn, command: &str) -> String {
    let mut out = String::new();
    let mut rest = command;
    for (name, _) in buffers(assignment, drawn) {
        let Some((before, after)) = rest.split_once("]:data") else {
            break;
        };
        out += &format!("{before}]:@{}", file_of(name));
        rest = after;
    }
    out + rest
}

/// The command that runs a program again, on the files of an input.
pub(crate) fn run_command(assignment: &Assignment, drawn: &Drawn) -> String {
    let main = assignment.submission.require.first();
    let main = main.map_or("main.cu", String::as_str);
    let headers = match assignment.build.kind {
        BuildKind::Wb => "-I . ",
        BuildKind::Kernel | BuildKind::Program => "",
    };
    let words: Vec<String> = drawn.words.iter().map(|word| plain(word)).collect();
    format!("racetrap exec {headers}{main} -- {}", words.join(" "))
        .trim_end_matches([' ', '-'])
        .to_owned()
}

/// The command that writes the files of an input, of the sizes that a smaller one has; none where `racetrap check` needs no files.
pub fn write_command(
    assignment: &Assignment,
    input: &str,
    sizes: Option<&BTreeMap<String, i64>>,
) -> Option<String> {
    let files = match assignment.build.kind {
        BuildKind::Kernel => {
            let arguments = assignment.kernel.iter().flat_map(|k| &k.arguments.0);
            let mut all = arguments.filter_map(|(_, argument)| match argument {
                Argument::Buffer(buffer) => Some(buffer),
                _ => None,
            });
            all.any(|buffer| {
                buffer.file.is_some() || matches!(buffer.fill, Fill::Literal(_) | Fill::Each(_))
            })
        }
        BuildKind::Program | BuildKind::Wb => true,
    };
    let sizes = sizes.filter(|sizes| !sizes.is_empty()).map(|sizes| {
        let all: Vec<String> = sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
        format!(" --sizes {}", all.join(","))
    });
    files.then(|| {
        format!(
            "racetrap grade assignment.yaml --write-input {} .{}",
            plain(input),
            sizes.unwrap_or_default()
        )
    })
}

/// A word as a shell takes it for itself.
fn plain(word: &str) -> String {
    let known = |c: char| c.is_ascii_alphanumeric() || "-_./,=+:".contains(c);
    match !word.is_empty() && word.chars().all(known) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<String> = all.map(|name| format!("`{name}`")).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_a_shell_takes_them() {
        assert_eq!(plain("a-b_1.bin"), "a-b_1.bin");
        assert_eq!(plain("it's"), r"'it'\''s'");
        assert_eq!(plain(""), "''");
        assert_eq!(plain("$(id)"), "'$(id)'");
    }
}

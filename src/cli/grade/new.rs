//! `racetrap grade --new`: an example as a start for an assignment of one's own.

use ::grade::assignment::read::schema;
use include_dir::{Dir, DirEntry, include_dir};
use report::{Failure, exit};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

static COURSE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/examples/course");

/// The line of an example with its secret, which everybody knows.
const SECRET: &str = "secret: change this text before you use the assignment";
/// Where an example looks for the schema.
const SCHEMA: &str = "$schema=../assignment.schema.json";

/// Writes an example into a folder of its name; without a name, tells which there are.
pub fn new(example: &str) -> Result<(String, u8), Failure> {
    if example.is_empty() {
        return Ok((list(), exit::OK));
    }
    let Some(from) = COURSE.get_dir(example) else {
        let failure = Failure::usage(format!("there is no example `{example}`"));
        return Err(failure.help(list().trim_end()));
    };
    let folder = PathBuf::from(example);
    if folder.exists() {
        return Err(Failure::usage(format!("`{example}` is there already")));
    }
    let wrong = |path: &Path, e: std::io::Error| Failure::usage(format!("{}: {e}", path.display()));
    let secret = secret().map_err(|e| wrong(Path::new("/dev/urandom"), e))?;
    let mut files = Vec::new();
    gather(from, &mut files);
    for (path, bytes) in files {
        let path = PathBuf::from(path);
        let mut bytes = bytes.to_vec();
        if path.ends_with("assignment.yaml")
            && let Ok(text) = std::str::from_utf8(&bytes)
        {
            let text = text.replace(SECRET, &format!("secret: {secret}"));
            let text = text.replace(SCHEMA, "$schema=assignment.schema.json");
            bytes = text.into_bytes();
        }
        write(&path, &bytes).map_err(|e| wrong(&path, e))?;
    }
    let readme = COURSE.get_file("README.md");
    let readme = readme.map(|f| f.contents()).unwrap_or_default();
    let schema = format!("{:#}\n", schema());
    for (name, bytes) in [
        ("README.md", readme),
        ("assignment.schema.json", schema.as_bytes()),
    ] {
        let path = folder.join(name);
        write(&path, bytes).map_err(|e| wrong(&path, e))?;
    }
    let text = format!(
        "{example}/assignment.yaml is the assignment, with a secret of its own; starter/ is for students, solution/ is not.\n\
         README.md says how to go on. Prove the rubric after each change:\n  racetrap grade --selftest {example}/assignment.yaml\n"
    );
    Ok((text, exit::OK))
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, bytes)
}

fn gather(from: &Dir<'static>, files: &mut Vec<(&'static str, &'static [u8])>) {
    for entry in from.entries() {
        match entry {
            DirEntry::Dir(dir) => gather(dir, files),
            DirEntry::File(file) => {
                let path = file.path().to_str().unwrap_or_default();
                files.push((path, file.contents()));
            }
        }
    }
}

/// The examples, with their titles.
fn list() -> String {
    let mut out = String::from("The examples:\n");
    for dir in COURSE.dirs() {
        let name = dir.path().to_str().unwrap_or_default();
        let file = COURSE.get_file(dir.path().join("assignment.yaml"));
        let text = file.and_then(|f| f.contents_utf8()).unwrap_or_default();
        let title = text.lines().find_map(|line| line.strip_prefix("title: "));
        let _ = writeln!(out, "  {name:16}{}", title.unwrap_or_default());
    }
    out
}

/// A text that nobody can guess.
fn secret() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    }))
}

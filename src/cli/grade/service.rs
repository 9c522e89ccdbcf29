//! What services want to have beside results: Gradescope's zip, and times.

use ::grade::assignment::BuildKind;
use ::grade::build::atomically;
use ::grade::course::Course;
use report::{Failure, exit};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// What Gradescope runs once, when it builds the image. All that is needed is in the zip, so that no network is.
const SETUP: &str = "\
#!/usr/bin/env bash
# Gradescope runs this once. The compiler needs the host's C++ compiler; it is in the default image, or installed here.
set -e
cd /autograder/source
chmod 755 racetrap
# Students' code is not to read the assignment: its hidden inputs, its reference.
chmod -R go= /autograder/source/assignment
if ! command -v g++ >/dev/null; then
    apt-get update && apt-get install -y --no-install-recommends g++
fi
CUDA_PATH=/autograder/source/cuda ./racetrap grade --selftest assignment/ASSIGNMENT
";

/// What Gradescope runs for each submission.
const RUN: &str = "\
#!/usr/bin/env bash
# Gradescope runs this for each submission. The results are written after each step, so that a time-out keeps what is known.
export CUDA_PATH=/autograder/source/cuda
mkdir -p /autograder/results
/autograder/source/racetrap grade /autograder/source/assignment/ASSIGNMENT /autograder/submission \\
    --format gradescope --out /autograder/results/results.json
exit 0
";

/// Writes the zip that Gradescope builds an autograder from.
pub fn gradescope(course: &Course, assignment: &Path, out: &Path) -> Result<(String, u8), Failure> {
    let wrong = |what: String| Failure::usage(format!("{}: {what}", out.display()));
    let nvcc = course.compiler.nvcc.as_ref().ok_or_else(|| {
        Failure::usage("there is no CUDA compiler to put into the zip: see `racetrap doctor`")
    })?;
    let name = assignment
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let program = std::env::current_exe().map_err(|e| wrong(e.to_string()))?;
    let toolkit = nvcc
        .program
        .path
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("/"));
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut files: Vec<(String, Vec<u8>, u32)> = vec![
        (
            "setup.sh".into(),
            SETUP.replace("ASSIGNMENT", &name).into_bytes(),
            0o755,
        ),
        (
            "run_autograder".into(),
            RUN.replace("ASSIGNMENT", &name).into_bytes(),
            0o755,
        ),
        (
            "racetrap".into(),
            std::fs::read(&program).map_err(|e| wrong(e.to_string()))?,
            0o755,
        ),
    ];
    add(&course.folder, "assignment", &mut files, 0).map_err(|e| wrong(e.to_string()))?;
    // What compiling to PTX takes; linking a program takes more, and the library that it runs with.
    let mut parts = vec!["bin", "nvvm", "include"];
    if course.assignment.build.kind != BuildKind::Kernel {
        parts.extend(["lib", "lib64", "targets"]);
        let library = exec::library::find().map_err(|e| wrong(e.to_string()))?;
        let bytes = std::fs::read(&library).map_err(|e| wrong(e.to_string()))?;
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        files.push((name.into_owned(), bytes, 0o755));
    }
    for part in parts {
        let folder = toolkit.join(part);
        if folder.is_dir() {
            add(&folder, &format!("cuda/{part}"), &mut files, 0)
                .map_err(|e| wrong(e.to_string()))?;
        }
    }
    let mut bytes = 0;
    for (name, text, mode) in &files {
        let options = SimpleFileOptions::default()
            .unix_permissions(*mode)
            .large_file(text.len() > 1 << 31);
        zip.start_file(name.as_str(), options)
            .map_err(|e| wrong(e.to_string()))?;
        zip.write_all(text).map_err(|e| wrong(e.to_string()))?;
        bytes += text.len();
    }
    let zip = zip.finish().map_err(|e| wrong(e.to_string()))?.into_inner();
    atomically(out, &zip).map_err(|e| wrong(e.to_string()))?;
    let said = format!(
        "{}: {} files, {} MB, {} MB unpacked\n",
        out.display(),
        files.len(),
        zip.len() >> 20,
        bytes >> 20
    );
    Ok((said, exit::OK))
}

/// Adds a folder; links are followed, so that an archive needs none.
fn add(
    folder: &Path,
    name: &str,
    files: &mut Vec<(String, Vec<u8>, u32)>,
    depth: u32,
) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        let last = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let name = format!("{name}/{last}");
        if path.is_dir() && depth < 16 {
            add(&path, &name, files, depth + 1)?;
        } else if path.is_file() {
            files.push((name, std::fs::read(&path)?, mode(&path)?));
        }
    }
    Ok(())
}

#[cfg(unix)]
fn mode(path: &Path) -> std::io::Result<u32> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_: &Path) -> std::io::Result<u32> {
    Ok(0o755)
}

/// The time: `2026-11-22T12:00:00Z`.
pub fn now() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// The date of a day counted from 1970-01-01, by years and months one after the other.
fn date(mut days: u64) -> (u64, u64, u64) {
    let leap = |y: u64| y.is_multiple_of(4) && !y.is_multiple_of(100) || y.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [
        31,
        28 + u64::from(leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_779), (2026, 11, 22));
        assert_eq!(now().len(), "2026-11-22T12:00:00Z".len());
    }
}

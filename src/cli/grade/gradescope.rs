//! The zip that Gradescope builds an autograder from (Gradescope Autograder Documentation, "Autograder Specifications").

use ::grade::assignment::BuildKind;
use ::grade::course::Course;
use report::{Failure, exit};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// What Gradescope runs once, when it builds the image. All that is needed is in the zip, so that no network is.
const SETUP: &str = "\
#!/usr/bin/env bash
# Gradescope runs this once. The compiler needs the host's C++ compiler; it is in the default image, or installed here.
set -e
cd /autograder/source
chmod 755 racetrap cuda/bin/[a-z]* cuda/nvvm/bin/*
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

/// What compiling a kernel to PTX takes, of the toolkit's `bin`.
const FOR_PTX: [&str; 4] = ["nvcc", "nvcc.profile", "cudafe++", "crt"];
/// What making a whole program takes besides.
const FOR_PROGRAMS: [&str; 4] = ["ptxas", "fatbinary", "bin2c", "nvlink"];
/// How much is compressed: half the time of 6, and the compiler gets 2 % larger.
const LEVEL: i64 = 4;
/// Libraries that linking takes.
const LIBRARIES: [&str; 3] = ["libcudart", "libcudadevrt", "libculibos"];

/// Writes the zip.
///
/// # Errors
///
/// There is no compiler, or a file can't be read or written.
pub fn zip(course: &Course, assignment: &Path, out: &Path) -> Result<(String, u8), Failure> {
    let wrong = |error: io::Error| Failure::usage(format!("{}: {error}", out.display()));
    let nvcc = course.compiler.nvcc.as_ref().ok_or_else(|| {
        Failure::usage(
            "there is no CUDA compiler to put into the zip: `racetrap setup` gets it, without root",
        )
    })?;
    let toolkit = nvcc.program.path.parent().and_then(Path::parent);
    let name = assignment.file_name().unwrap_or_default().to_string_lossy();
    let folder = match out.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // A zip that is not whole is nobody's.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(wrong)?;
    let (files, bytes) = {
        let mut packing = Packing {
            zip: ZipWriter::new(file.as_file_mut()),
            files: 0,
            bytes: 0,
        };
        let all = packing.all(course, toolkit.unwrap_or(Path::new("/")), &name);
        all.map_err(wrong)?;
        let Packing { zip, files, bytes } = packing;
        zip.finish().map_err(io::Error::from).map_err(wrong)?;
        (files, bytes)
    };
    readable(file.as_file()).map_err(wrong)?;
    let size = file.as_file().metadata().map_err(wrong)?.len();
    file.persist(out).map_err(|e| wrong(e.error))?;
    let said = format!(
        "{}: {files} files, {} MB, {} MB unpacked\n",
        out.display(),
        size >> 20,
        bytes >> 20
    );
    Ok((said, exit::OK))
}

/// A zip that is being written.
struct Packing<W: Write + io::Seek> {
    zip: ZipWriter<W>,
    files: usize,
    bytes: u64,
}

impl<W: Write + io::Seek> Packing<W> {
    fn all(&mut self, course: &Course, toolkit: &Path, assignment: &str) -> io::Result<()> {
        for (name, text) in [("setup.sh", SETUP), ("run_autograder", RUN)] {
            let text = text.replace("ASSIGNMENT", assignment);
            self.file(name, &mut text.as_bytes(), 0o755)?;
        }
        self.copy("racetrap", &std::env::current_exe()?, 0o755)?;
        self.folder(&course.folder, "assignment", 0, &|_| true)?;
        let whole = course.assignment.build.kind != BuildKind::Kernel;
        let beside = FOR_PROGRAMS.iter().filter(|_| whole);
        let programs: Vec<&&str> = FOR_PTX.iter().chain(beside).collect();
        let program = |path: &Path| {
            let inside = path.strip_prefix(toolkit.join("bin")).unwrap_or(path);
            let first = inside.components().next();
            first.is_some_and(|c| programs.iter().any(|p| c.as_os_str() == **p))
        };
        self.folder(&toolkit.join("bin"), "cuda/bin", 0, &program)?;
        self.folder(&toolkit.join("nvvm"), "cuda/nvvm", 0, &|_| true)?;
        self.folder(&toolkit.join("include"), "cuda/include", 0, &|_| true)?;
        let library = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let binary = name.contains(".so") || name.ends_with(".a");
            path.is_dir() || !binary || LIBRARIES.iter().any(|l| name.starts_with(l))
        };
        // Where the compiler looks for headers in toolkits that NVIDIA's installer wrote.
        self.folder(&toolkit.join("targets"), "cuda/targets", 0, &library)?;
        if whole {
            for part in ["lib", "lib64"] {
                self.folder(&toolkit.join(part), &format!("cuda/{part}"), 0, &library)?;
            }
            let library = exec::library::find().map_err(io::Error::other)?;
            let name = library.file_name().unwrap_or_default().to_string_lossy();
            self.copy(&name, &library, 0o755)?;
        }
        Ok(())
    }

    /// A folder, if it is there; links are followed, so that an archive needs none.
    fn folder(
        &mut self,
        folder: &Path,
        name: &str,
        depth: u32,
        wanted: &dyn Fn(&Path) -> bool,
    ) -> io::Result<()> {
        if !folder.is_dir() {
            return Ok(());
        }
        let entries = std::fs::read_dir(folder)?.map(|e| e.map(|e| e.path()));
        let mut entries: Vec<PathBuf> = entries.collect::<Result<_, _>>()?;
        entries.sort();
        for path in entries.into_iter().filter(|path| wanted(path)) {
            let last = path.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{name}/{last}");
            if path.is_dir() && depth < 16 {
                self.folder(&path, &name, depth + 1, wanted)?;
            } else if path.is_file() {
                self.copy(&name, &path, mode(&path)?)?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, name: &str, path: &Path, mode: u32) -> io::Result<()> {
        let file = File::open(path);
        let mut file = file.map_err(|e| io::Error::other(format!("{}: {e}", path.display())))?;
        self.file(name, &mut file, mode)
    }

    fn file(&mut self, name: &str, from: &mut dyn io::Read, mode: u32) -> io::Result<()> {
        let options = SimpleFileOptions::default()
            .unix_permissions(mode)
            .compression_level(Some(LEVEL));
        self.zip.start_file(name, options)?;
        self.bytes += io::copy(from, &mut self.zip)?;
        self.files += 1;
        Ok(())
    }
}

/// A temporary file is its owner's alone; the zip is like any other file.
#[cfg(unix)]
fn readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn mode(path: &Path) -> io::Result<u32> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_: &Path) -> io::Result<u32> {
    Ok(0o755)
}

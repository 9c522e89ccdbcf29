//! Installs compilers of other CUDA releases from PyPI into the user's cache.
//!
//! NVIDIA's wheels contain `nvcc` since release 13.0. For the 12.x releases they contain NVRTC: the same front end and
//! optimiser as a library, which compiles only device code (NVRTC user guide, "Language"); see [`nvrtc`]. Nothing is installed outside the cache, `$XDG_CACHE_HOME/racetrap/cuda/<release>` (XDG Base Directory
//! Specification). You may delete the cache at any time.

use super::find::Program;
use super::nvcc::{CompileError, CompileOptions, Nvcc, Optimisation};
use super::nvrtc;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

/// A CUDA release: 12.0, 13.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Release {
    /// 12
    pub major: u32,
    /// 0
    pub minor: u32,
}

/// The known releases on PyPI, oldest first. Later ones can be requested as well.
pub const RELEASES: &[Release] = &[
    Release::new(12, 0),
    Release::new(12, 1),
    Release::new(12, 2),
    Release::new(12, 3),
    Release::new(12, 4),
    Release::new(12, 5),
    Release::new(12, 6),
    Release::new(12, 8),
    Release::new(12, 9),
    Release::new(13, 0),
    Release::new(13, 1),
    Release::new(13, 2),
    Release::new(13, 3),
    Release::new(13, 4),
    Release::new(13, 5),
];

impl Release {
    /// The release with these version numbers.
    pub const fn new(major: u32, minor: u32) -> Release {
        Release { major, minor }
    }

    /// Whether its compiler supports a target, according to the release notes of CUDA and PTX.
    pub fn supports(self, target: &str) -> bool {
        let digits: String = target
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        let (from, until) = match digits.parse::<u32>() {
            // CUDA 13.0 dropped the targets before Turing.
            Ok(50..75) => (Release::new(12, 0), Release::new(12, 9)),
            Ok(75..100) => (Release::new(12, 0), Release::new(u32::MAX, 0)),
            Ok(100 | 101 | 120) => (Release::new(12, 8), Release::new(u32::MAX, 0)),
            Ok(103 | 121) => (Release::new(12, 9), Release::new(u32::MAX, 0)),
            _ => (Release::new(13, 0), Release::new(u32::MAX, 0)),
        };
        from <= self && self <= until
    }

    /// The packages, with matching versions.
    fn packages(self) -> Vec<String> {
        let Release { major, minor } = self;
        let same = format!("=={major}.{minor}.*");
        let package = |name: &str| format!("{name}{same}");
        if major < 13 {
            return [
                "nvidia-cuda-nvrtc-cu12",
                "nvidia-cuda-runtime-cu12",
                "nvidia-cuda-cccl-cu12",
            ]
            .map(package)
            .into();
        }
        let mut packages: Vec<String> = [
            "nvidia-cuda-nvcc",
            "nvidia-nvvm",
            "nvidia-cuda-crt",
            "nvidia-cuda-runtime",
        ]
        .map(package)
        .into();
        // Since 13.3 the headers have their own minor version.
        packages.push(match (major, minor) {
            (13, 3..) => format!("nvidia-cuda-cccl==13.3.{minor}.*"),
            _ => package("nvidia-cuda-cccl"),
        });
        packages
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The text does not name a release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a CUDA release on PyPI; use 12.0 or later, such as 12.4 or 13.0")]
pub struct NoRelease(String);

impl FromStr for Release {
    type Err = NoRelease;

    fn from_str(text: &str) -> Result<Release, NoRelease> {
        let failed = || NoRelease(text.to_owned());
        let (major, minor) = text.trim().split_once('.').ok_or_else(failed)?;
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n < 1000);
        match (number(major), number(minor)) {
            (Some(major), Some(minor)) if major >= 12 => Ok(Release { major, minor }),
            _ => Err(failed()),
        }
    }
}

/// Why the compiler of a release is not available.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Neither `$XDG_CACHE_HOME` nor a home folder is known.
    #[error("no cache folder for compilers: set XDG_CACHE_HOME or HOME")]
    NoCache,
    /// `python3` is needed, for pip and for NVRTC.
    #[error("python3 was not found; it is needed to install a CUDA compiler from PyPI")]
    NoPython,
    /// Neither pip nor venv.
    #[error(
        "python3 has neither pip nor venv (on Debian and Ubuntu: apt-get install python3-venv)"
    )]
    NoPip,
    /// There is no network, or the index does not answer or has none of the packages.
    #[error("the package index is unreachable or has no {package}")]
    Unreachable {
        /// The first package that was requested.
        package: String,
        /// The messages of pip, without repetitions.
        messages: String,
    },
    /// The index has the package, but not this version.
    #[error("the package index has no {package}")]
    NoVersion {
        /// The package with its version.
        package: String,
        /// The available versions.
        versions: String,
    },
    /// pip failed for another reason.
    #[error("pip could not install {}", packages.join(", "))]
    Pip {
        /// The requested packages.
        packages: Vec<String>,
        /// The messages of pip.
        messages: String,
    },
    /// There is something else in the folder.
    #[error("{} has other files than racetrap's compiler", .0.display())]
    Occupied(PathBuf),
    /// The packages are not laid out as expected.
    #[error("the packages of CUDA {release} have no compiler at {}", expected.display())]
    Layout {
        /// The release.
        release: Release,
        /// The expected path.
        expected: PathBuf,
    },
    /// A file in the cache cannot be written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
}

/// A compiler that produces PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// `nvcc`.
    Nvcc(Nvcc),
    /// NVRTC in this folder.
    Nvrtc(PathBuf),
}

impl Compiler {
    /// The compiler of a release, from the cache or installed into it. Calls `say` before a slow step.
    ///
    /// # Errors
    ///
    /// See [`InstallError`].
    pub fn of(release: Release, say: &dyn Fn(&str)) -> Result<Compiler, InstallError> {
        let cache = cache_folder()
            .ok_or(InstallError::NoCache)?
            .join("racetrap/cuda");
        let folder = cache.join(release.to_string());
        if !folder.join(STAMP).is_file() {
            say(&format!(
                "fetching the compiler of CUDA {release} from PyPI into {}",
                folder.display()
            ));
            install(&release.packages(), &cache, &folder, &|site| {
                compiler(release, site).map(drop)
            })?;
        }
        compiler(release, &folder)
    }

    /// Its name: `nvcc`, `NVRTC`.
    pub fn name(&self) -> &'static str {
        match self {
            Compiler::Nvcc(_) => "nvcc",
            Compiler::Nvrtc(_) => "NVRTC",
        }
    }

    /// Compiles one file to PTX.
    ///
    /// # Errors
    ///
    /// As [`Nvcc::compile`].
    pub fn compile(
        &self,
        file: &Path,
        optimisation: Optimisation,
        options: &CompileOptions,
    ) -> Result<String, CompileError> {
        match self {
            Compiler::Nvcc(nvcc) => nvcc.compile(file, optimisation, options),
            Compiler::Nvrtc(root) => nvrtc::compile(root, file, optimisation, options),
        }
    }
}

/// The name of the file that marks a complete installation.
const STAMP: &str = ".racetrap";

fn compiler(release: Release, folder: &Path) -> Result<Compiler, InstallError> {
    let layout = |expected: PathBuf| match expected.exists() {
        true => Ok(expected),
        false => Err(InstallError::Layout { release, expected }),
    };
    if release.major < 13 {
        layout(folder.join("nvidia/cuda_nvrtc/lib"))?;
        return Ok(Compiler::Nvrtc(folder.to_owned()));
    }
    let path = layout(folder.join(format!("nvidia/cu{}/bin/nvcc", release.major)))?;
    Ok(Compiler::Nvcc(Nvcc {
        program: Program {
            path,
            through: format!("CUDA {release} from PyPI"),
        },
    }))
}

/// The user's cache folder (XDG Base Directory Specification).
pub fn cache_folder() -> Option<PathBuf> {
    let absolute = |v: std::ffi::OsString| Some(PathBuf::from(v)).filter(|p| p.is_absolute());
    std::env::var_os("XDG_CACHE_HOME")
        .and_then(absolute)
        .or_else(|| Some(std::env::home_dir()?.join(".cache")))
}

/// The folder of `ptxas` and `nvdisasm` of the newest known release, from the cache or installed into it. Newer tools accept
/// the output of older compilers.
pub(super) fn tools(say: &dyn Fn(&str)) -> Result<PathBuf, InstallError> {
    let newest = RELEASES[RELEASES.len() - 1];
    let cache = cache_folder()
        .ok_or(InstallError::NoCache)?
        .join("racetrap/cuda");
    let folder = cache.join(format!("tools-{newest}"));
    let programs = format!("nvidia/cu{}/bin", newest.major);
    if !folder.join(STAMP).is_file() {
        say(&format!(
            "fetching ptxas and nvdisasm {newest} from PyPI into {}",
            folder.display()
        ));
        let packages =
            ["nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm"].map(|name| format!("{name}=={newest}.*"));
        install(&packages, &cache, &folder, &|site| {
            let missing = ["ptxas", "nvdisasm"]
                .map(|name| site.join(&programs).join(name))
                .into_iter()
                .find(|p| !p.exists());
            missing.map_or(Ok(()), |expected| {
                Err(InstallError::Layout {
                    release: newest,
                    expected,
                })
            })
        })?;
    }
    Ok(folder.join(programs))
}

/// Installs packages into `folder` of the cache; `sound` checks that they contain what is needed.
fn install(
    packages: &[String],
    cache: &Path,
    folder: &Path,
    sound: &dyn Fn(&Path) -> Result<(), InstallError>,
) -> Result<(), InstallError> {
    let failed = |path: &Path, error| InstallError::File {
        path: path.to_owned(),
        error,
    };
    std::fs::create_dir_all(cache).map_err(|e| failed(cache, e))?;
    // Install beside the final place, so that an interrupted installation is never used.
    let scratch = tempfile::Builder::new()
        .prefix(".install-")
        .tempdir_in(cache)
        .map_err(|e| failed(cache, e))?;
    let site = scratch.path().join("site");
    let mut pip = pip(scratch.path())?;
    let output = pip
        .args([
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-input",
            "--no-deps",
            "--no-compile",
        ])
        .args([
            "--root-user-action=ignore",
            "--only-binary",
            ":all:",
            "--target",
        ])
        .arg(&site)
        .args(packages)
        .output()
        .map_err(|_| InstallError::NoPython)?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr)
            .trim_end()
            .to_owned();
        return Err(why(packages, &messages));
    }
    sound(&site)?;
    for root in ["nvidia/cu13", "nvidia/cu14"].map(|root| site.join(root)) {
        // nvcc searches lib64.
        #[cfg(unix)]
        if root.join("lib").exists() && !root.join("lib64").exists() {
            let link = root.join("lib64");
            std::os::unix::fs::symlink("lib", &link).map_err(|e| failed(&link, e))?;
        }
    }
    let stamp = site.join(STAMP);
    std::fs::write(&stamp, packages.join("\n")).map_err(|e| failed(&stamp, e))?;
    match std::fs::rename(&site, folder) {
        Ok(()) => Ok(()),
        // Another process was faster, or an older installation was interrupted.
        Err(_) if folder.join(STAMP).is_file() => Ok(()),
        Err(_) => {
            let _ = std::fs::remove_dir_all(folder);
            std::fs::rename(&site, folder).map_err(|e| failed(folder, e))
        }
    }
}

/// Turns pip's messages into an error.
fn why(packages: &[String], messages: &str) -> InstallError {
    const WANTED: &str = "that satisfies the requirement ";
    // Each connection attempt prints a line; keep the last one.
    let is_attempt = |line: &&str| line.contains("Retrying (");
    let attempts = messages.lines().filter(is_attempt).count();
    let mut seen = 0;
    let mut lines: Vec<&str> = messages.lines().collect();
    lines.retain(|line| {
        seen += usize::from(is_attempt(line));
        !is_attempt(line) || seen == attempts
    });
    let messages = lines.join("\n");
    let missing = lines.iter().find_map(|line| {
        let (_, rest) = line.split_once(WANTED)?;
        let (package, rest) = rest.split_once(" (from versions: ")?;
        Some((package.to_owned(), rest.trim_end_matches(')').to_owned()))
    });
    match missing {
        Some((package, versions)) if versions == "none" => {
            InstallError::Unreachable { package, messages }
        }
        Some((package, versions)) => InstallError::NoVersion { package, versions },
        None => InstallError::Pip {
            packages: packages.to_vec(),
            messages,
        },
    }
}

/// The system's pip if there is one, otherwise a private one.
pub(super) fn pip(scratch: &Path) -> Result<Command, InstallError> {
    let works = |command: &mut Command| command.output().is_ok_and(|o| o.status.success());
    if !works(Command::new("python3").arg("--version")) {
        return Err(InstallError::NoPython);
    }
    let mut program = PathBuf::from("python3");
    if !works(Command::new(&program).args(["-m", "pip", "--version"])) {
        let venv = scratch.join("venv");
        if !works(Command::new("python3").args(["-m", "venv"]).arg(&venv)) {
            return Err(InstallError::NoPip);
        }
        program = venv.join("bin/python");
    }
    let mut command = Command::new(program);
    command.args(["-m", "pip"]);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_and_written() {
        assert_eq!("12.4".parse(), Ok(Release::new(12, 4)));
        assert_eq!(Release::new(13, 0).to_string(), "13.0");
        for text in ["", "12", "11.8", "13.x", "latest", "-1.2"] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
    }

    #[test]
    fn targets_have_their_first_and_last_release() {
        let supports = |major, minor, target: &str| Release::new(major, minor).supports(target);
        assert!(supports(12, 0, "sm_90") && supports(13, 5, "sm_75"));
        assert!(supports(12, 9, "sm_70") && !supports(13, 0, "sm_70"));
        assert!(!supports(12, 6, "sm_100") && supports(12, 8, "sm_100"));
    }

    #[test]
    fn what_pip_says_is_understood() {
        let packages = ["nvidia-nvvm==13.9.*".to_owned()];
        let told = |messages: &str| why(&packages, messages);
        let unreachable = told(
            "WARNING: Retrying (Retry(total=1)) after a refusal\nWARNING: Retrying (Retry(total=0)) after a refusal\n\
             ERROR: Could not find a version that satisfies the requirement nvidia-nvvm==13.9.* (from versions: none)",
        );
        let InstallError::Unreachable { package, messages } = unreachable else {
            panic!("{unreachable:?}");
        };
        assert_eq!(package, "nvidia-nvvm==13.9.*");
        assert_eq!(messages.matches("Retrying").count(), 1);
        let other = told(
            "ERROR: Could not find a version that satisfies the requirement nvidia-nvvm==13.9.* (from versions: 13.0.39, 13.0.48)",
        );
        assert_eq!(
            other.to_string(),
            "the package index has no nvidia-nvvm==13.9.*"
        );
        assert!(matches!(
            told("ERROR: No space left on device"),
            InstallError::Pip { .. }
        ));
    }

    #[test]
    fn packages_belong_together() {
        assert!(
            Release::new(12, 0)
                .packages()
                .contains(&"nvidia-cuda-nvrtc-cu12==12.0.*".to_owned())
        );
        assert!(
            Release::new(13, 4)
                .packages()
                .contains(&"nvidia-cuda-cccl==13.3.4.*".to_owned())
        );
    }
}

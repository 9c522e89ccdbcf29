//! Compiles a submission beside the course's harness.
//!
//! The compiler works in a folder that holds the student's files and the harness and nothing else, in the sandbox of
//! [`toolchain::Nvcc`]: hidden inputs, the reference and other submissions are not in what it may read. Where the system can't confine
//! it, nothing is compiled unless somebody insists ([`Compiler::unconfined`]).
//!
//! A source may claim any line of any file (`#line`), and racetrap shows lines. So the names of files in the PTX are cut to those that were
//! compiled: what a name that is not among them says, nobody opens.

use crate::assignment::{Build, Optimisation};
use crate::hash::sha256;
use crate::line_directives;
use crate::result::Refused;
use crate::submission::Files;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toolchain::cache::{Cache, Header};
use toolchain::reach;
use toolchain::sandbox::Confined;
use toolchain::scratch::Scratch;
use toolchain::{CompileError, CompileOptions, Nvcc};

/// The name by which PTX calls files that are not shown.
const ELSEWHERE: &str = "elsewhere";
/// Compilations that are kept: those of a large class.
const ENTRIES: usize = 2000;
/// Characters of the compiler's words that are kept.
const WORDS: usize = 8_000;

/// How submissions are compiled.
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    /// The compiler; none where all that is needed was compiled before.
    pub nvcc: Option<Nvcc>,
    /// Where to keep what was compiled, and to look for it.
    pub cache: Option<PathBuf>,
    /// Where PTX lies that was compiled before, by [`Source::key`]: it is taken first, and the compiler is not needed for it.
    pub pinned: Option<PathBuf>,
    /// Compile even where the compiler can't be confined.
    pub unconfined: bool,
    /// Version of the compiler.
    pub version: Option<String>,
}

/// Why nothing can be said of a submission. It is not the student's fault.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file of the course can't be read, or a folder can't be made.
    #[error("{path}: {error}")]
    File {
        /// The path.
        path: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// There is no compiler.
    #[error("there is no CUDA compiler (nvcc): `racetrap setup` gets it, without root")]
    NoCompiler,
    /// There is no library for programs to run with.
    #[error("{0}; it comes with racetrap, and lies beside it")]
    Library(String),
    /// It can't be confined.
    #[error(
        "this system can't confine the compiler and students' programs ({}), so a submission could read hidden inputs; `--unconfined` compiles all the same",
        Confined::LimitsOnly.describe()
    )]
    NotConfined,
    /// What students must not see lies where the compiler reads.
    #[error(
        "{path} lies in {folder}, which the compiler may read: a submission could include the solution and the hidden inputs; move it elsewhere, or \
         take the risk with `--unconfined`"
    )]
    Exposed {
        /// The assignment's folder, the solution, or submissions.
        path: String,
        /// The folder.
        folder: String,
    },
    /// The compiler failed, and not because of the source.
    #[error("{0}")]
    Compiler(CompileError),
}

/// What is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// All files by name.
    pub files: BTreeMap<String, String>,
    /// The one that is compiled.
    pub main: String,
}

impl Source {
    /// A submission beside the harness, whose files lie below `folder`.
    ///
    /// # Errors
    ///
    /// A file of the harness can't be read.
    pub fn new(
        files: &Files,
        required: &str,
        build: &Build,
        folder: &Path,
    ) -> Result<Source, BuildError> {
        let mut all = files.texts.clone();
        let mut main = None;
        for path in &build.harness {
            let path = folder.join(path);
            let text = std::fs::read_to_string(&path).map_err(|error| BuildError::File {
                path: path.display().to_string(),
                error,
            })?;
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            main.get_or_insert_with(|| name.clone());
            // The course's own takes the place of a student's.
            all.insert(name, text);
        }
        Ok(Source {
            files: all,
            main: main.unwrap_or_else(|| required.to_owned()),
        })
    }

    /// What all that is compiled of it depends on, but for the compiler: 16 hexadecimal digits.
    pub fn key(&self, build: &Build, optimisation: Optimisation) -> String {
        sha256(self.parts(build, optimisation))[..16].to_owned()
    }

    fn parts(&self, build: &Build, optimisation: Optimisation) -> Vec<String> {
        let mut parts = vec![
            self.main.clone(),
            format!("{optimisation:?}"),
            build.arch.clone().unwrap_or_default(),
        ];
        parts.extend(build.flags.iter().cloned());
        parts.push(String::new());
        for (name, text) in &self.files {
            parts.extend([name.clone(), text.clone()]);
        }
        parts
    }
}

/// A submission that compiles: its PTX files, beside its sources.
#[derive(Debug)]
pub struct Compiled {
    /// The folder.
    room: Scratch,
    /// The builds that were asked for.
    pub builds: Vec<Optimisation>,
    /// Whether the compiler was called.
    pub called: bool,
}

impl Compiled {
    /// PTX that was made in another way, as the optimised build.
    ///
    /// # Errors
    ///
    /// A scratch folder can't be made.
    pub fn of_ptx(source: &Source, ptx: &str) -> Result<Compiled, BuildError> {
        let room = room_with(source)?;
        let path = room.path().join(file_name(Optimisation::Optimised));
        std::fs::write(&path, ptx).map_err(at(&path))?;
        Ok(Compiled {
            room,
            builds: vec![Optimisation::Optimised],
            called: false,
        })
    }

    /// The PTX of a build.
    pub fn ptx(&self, build: Optimisation) -> PathBuf {
        self.room.path().join(file_name(build))
    }
}

/// An error about a path.
pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> BuildError {
    let path = path.display().to_string();
    move |error| BuildError::File { path, error }
}

/// A folder with the sources.
fn room_with(source: &Source) -> Result<Scratch, BuildError> {
    let room = Scratch::new().map_err(at(&std::env::temp_dir()))?;
    for (name, text) in &source.files {
        let path = room.path().join(name);
        std::fs::write(&path, line_directives::without(text)).map_err(at(&path))?;
    }
    Ok(room)
}

/// The name of a build's PTX.
pub fn file_name(build: Optimisation) -> &'static str {
    match build {
        Optimisation::Optimised => "optimised.ptx",
        Optimisation::Unoptimised => "unoptimised.ptx",
    }
}

impl Compiler {
    /// The compiler of this machine, which keeps what it compiles in the user's cache.
    pub fn find() -> Compiler {
        let nvcc = Nvcc::find().ok();
        Compiler {
            version: nvcc.as_ref().and_then(Nvcc::version),
            nvcc,
            cache: toolchain::cache_folder().map(|folder| folder.join("racetrap/grade/ptx")),
            pinned: None,
            unconfined: false,
        }
    }

    /// Makes sure that a file or folder does not lie where the compiler reads.
    ///
    /// # Errors
    ///
    /// [`BuildError::Exposed`]
    pub fn hides(&self, path: &Path) -> Result<(), BuildError> {
        let Some(nvcc) = self.nvcc.as_ref().filter(|_| !self.unconfined) else {
            return Ok(());
        };
        let readable = reach::of_compiler(&nvcc.program.path);
        match reach::exposes(&readable, path) {
            None => Ok(()),
            Some(folder) => Err(BuildError::Exposed {
                path: path.display().to_string(),
                folder: folder.display().to_string(),
            }),
        }
    }

    /// Compiles all builds.
    ///
    /// # Errors
    ///
    /// What is not the student's fault. That the compiler refuses the source is `Ok(Err(…))`.
    pub fn compile(
        &self,
        source: &Source,
        build: &Build,
    ) -> Result<Result<Compiled, Refused>, BuildError> {
        let room = room_with(source)?;
        let mut called = false;
        for optimisation in &build.builds {
            let ptx = match self.one(source, build, *optimisation, room.path(), &mut called)? {
                Ok(ptx) => ptx,
                Err(refused) => return Ok(Err(refused)),
            };
            let path = room.path().join(file_name(*optimisation));
            std::fs::write(&path, ptx).map_err(at(&path))?;
        }
        Ok(Ok(Compiled {
            room,
            builds: build.builds.clone(),
            called,
        }))
    }

    /// The PTX of one build.
    fn one(
        &self,
        source: &Source,
        build: &Build,
        optimisation: Optimisation,
        room: &Path,
        called: &mut bool,
    ) -> Result<Result<String, Refused>, BuildError> {
        let key = source.key(build, optimisation);
        if let Some(known) = self.pinned.as_deref().and_then(|folder| kept(folder, &key)) {
            return Ok(known);
        }
        let nvcc = self.nvcc.as_ref().ok_or(BuildError::NoCompiler)?;
        let cache = self.cache.as_deref().and_then(|folder| {
            let given = self.given(nvcc, source, build, optimisation)?;
            Some((Cache::at(folder).of_entries(ENTRIES), given))
        });
        let known = cache.as_ref().and_then(|(cache, given)| cache.get(given));
        if let Some(known) = known {
            return Ok(Ok(known));
        }
        if Nvcc::confined() == Confined::LimitsOnly && !self.unconfined {
            return Err(BuildError::NotConfined);
        }
        *called = true;
        let options = CompileOptions {
            arch: build.arch.clone(),
            further: build.flags.clone(),
            time: Some(Duration::from_secs_f64(build.seconds.clamp(1.0, 3600.0))),
            ..CompileOptions::default()
        };
        let mut headers = Vec::new();
        let main = room.join(&source.main);
        let compiled =
            nvcc.compile_noting(&main, optimisation.into(), &options, Some(&mut headers));
        let ptx = match compiled {
            Ok(ptx) => self.local(&ptx, source, room, nvcc),
            // That it fails may depend on the machine, so it is never kept.
            Err(CompileError::Refused { messages, .. }) => {
                return Ok(Err(Refused {
                    what: "the compiler refuses it".to_owned(),
                    messages: words(&messages, room, nvcc),
                }));
            }
            Err(CompileError::TookTooLong { seconds, .. }) => {
                return Ok(Err(Refused {
                    what: format!(
                        "the compiler did not end within {} s",
                        seconds.as_secs_f64()
                    ),
                    messages: String::new(),
                }));
            }
            Err(error) => return Err(BuildError::Compiler(error)),
        };
        if let Some((cache, given)) = cache
            && !headers.is_empty()
        {
            // Those beside the source are part of it.
            headers.retain(|header| matches!(header, Header::Stamp(_)));
            cache.put(&given, &headers, &ptx);
        }
        Ok(Ok(ptx))
    }

    /// All that decides what the compiler makes of a source.
    fn given(
        &self,
        nvcc: &Nvcc,
        source: &Source,
        build: &Build,
        optimisation: Optimisation,
    ) -> Option<Vec<u8>> {
        let version = self.version.as_deref().unwrap_or_default();
        let mut given = nvcc.surroundings()?;
        for part in [version]
            .into_iter()
            .map(str::to_owned)
            .chain(source.parts(build, optimisation))
        {
            given.extend(part.len().to_le_bytes());
            given.extend(part.bytes());
        }
        Some(given)
    }

    /// PTX in which files have the names that they have in the submission, and no file outside has one that can be opened.
    fn local(&self, ptx: &str, source: &Source, room: &Path, nvcc: &Nvcc) -> String {
        let real = room.canonicalize().unwrap_or_else(|_| room.to_path_buf());
        let toolkit = nvcc
            .program
            .path
            .canonicalize()
            .unwrap_or_else(|_| nvcc.program.path.clone());
        let toolkit: BTreeSet<PathBuf> = [&toolkit, &nvcc.program.path]
            .into_iter()
            .filter_map(|path| Some(path.parent()?.parent()?.to_path_buf()))
            .collect();
        let mut out = String::with_capacity(ptx.len());
        for line in ptx.split_inclusive('\n') {
            let parts = line.trim_start().strip_prefix(".file").and_then(|_| {
                let (before, rest) = line.split_once('"')?;
                let (path, after) = rest.rsplit_once('"')?;
                Some((before, path, after))
            });
            let Some((before, path, after)) = parts else {
                out.push_str(line);
                continue;
            };
            let own = [room, &real]
                .into_iter()
                .find_map(|r| Path::new(path).strip_prefix(r).ok());
            let own = own
                .and_then(|p| p.to_str())
                .filter(|p| source.files.contains_key(*p));
            let name = match own {
                Some(name) => name.to_owned(),
                None => {
                    let inside = toolkit
                        .iter()
                        .find_map(|t| Path::new(path).strip_prefix(t).ok());
                    match inside {
                        Some(inside) => format!("/usr/local/cuda/{}", inside.display()),
                        None => ELSEWHERE.to_owned(),
                    }
                }
            };
            out += &format!("{before}\"{name}\"{after}");
        }
        out
    }
}

/// Where the compiler's own files are.
fn toolkit(nvcc: &Nvcc) -> BTreeSet<PathBuf> {
    let path = &nvcc.program.path;
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    let folder = |path: &Path| Some(path.parent()?.parent()?.to_path_buf());
    [&real, path]
        .into_iter()
        .filter_map(|path| folder(path))
        .collect()
}

/// The compiler's words without the names of folders.
pub(crate) fn words(messages: &str, room: &Path, nvcc: &Nvcc) -> String {
    let mut text = messages.to_owned();
    for folder in toolkit(nvcc) {
        text = text.replace(&format!("{}/bin/../", folder.display()), "/usr/local/cuda/");
        text = text.replace(&format!("{}/", folder.display()), "/usr/local/cuda/");
    }
    for folder in [Some(room.to_path_buf()), room.canonicalize().ok()]
        .into_iter()
        .flatten()
    {
        text = text.replace(&format!("{}/", folder.display()), "");
    }
    // Whether there is a file where nothing may be read is nobody's business.
    text = text.replace(": Permission denied", ": No such file or directory");
    let shown: String = text
        .chars()
        .filter(|c| !c.is_control() || "\n\t".contains(*c))
        .take(WORDS)
        .collect();
    match shown.len() < text.len() {
        true => format!("{shown}\n…"),
        false => shown,
    }
}

const REFUSED: &str = "// refused\n";

/// What came of a compilation that is kept in a folder.
fn kept(folder: &Path, key: &str) -> Option<Result<String, Refused>> {
    let text = std::fs::read_to_string(folder.join(format!("{key}.ptx"))).ok()?;
    Some(match text.strip_prefix(REFUSED) {
        Some(messages) => Err(Refused {
            what: "the compiler refuses it".to_owned(),
            messages: messages.to_owned(),
        }),
        None => Ok(text),
    })
}

/// Keeps what came of a compilation: the whole of it or nothing.
///
/// # Errors
///
/// The folder can't be written.
pub fn keep(folder: &Path, key: &str, compiled: &Result<String, Refused>) -> std::io::Result<()> {
    let text = match compiled {
        Ok(ptx) => ptx.clone(),
        Err(refused) => format!("{REFUSED}{}", refused.messages),
    };
    atomically(&folder.join(format!("{key}.ptx")), text.as_bytes())
}

/// Writes a file so that whoever reads it sees the whole of it or what was there before.
///
/// # Errors
///
/// Its folder can't be made or written.
pub fn atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // A device or a pipe stays what it is.
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return std::fs::write(path, bytes);
    }
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(".racetrap-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.as_file()
            .set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

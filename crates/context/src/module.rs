//! Modules: what a program registers or loads, made ready when it is first used.

use crate::error::{Error, Result};
use crate::fatbin;
use crate::options::{Instead, Options};
use ptx::ast::{FunctionKind, Item, Module as Tree};
use ptx::demangle;
use report::SourceFile;
use simt::{Lines, LowerError, Program};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A kernel, ready to run.
#[derive(Debug)]
pub struct Kernel {
    /// Its number in the context.
    pub id: usize,
    /// Its module.
    pub module: usize,
    /// Its name in the PTX.
    pub mangled: String,
    /// Its name for the reader.
    pub name: String,
    /// The code.
    pub program: Program,
    /// The PTX.
    pub ptx: Arc<SourceFile>,
    /// The source files that its module names.
    pub files: Arc<Vec<String>>,
}

/// A symbol's name for the reader.
pub fn demangled(symbol: &str) -> String {
    demangle(symbol)
}

/// Where a module comes from.
#[derive(Debug)]
pub enum Image {
    /// Containers, each of one object; several are linked.
    FatBinaries(Vec<Vec<u8>>),
    /// PTX.
    Text(String),
    /// PTX of several files, to be linked.
    Texts(Vec<String>),
}

/// A module.
#[derive(Debug)]
pub struct Module {
    /// Whose it is, for the reader: the program, or a function that loaded it.
    pub from: String,
    image: Image,
    state: State,
    /// The kernels that its host code registered, for the summary.
    pub registered: Vec<String>,
}

#[derive(Debug)]
enum State {
    Untouched,
    Loaded(Box<Loaded>),
    Failed(Error),
}

/// A module that was parsed.
#[derive(Debug)]
pub struct Loaded {
    tree: Tree,
    ptx: Arc<SourceFile>,
    files: Arc<Vec<String>>,
    /// Known as soon as a kernel is made ready.
    lines: Option<Lines>,
    kernels: HashMap<String, Result<Arc<Kernel>>>,
    names: Vec<String>,
}

impl Module {
    /// A module that has not been looked at.
    pub fn new(from: &str, image: Image) -> Module {
        Module {
            from: from.to_owned(),
            image,
            state: State::Untouched,
            registered: Vec::new(),
        }
    }

    /// Architectures that it has PTX for and that are newer than a GPU of this compute capability.
    pub(crate) fn newer(&self, capability: u32) -> BTreeSet<u32> {
        let Image::FatBinaries(all) = &self.image else {
            return BTreeSet::new();
        };
        let mut room = fatbin::Room::default();
        let contents = all
            .iter()
            .filter_map(|bytes| fatbin::read_within(bytes, &mut room).ok());
        let architectures = contents.flat_map(|c| c.ptx.into_iter().map(|ptx| ptx.arch));
        architectures.filter(|arch| *arch > capability).collect()
    }

    /// Whether it has been used.
    pub fn is_loaded(&self) -> bool {
        matches!(self.state, State::Loaded(_))
    }

    /// The names of the texts that it is linked from, once it is loaded.
    pub(crate) fn texts(&self) -> &[String] {
        match &self.state {
            State::Loaded(loaded) => &loaded.names,
            State::Untouched | State::Failed(_) => &[],
        }
    }

    /// Parses it, the first time; what keeps it from that goes to `doubt`.
    ///
    /// # Errors
    ///
    /// The error that the runtime has for it.
    pub fn load(&mut self, options: &Options, doubt: &mut Vec<String>) -> Result<&mut Loaded> {
        if let State::Untouched = self.state {
            self.state = match self.read(options) {
                Ok(loaded) => State::Loaded(Box::new(loaded)),
                Err((error, text)) => {
                    doubt.push(text);
                    State::Failed(error)
                }
            };
        }
        match &mut self.state {
            State::Loaded(loaded) => Ok(loaded),
            State::Failed(error) => Err(*error),
            State::Untouched => Err(Error::UNKNOWN),
        }
    }

    fn read(&mut self, options: &Options) -> std::result::Result<Loaded, (Error, String)> {
        let (from, capability) = (&self.from, options.capability);
        let parse = |text: &str| {
            ptx::parse(text).map_err(|error| {
                let line = text[..(error.span.start as usize).min(text.len())]
                    .matches('\n')
                    .count()
                    + 1;
                let text = format!("PTX of {from} can't be read: {} (line {line})", error.kind);
                (Error::INVALID_PTX, text)
            })
        };
        let texts = match &self.image {
            Image::Text(text) => vec![text.clone()],
            Image::Texts(texts) => texts.clone(),
            Image::FatBinaries(all) => {
                let (mut texts, mut room) = (Vec::new(), fatbin::Room::default());
                for bytes in all {
                    let contents = fatbin::read_within(bytes, &mut room)
                        .map_err(|e| (Error::INVALID_KERNEL_IMAGE, format!("{from}: {e}")))?;
                    if all.len() > 1 && contents.is_device_runtime() {
                        continue;
                    }
                    match fatbin::choose(&contents.ptx, capability) {
                        Some(ptx) => texts.push(options.instead_of(&ptx.text).map_err(|e| {
                            let text = format!("what takes the place of {from}'s PTX: {e}");
                            (Error::INVALID_PTX, text)
                        })?),
                        None if contents.machine_code.is_empty() => {}
                        None => {
                            let text = format!(
                                "{from} has machine code without PTX, which racetrap can't run: build it with `racetrap build -- COMMAND`, \
                                 or add `-gencode arch=compute_{capability},code=compute_{capability}` to nvcc's options"
                            );
                            return Err((Error::NO_KERNEL_IMAGE_FOR_DEVICE, text));
                        }
                    }
                }
                texts
            }
        };
        let names = match options.tape {
            true => texts.iter().map(|text| Instead::name(text)).collect(),
            false => Vec::new(),
        };
        let text = match &texts[..] {
            [] => {
                return Err((
                    Error::NO_KERNEL_IMAGE_FOR_DEVICE,
                    format!("{from} has no PTX"),
                ));
            }
            [one] => one.clone(),
            several => {
                let trees = several.iter().map(|t| parse(t));
                let trees: std::result::Result<Vec<Tree>, _> = trees.collect();
                let linked = ptx::link(trees?);
                let linked = linked.map_err(|e| (Error::INVALID_PTX, format!("{from}: {e}")))?;
                ptx::print(&linked)
            }
        };
        let tree = parse(&text)?;
        let files = tree.items.iter().filter_map(|item| match item {
            Item::File(file) => Some(file.name.clone()),
            _ => None,
        });
        Ok(Loaded {
            files: Arc::new(files.collect()),
            ptx: Arc::new(SourceFile::new(SourceFile::listing(from, ""), text)),
            tree,
            lines: None,
            kernels: HashMap::new(),
            names,
        })
    }
}

impl Loaded {
    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Names of its kernels.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.tree.items.iter().filter_map(|item| match item {
            Item::Function(f) if f.kind == FunctionKind::Entry && f.body.is_some() => {
                Some(f.name.as_str())
            }
            _ => None,
        })
    }

    /// A kernel by its name in the PTX, made ready the first time; `id` is what it is to be called, `module` its module, `capability` that of the GPU.
    ///
    /// # Errors
    ///
    /// There is none, or it can't be made ready; why goes to `doubt`.
    pub fn kernel(
        &mut self,
        mangled: &str,
        module: usize,
        id: usize,
        capability: u32,
        doubt: &mut Vec<String>,
    ) -> Result<Arc<Kernel>> {
        if let Some(known) = self.kernels.get(mangled) {
            return known.clone();
        }
        let text = &self.ptx.text;
        let lines = self
            .lines
            .get_or_insert_with(|| Lines::of(&self.tree, text));
        let made = match Program::lower_with(&self.tree, text, lines, mangled, None) {
            Ok(mut program) => {
                program.module = module as u32 + 1;
                program.device = capability;
                Ok(Arc::new(Kernel {
                    id,
                    module,
                    mangled: mangled.to_owned(),
                    name: demangle(mangled),
                    program,
                    ptx: self.ptx.clone(),
                    files: self.files.clone(),
                }))
            }
            Err(LowerError::NoSuchEntry { .. }) => Err(Error::INVALID_DEVICE_FUNCTION),
            Err(error) => {
                doubt.push(format!("`{}` can't be run: {error}", demangle(mangled)));
                Err(Error::INVALID_PTX)
            }
        };
        self.kernels.insert(mangled.to_owned(), made.clone());
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// What takes long for a whole module is done once: a library has thousands of kernels in one.
    #[test]
    fn many_kernels_are_made_ready_in_the_time_of_their_text() {
        const KERNELS: usize = 500;
        let lines = ".loc 1 5 3\n.loc 1 6 3, function_name k0, inlined_at 1 5 3\n".repeat(50);
        let kernels =
            (0..KERNELS).map(|n| format!(".visible .entry k{n}()\n{{\n{lines}ret;\n}}\n"));
        let head = ".version 8.0\n.target sm_75\n.address_size 64\n.file 1 \"k.cu\"\n";
        let text = head.to_owned() + &kernels.collect::<String>();
        let options = Options {
            capability: 75,
            ..Options::default()
        };
        let start = Instant::now();
        let mut loaded = Module::new("a test", Image::Text(text))
            .read(&options)
            .expect("it can be read");
        let read = start.elapsed();
        let start = Instant::now();
        for n in 0..KERNELS {
            let made = loaded.kernel(&format!("k{n}"), 0, n, 75, &mut Vec::new());
            assert!(made.is_ok(), "{n}");
        }
        let ready = start.elapsed();
        assert!(
            ready < read * 20,
            "{ready:?}, and {read:?} to read the text"
        );
    }
}

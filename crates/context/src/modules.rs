//! The modules of a process, and what host code has registered of them.

use crate::module::{Image, Kernel, Module};
use std::collections::HashMap;
use std::sync::Arc;

/// All modules.
#[derive(Debug, Default)]
pub struct Modules {
    /// By number.
    pub(crate) all: Vec<Module>,
    /// Kernels that were made ready, by number.
    pub(crate) kernels: Vec<Arc<Kernel>>,
    /// Dynamic shared memory that kernels were allowed beyond what all have, by their number.
    pub(crate) opted_in: HashMap<usize, u32>,
    /// Kernels that may have clusters of more blocks than all GPUs take, by their number.
    pub(crate) large_clusters: std::collections::HashSet<usize>,
    /// By their addresses in the host code.
    pub(crate) functions: HashMap<u64, (usize, String)>,
    pub(crate) symbols: HashMap<u64, Symbol>,
}

/// A variable that host code registered.
#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub module: usize,
    pub name: String,
    pub bytes: u64,
}

impl Modules {
    /// Registers or loads a module; its number.
    pub fn add(&mut self, from: &str, image: Image) -> usize {
        self.all.push(Module::new(from, image));
        self.all.len() - 1
    }

    /// Host code for a kernel of a module: `function` is its address.
    pub fn register_function(&mut self, module: usize, function: u64, name: &str) {
        if let Some(module) = self.all.get_mut(module) {
            module.registered.push(name.to_owned());
        }
        self.functions.insert(function, (module, name.to_owned()));
    }

    /// A variable of a module: `variable` is its address in the host code.
    pub fn register_variable(&mut self, module: usize, variable: u64, name: &str, bytes: u64) {
        let name = name.to_owned();
        self.symbols.insert(
            variable,
            Symbol {
                module,
                name,
                bytes,
            },
        );
    }

    /// A kernel by its number.
    pub fn kernel_of(&self, id: usize) -> Option<Arc<Kernel>> {
        self.kernels.get(id).cloned()
    }
}

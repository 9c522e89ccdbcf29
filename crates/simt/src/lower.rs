//! Lowering: from the syntax tree to decoded code.
//!
//! The driver below walks one kernel and every device function that it can
//! reach. Names are resolved by [`scope`], variables laid out by [`symbols`],
//! instructions decoded by [`instruction`] and the files it calls, meeting
//! points inserted by [`barrier_postdominators`], loads whose value some lanes drop found by
//! [`speculated`], and those whose value nobody has to load by [`read_back`], static facts gathered by [`facts`],
//! what order-dependent values reach told by [`dependence`].
//!
//! Lowering an instruction never fails: what racetrap does not implement becomes
//! [`Op::Unsupported`], which stops the run when a lane comes to it.

mod address_loads;
mod async_copy;
pub mod barrier_postdominators;
mod bulk;
mod compare_and_swap;
pub mod control;
pub mod def_use;
mod delay_loops;
pub mod dependence;
pub mod facts;
pub mod instruction;
mod link;
mod live;
pub mod load_runs;
mod matrix;
mod mbarrier;
pub mod memory;
pub mod operand;
pub mod phase_waits;
pub mod pointers;
mod reach;
mod reaching_values;
mod read_back;
pub mod scope;
pub mod speculated;
pub mod symbols;
pub mod sync;
pub(crate) mod tensor;
pub mod texture;
pub mod updates;
mod video;
mod warpgroup;

pub use address_loads::address_loads;
pub use reach::may_come_before;

use super::children::KernelName;
use super::ids::Site;
use super::op::*;
use super::program::*;
use ptx::ast::{self, Function, FunctionKind, Item, Module, Stmt};
use ptx::semantics::TypedInstruction;
use ptx::source::SourceMap;
use scope::Scopes;
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// Why a kernel can't be made ready.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LowerError {
    /// No such kernel.
    #[error("this PTX has no kernel `{entry}`")]
    NoSuchEntry {
        /// The name asked for.
        entry: String,
        /// The kernels that are there.
        entries: Vec<String>,
    },
    /// A directive or declaration that can't be laid out.
    #[error("line {line}: {what}")]
    Declaration {
        /// Line in the PTX, from 1.
        line: u32,
        /// What is wrong.
        what: String,
    },
    /// `.address_size 32`.
    #[error(
        "this PTX uses 32-bit addresses; racetrap supports only 64-bit PTX (compile with -m64)"
    )]
    AddressSize,
    /// The time is up.
    #[error("there was no time to decode it")]
    OutOfTime,
    /// Its control flow has more places at which barriers can be missed than are kept.
    #[error("it has too many barriers in too deep a nest of branches")]
    TooLarge,
}

/// Statements after which the clock is looked at.
const LOOK: usize = 1 << 10;

/// The kernels that a module defines, in order.
pub fn entries(module: &Module) -> Vec<&str> {
    functions(module)
        .filter(|f| f.kind == FunctionKind::Entry && f.body.is_some())
        .map(|f| f.name.as_str())
        .collect()
}

fn functions(module: &Module) -> impl Iterator<Item = &Function> {
    module.items.iter().filter_map(|item| match item {
        Item::Function(f) => Some(f),
        _ => None,
    })
}

/// Where the lines of a module's text begin, and what source they come from: the same for all of its kernels.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The first byte of each line.
    starts: Vec<u32>,
    sources: SourceMap,
}

impl Lines {
    /// Those of a module that was parsed from `source`.
    pub fn of(module: &Module, source: &str) -> Lines {
        let ends = source.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        Lines {
            starts: std::iter::once(0)
                .chain(ends.map(|(i, _)| i as u32 + 1))
                .collect(),
            sources: SourceMap::of(module),
        }
    }
}

impl Program {
    /// Makes the kernel `entry` (its name as in the PTX) of a module ready to
    /// run. `source` is the text that the module was parsed from.
    ///
    /// # Errors
    /// See [`LowerError`].
    pub fn lower(module: &Module, source: &str, entry: &str) -> Result<Program, LowerError> {
        Program::lower_until(module, source, entry, None)
    }

    /// The same, if it is done by then.
    ///
    /// # Errors
    /// See [`LowerError`].
    pub fn lower_until(
        module: &Module,
        source: &str,
        entry: &str,
        until: Option<Instant>,
    ) -> Result<Program, LowerError> {
        Program::lower_with(module, source, &Lines::of(module, source), entry, until)
    }

    /// The same for one of several kernels, where the lines of the module are known: a library has thousands of kernels in one module.
    ///
    /// # Errors
    /// See [`LowerError`].
    pub fn lower_with(
        module: &Module,
        source: &str,
        lines: &Lines,
        entry: &str,
        until: Option<Instant>,
    ) -> Result<Program, LowerError> {
        let mut lowering = Lowering::new(module, source, lines);
        lowering.until = until;
        lowering.program(entry)
    }
}

/// Where lowering stands.
pub(super) struct Lowering<'m> {
    module: &'m Module,
    source: &'m str,
    lines: &'m Lines,
    definitions: HashMap<&'m str, &'m Function>,
    pub(super) program: Program,
    pub(super) scopes: Scopes,
    /// Functions referred to but not yet lowered.
    queue: Vec<(usize, &'m Function)>,
    /// Functions that a variable's initialiser names: they are part of the program as soon as something calls through a pointer.
    named: BTreeMap<usize, &'m Function>,
    /// The index of each function that is part of the program, and of each kernel whose address is taken.
    known: HashMap<&'m str, usize>,
    known_kernels: HashMap<String, usize>,
    /// Whether something calls through a pointer.
    pub(super) calls_pointers: bool,
    /// Code of the functions lowered so far.
    bodies: Vec<Vec<Instr>>,
    /// Code of the function at hand.
    pub(super) code: Vec<Instr>,
    /// Jumps of the function at hand whose targets are label names.
    pub(super) jumps: Vec<Jump>,
    /// Declared module-scope shared variables, laid out when first used.
    pub(super) module_shared: HashMap<&'m str, (&'m ast::Variable, Option<u32>)>,
    pub(super) dynamic_shared: Vec<(String, u32)>,
    /// Where the shared memory begins that the system reserves, in kernels that ask.
    pub(super) reserved_shared: Option<u32>,
    pub(super) function: usize,
    pub(super) guard: Slot,
    pub(super) site: Site,
    pub(super) constants: operand::Constants,
    /// Where the elements of matrices lie, for each kind of matrix that has come up.
    pub(super) fragments: HashMap<crate::matrix::Fragment, std::sync::Arc<[u16]>>,
    location: Option<ast::Loc>,
    /// When the time is up.
    until: Option<Instant>,
}

/// A jump to be resolved when the function's labels are known.
pub(super) struct Jump {
    pub at: usize,
    pub labels: Vec<String>,
    pub scope: usize,
}

impl<'m> Lowering<'m> {
    fn new(module: &'m Module, source: &'m str, lines: &'m Lines) -> Lowering<'m> {
        let definitions = functions(module)
            .filter(|f| f.body.is_some())
            .map(|f| (f.name.as_str(), f))
            .collect();
        Lowering {
            module,
            source,
            lines,
            definitions,
            program: Program {
                entry: String::new(),
                module: 0,
                code: Vec::new(),
                functions: Vec::new(),
                sites: Vec::new(),
                params: Vec::new(),
                param_bytes: 0,
                shared_bytes: 0,
                shared: Vec::new(),
                globals: Vec::new(),
                kernels: Vec::new(),
                memory_ops: Vec::new(),
                load_runs: Vec::new(),
                atomic_ops: Vec::new(),
                image_ops: Vec::new(),
                copy_ops: Vec::new(),
                bulk_ops: Vec::new(),
                matrix_ops: Vec::new(),
                group_products: Vec::new(),
                register_uses: Vec::new(),
                reserved_shared: 0..0,
                points: 0,
                required_block: None,
                max_threads: None,
                required_cluster: None,
                explicit_cluster: false,
                max_cluster: None,
                target: 0,
                device: 0,
                facts: Facts::default(),
                rows_w: 0,
                rows_d: 0,
                preds: 0,
                const_w: Vec::new(),
                const_d: Vec::new(),
                relocations: Vec::new(),
            },
            scopes: Scopes::new(),
            queue: Vec::new(),
            named: BTreeMap::new(),
            known: HashMap::new(),
            known_kernels: HashMap::new(),
            calls_pointers: false,
            bodies: Vec::new(),
            code: Vec::new(),
            jumps: Vec::new(),
            module_shared: HashMap::new(),
            dynamic_shared: Vec::new(),
            reserved_shared: None,
            function: 0,
            guard: Slot::TRUE,
            site: Site(0),
            constants: operand::Constants::default(),
            fragments: HashMap::new(),
            location: None,
            until: None,
        }
    }

    /// Whether there is time left: asked every so many statements, and between the analyses, of which each is about linear.
    fn in_time(&self) -> Result<(), LowerError> {
        match self.until {
            Some(until) if Instant::now() >= until => Err(LowerError::OutOfTime),
            _ => Ok(()),
        }
    }

    fn program(mut self, entry: &str) -> Result<Program, LowerError> {
        if self.module.address_size == 32 {
            return Err(LowerError::AddressSize);
        }
        let kernel = self
            .definitions
            .get(entry)
            .copied()
            .filter(|f| f.kind == FunctionKind::Entry);
        let kernel = kernel.ok_or_else(|| LowerError::NoSuchEntry {
            entry: entry.to_owned(),
            entries: entries(self.module)
                .into_iter()
                .map(str::to_owned)
                .collect(),
        })?;
        self.program.entry = entry.to_owned();
        self.program.target = target_number(&self.module.target);
        self.program.device = self.program.target;
        self.function_index(kernel);
        self.module_variables()?;
        loop {
            match self.queue.pop() {
                Some((index, function)) => self.function(index, function)?,
                None if self.calls_pointers && !self.named.is_empty() => {
                    self.queue.extend(std::mem::take(&mut self.named));
                }
                None => break,
            }
        }
        for (index, function) in std::mem::take(&mut self.named) {
            self.enter(index);
            self.returns(function);
        }
        self.place_dynamic_shared();
        self.link()?;
        self.callers();
        self.in_time()?;
        let rows = self.scopes.rows;
        let program = &mut self.program;
        [program.rows_w, program.rows_d, program.preds] = rows.map(|n| n as usize);
        self.constants.finish(program);
        let analyses: [fn(&mut Program); 8] = [
            pointers::find,
            updates::find,
            read_back::find,
            compare_and_swap::find,
            delay_loops::find,
            phase_waits::find,
            load_runs::find,
            facts::find,
        ];
        for find in analyses {
            self.in_time()?;
            find(&mut self.program);
        }
        Ok(self.program)
    }

    /// The index of a function in the program, which makes it part of the program.
    pub(super) fn function_index(&mut self, function: &'m Function) -> usize {
        let index = match self.known_function(function) {
            Some(known) if self.named.remove(&known).is_some() => known,
            Some(known) => return known,
            None => self.new_function(function),
        };
        self.queue.push((index, function));
        index
    }

    /// The index of a function that nothing calls by its name so far: a number that stands for it in memory.
    pub(super) fn named_function(&mut self, function: &'m Function) -> usize {
        self.known_function(function).unwrap_or_else(|| {
            let index = self.new_function(function);
            self.named.insert(index, function);
            index
        })
    }

    fn known_function(&self, function: &Function) -> Option<usize> {
        self.known.get(function.name.as_str()).copied()
    }

    fn new_function(&mut self, function: &'m Function) -> usize {
        self.known
            .insert(&function.name, self.program.functions.len());
        self.program.functions.push(FunctionInfo {
            name: function.name.clone(),
            ..FunctionInfo::default()
        });
        self.program.functions.len() - 1
    }

    /// The index of a kernel among those whose addresses are taken.
    pub(super) fn kernel_index(&mut self, name: &str) -> Option<usize> {
        if let Some(known) = self.known_kernels.get(name) {
            return Some(*known);
        }
        let kernel = self
            .definition(name)
            .filter(|f| f.kind == FunctionKind::Entry)?;
        self.program.kernels.push(KernelName {
            name: name.to_owned(),
            bytes: symbols::parameter_bytes(kernel),
        });
        let index = self.program.kernels.len() - 1;
        self.known_kernels.insert(name.to_owned(), index);
        Some(index)
    }

    /// The definition of a function.
    pub(super) fn definition(&self, name: &str) -> Option<&'m Function> {
        self.definitions.get(name).copied()
    }

    fn function(&mut self, index: usize, function: &'m Function) -> Result<(), LowerError> {
        self.enter(index);
        let rows_before = self.scopes.rows;
        let back = self.scopes.enter();
        self.parameters(function)?;
        self.directives(function);
        self.statements(function.body.as_deref().unwrap_or_default())?;
        self.returns(function);
        self.scopes.leave(back);
        let rows_after = self.scopes.rows;
        self.program.functions[index].rows =
            std::array::from_fn(|i| (rows_before[i], rows_after[i]));
        Ok(())
    }

    /// Begins with the code of a function.
    fn enter(&mut self, index: usize) {
        self.function = index;
        self.code.clear();
        self.jumps.clear();
        self.location = None;
    }

    /// Ends the code of the function.
    fn returns(&mut self, function: &Function) {
        let index = self.function;
        // Falling off the end returns (PTX ISA, "ret").
        self.site = self.new_site(function.span, String::from("(end of function)"));
        self.guard = Slot::TRUE;
        self.program.sites[self.site.0 as usize].instruction = TypedInstruction::implied_return();
        self.emit(Op::Return);
        self.resolve_jumps();
        if self.bodies.len() <= index {
            self.bodies.resize_with(index + 1, Vec::new);
        }
        self.bodies[index] = std::mem::take(&mut self.code);
    }

    fn directives(&mut self, function: &Function) {
        for d in &function.directives {
            let numbers: Vec<u32> = d.tokens.iter().filter_map(|t| t.parse().ok()).collect();
            let at = |i: usize| numbers.get(i).copied().unwrap_or(1);
            match d.name.as_str() {
                ".reqntid" if self.function == 0 => {
                    self.program.required_block = Some([at(0), at(1), at(2)]);
                }
                ".reqnctapercluster" if self.function == 0 => {
                    self.program.required_cluster = Some([at(0), at(1), at(2)]);
                }
                ".explicitcluster" if self.function == 0 => self.program.explicit_cluster = true,
                ".maxclusterrank" if self.function == 0 => {
                    self.program.max_cluster = Some(at(0));
                }
                ".maxntid" if self.function == 0 => {
                    self.program.max_threads = Some(
                        numbers
                            .iter()
                            .fold(1u64, |all, n| all.saturating_mul(u64::from(*n))),
                    );
                }
                _ => {}
            }
        }
    }

    fn statements(&mut self, body: &'m [Stmt]) -> Result<(), LowerError> {
        // Labels and lists are visible in the whole scope, before their place too;
        // jumps are resolved at the function's end.
        for (number, statement) in body.iter().enumerate() {
            if number % LOOK == LOOK - 1 {
                self.in_time()?;
            }
            match statement {
                Stmt::Label(label) => self.scopes.label(&label.name, self.code.len() as u32),
                Stmt::Variable(v) => self.local_variable(v)?,
                // Line 0 marks code that the compiler made for no line in particular: it counts
                // to the line before.
                Stmt::Loc(loc) if loc.line == 0 && self.location.is_some() => {}
                Stmt::Loc(loc) => self.location = Some(loc.clone()),
                Stmt::BranchTargets(list) | Stmt::CallTargets(list) => {
                    self.scopes.list(&list.name, list.targets.clone());
                }
                Stmt::Block(inner) => {
                    let back = self.scopes.enter();
                    self.statements(inner)?;
                    self.scopes.leave(back);
                }
                Stmt::Instruction(instruction) => self.instruction(instruction),
                Stmt::CallPrototype(_) | Stmt::Directive(_) => {}
            }
        }
        Ok(())
    }

    /// A new site for a piece of source text.
    pub(super) fn new_site(&mut self, span: ast::Span, text: String) -> Site {
        let lines = self
            .location
            .as_ref()
            .map(|l| self.lines.sources.chain(l))
            .unwrap_or_default();
        self.program.sites.push(SiteInfo {
            text,
            instruction: TypedInstruction::default(),
            ptx_line: self.line(span),
            lines,
            caller: None,
            pointers: Vec::new(),
            update: None,
            seeds_swap: false,
            no_body: None,
            missing: None,
            waits: false,
        });
        Site(self.program.sites.len() as u32 - 1)
    }

    /// Line of a span, from 1.
    pub(super) fn line(&self, span: ast::Span) -> u32 {
        let starts = &self.lines.starts;
        starts.partition_point(|start| *start <= span.start) as u32
    }

    /// Source text of a span with its white space folded.
    pub(super) fn text(&self, span: ast::Span) -> String {
        let text = self
            .source
            .get(span.start as usize..span.end as usize)
            .unwrap_or("");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Appends an operation under the current guard.
    pub(super) fn emit(&mut self, op: Op) {
        self.code.push(Instr {
            guard: self.guard,
            op,
            site: self.site,
            inline: Inline::No,
        });
    }
}

/// 90 of `sm_90a`.
fn target_number(target: &[String]) -> u32 {
    let digits = |t: &String| {
        t.strip_prefix("sm_")
            .or_else(|| t.strip_prefix("compute_"))
            .map(|n| {
                n.chars()
                    .take_while(char::is_ascii_digit)
                    .collect::<String>()
                    .parse()
                    .unwrap_or(0)
            })
    };
    target.iter().find_map(digits).unwrap_or(0)
}

//! A kernel made ready to run: decoded code with everything that it refers to.

use super::alu::{Row32, Row64};
use super::children::KernelName;
use super::ids::Site;
use super::matrix::MatrixOp;
use super::matrix::warpgroup::GroupProduct;
use super::observer::{Effect, RunRead};
use super::op::{
    AtomicOp, Base, BulkOp, CopyOp, ImageOp, Instr, MemoryOp, Op, RegisterUse, Slot, WarpKind,
};
use ptx::ast::ScalarType;
use ptx::semantics::TypedInstruction;
use ptx::source::SourceLine;
use std::sync::Arc;

/// A kernel and the device functions that it can reach, decoded.
///
/// A program is immutable and independent of any device: addresses of global
/// variables are filled in when it is launched.
#[derive(Debug)]
pub struct Program {
    /// The kernel's name as in the PTX (mangled).
    pub entry: String,
    /// Which module it belongs to, for a device that loads several: variables of one name are one variable only within a module.
    pub module: u32,
    /// All code; the kernel starts at `functions[0].start`.
    pub code: Vec<Instr>,
    /// The kernel first.
    pub functions: Vec<FunctionInfo>,
    /// What a finding can point at, indexed by [`Site`].
    pub sites: Vec<SiteInfo>,
    /// The kernel's parameters in order.
    pub params: Vec<ParamInfo>,
    /// Bytes of all parameters with their padding.
    pub param_bytes: u32,
    /// Bytes of statically declared shared memory; dynamic shared memory follows.
    pub shared_bytes: u32,
    /// Shared variables, for naming addresses.
    pub shared: Vec<SharedVariable>,
    /// Variables in global and constant memory.
    pub globals: Vec<GlobalVariable>,
    /// Kernels whose addresses it takes, to launch them.
    pub kernels: Vec<KernelName>,
    /// Loads and stores.
    pub memory_ops: Vec<MemoryOp>,
    /// Loads that are performed together ([`super::lower::load_runs`]).
    pub load_runs: Vec<LoadRun>,
    /// Atomics and reductions.
    pub atomic_ops: Vec<AtomicOp>,
    /// Fetches from textures, accesses to surfaces.
    pub image_ops: Vec<ImageOp>,
    /// Asynchronous copies.
    pub copy_ops: Vec<CopyOp>,
    /// Bulk copies, and asynchronous stores and reductions.
    pub bulk_ops: Vec<BulkOp>,
    /// What is done to matrices.
    pub matrix_ops: Vec<MatrixOp>,
    /// Products of warpgroups.
    pub group_products: Vec<GroupProduct>,
    /// Uses of registers that they use.
    pub register_uses: Vec<RegisterUse>,
    /// Meeting points, see [`super::lower::barrier_postdominators`].
    pub points: u32,
    /// `.reqntid`, where declared.
    pub required_block: Option<[u32; 3]>,
    /// `.maxntid` as a number of threads, where declared.
    pub max_threads: Option<u64>,
    /// `.reqnctapercluster`: blocks of a cluster, where declared (PTX ISA, "Cluster Dimension Directives").
    pub required_cluster: Option<[u32; 3]>,
    /// `.explicitcluster`: a launch has to say how many blocks a cluster has, where the kernel does not.
    pub explicit_cluster: bool,
    /// `.maxclusterrank`, where declared.
    pub max_cluster: Option<u32>,
    /// Architecture number of `.target` (90 for `sm_90`), 0 where unknown.
    pub target: u32,
    /// Architecture number of the GPU that it runs on: that of `.target` where nobody says another. PTX for an older GPU is compiled for the
    /// one that is there (PTX ISA, "Goals of PTX").
    pub device: u32,
    /// What static analysis says.
    pub facts: Facts,
    pub(super) rows_w: usize,
    pub(super) rows_d: usize,
    pub(super) preds: usize,
    pub(super) const_w: Vec<Row32>,
    pub(super) const_d: Vec<Row64>,
    pub(super) relocations: Vec<Relocation>,
}

impl Program {
    /// The address of a device function that is a part of the program, by its name as in the PTX.
    pub fn function_address(&self, name: &str) -> Option<u64> {
        let index = self.functions.iter().position(|f| f.name == name)?;
        (index > 0).then_some(crate::memory::FUNCTION_BASE + index as u64)
    }

    /// Whether an instruction may be executed again by the same thread: a branch goes back, or a function is called.
    pub fn has_loops(&self) -> bool {
        let goes_back = |(at, i): (usize, &Instr)| match &i.op {
            Op::Branch { target } => *target as usize <= at,
            Op::BranchIndexed { .. } | Op::Call(_) => true,
            _ => false,
        };
        self.code.iter().enumerate().any(goes_back)
    }

    /// Whether what stands here is a part, but not the first, of an instruction that all lanes of a warp execute together ([`WarpKind::Together`]).
    pub(crate) fn is_joint(&self, pc: u32) -> bool {
        let (before, rest) = self.code.split_at(pc as usize);
        let Some(here) = rest.first() else {
            return false;
        };
        let same = before.iter().rev().take_while(|i| i.site == here.site);
        let meets =
            |i: &Instr| matches!(&i.op, Op::Warp(op) if matches!(op.kind, WarpKind::Together(_)));
        same.into_iter().any(meets)
    }

    /// What is known of an instruction.
    pub fn site(&self, site: Site) -> &SiteInfo {
        &self.sites[site.0 as usize]
    }
}

/// Loads of words from shared memory with nothing but arithmetic in between, of which none reads or writes the register that one loads
/// before it does.
#[derive(Debug)]
pub struct LoadRun {
    /// In the code's order, two or more.
    pub loads: Vec<RunLoad>,
    /// The same as those who watch are told of them.
    pub reads: Arc<[RunRead]>,
    /// The registers that their addresses start from.
    pub bases: Vec<RunBase>,
    /// Where the last one stands in the code.
    pub last: u32,
}

/// A load of a run.
#[derive(Debug)]
pub struct RunLoad {
    /// The load, in [`Program::memory_ops`].
    pub index: u32,
    /// Its base, in [`LoadRun::bases`].
    pub base: u8,
    /// Added to it.
    pub offset: i64,
    /// Where the word goes.
    pub d: Slot,
}

/// A register that addresses of a run start from.
#[derive(Debug)]
pub struct RunBase {
    /// The register.
    pub base: Base,
    /// The least that is added to it.
    pub least: i64,
    /// The most.
    pub most: i64,
}

/// A constant row that holds a variable's address.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    pub(super) row: usize,
    pub(super) symbol: usize,
    pub(super) addend: i64,
}

/// An instruction, for people.
#[derive(Clone, Debug, Default)]
pub struct SiteInfo {
    /// The instruction as in the PTX, white space folded: for people alone.
    pub text: String,
    /// What the instruction means.
    pub instruction: TypedInstruction,
    /// Line in the PTX, from 1.
    pub ptx_line: u32,
    /// Source lines, innermost inlined call first; empty where the PTX has no `.loc`.
    pub lines: Vec<SourceLine>,
    /// The call of the function that it is in, if there is only one in the program.
    pub caller: Option<Site>,
    /// The function that it calls and the PTX declares without a body.
    pub no_body: Option<String>,
    /// The pointers that its address may have been computed from ([`super::lower::pointers`]).
    pub pointers: Vec<Pointer>,
    /// The update that it ends, if it is a store of what its place held, changed ([`super::lower::updates`]).
    pub update: Option<PlainUpdate>,
    /// Whether it is a plain load whose value is only what a compare-and-swap begins with (`lower::compare_and_swap`).
    pub seeds_swap: bool,
    /// What racetrap does not implement of it.
    pub missing: Option<String>,
    /// A look at the clock in a loop that waits for time and does nothing else.
    pub waits: bool,
}

/// An update of a place in several instructions, of which a store is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainUpdate {
    /// The load of what the place held.
    pub load: Site,
    /// What is made of it.
    pub kind: UpdateKind,
    /// Of floating-point numbers.
    pub float: bool,
    /// Size of the place.
    pub bytes: u8,
}

/// What an update makes of the value that a place held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// Adds to it.
    Add,
    /// Subtracts from it.
    Subtract,
    /// The lesser of it and another value.
    Min,
    /// The greater one.
    Max,
    /// Keeps some bits.
    And,
    /// Sets some bits.
    Or,
    /// Inverts some bits.
    Xor,
    /// Replaces it if it is a certain one.
    CompareAndSwap,
    /// Something else.
    Other,
}

/// Where a pointer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pointer {
    /// The eight bytes of the parameters from here on.
    Parameter(u32),
    /// A shared variable: its offset.
    Shared(u64),
    /// A variable in global or constant memory: the row of constants that holds its address.
    Variable(usize),
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamInfo {
    /// Name in the PTX (`_Z4scanPi_param_0`).
    pub name: String,
    /// Element type.
    pub ty: ScalarType,
    /// Array elements (structs are arrays of `.b8`); 1 for scalars.
    pub count: u64,
    /// Offset in the parameter block, bytes.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Declared with `.ptr`.
    pub declared_pointer: bool,
}

/// A shared variable.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedVariable {
    /// Name in the PTX.
    pub name: String,
    /// Offset in the block's window, bytes.
    pub offset: u32,
    /// Size in bytes; `None` for the dynamic part.
    pub bytes: Option<u32>,
}

/// A variable in global or constant memory.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalVariable {
    /// Name in the PTX.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// In constant memory.
    pub constant: bool,
    /// Initial bytes (zero where nothing is said, PTX ISA, "Initializers").
    pub init: Vec<u8>,
    /// Addresses in the initialiser: offset, what, added bytes.
    pub addresses: Vec<(u64, Target, i64)>,
}

/// What an address in an initialiser refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Index into [`Program::globals`].
    Variable(usize),
    /// Index into [`Program::functions`].
    Function(usize),
}

/// A function of the program.
#[derive(Clone, Debug, Default)]
pub struct FunctionInfo {
    /// Name in the PTX.
    pub name: String,
    /// Index of its first instruction.
    pub start: u32,
    /// Bytes of its frame: local variables and parameters.
    pub frame: u32,
    /// Parameters in order.
    pub params: Vec<super::op::Carried>,
    /// Results in order.
    pub results: Vec<super::op::Carried>,
    /// Whether it can call itself: its registers are then saved around calls.
    pub recursive: bool,
    /// Register rows that belong to it: first and one past the last of W, D and P.
    pub rows: [(u32, u32); 3],
}

/// Static facts about a program.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Smallest element of any access that may go to shared memory, bytes.
    pub shared_granule: u32,
    /// Smallest element of any access that may go to global memory, bytes.
    pub global_granule: u32,
    /// Whether strong accesses may go to shared memory.
    pub strong_shared: bool,
    /// Whether strong accesses may go to global memory.
    pub strong_global: bool,
    /// Whether there are reads through the non-coherent cache.
    pub non_coherent: bool,
    /// Whether there are asynchronous copies.
    pub async_copies: bool,
    /// Whether there are operations of the async proxy.
    pub async_proxy: bool,
    /// Whether it has a `fence.sc` of cluster scope.
    pub cluster_scope: bool,
    /// Whether dependent launches may begin before it has ended: it has `griddepcontrol.launch_dependents`.
    pub launches_dependents: bool,
    /// Whether anything but whole-block barriers and warp barriers may order threads.
    pub fine_sync: bool,
    /// Whether blocks can run at the same time on several cores with a result
    /// that does not depend on how they interleave, provided that they don't race.
    pub blocks_commute: bool,
    /// Whether something that a block does may depend on the order of its own threads.
    pub order_sources: bool,
    /// Whether the order of accesses to memory decides everything that threads do.
    pub memory_alone: bool,
    /// By site: what atomics do to a location that others update, too.
    pub effects: Arc<[Effect]>,
    /// Whether a strong load may return something else than the last value.
    pub stale_values: bool,
    /// By site: a strong load whose value only steers control flow (it waits for a flag).
    pub control_only: Arc<[bool]>,
    /// Whether there is a strong load whose value is tested.
    pub polls: bool,
    /// By site: a strong load whose value goes on untested to memory, an address or the output.
    pub hands_on: Arc<[bool]>,
}

//! Sizes of grid and block: as given, as the source launches it, or guessed.

mod arrays;
mod named;

use super::error::Error;
use super::host::Host;
use super::input::Input;
pub use super::request::Given;
pub use super::shape::parse;
use super::shape::{BLOCK_THREADS, check};
use arrays::{SLOTS, array_block, arrays, element_bytes, shared_arrays, variables};
use named::Named;
pub(super) use named::other_blocks;
use ptx::ast::{Function, FunctionKind, Item, Module, Operand, StateSpace, Stmt};
use simt::ids::Dim3;
use std::collections::BTreeSet;
use toolchain::cuda_text::CudaText;

/// Grid, block and dynamic shared memory of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Bytes.
    pub shared: u32,
    /// Whether all blocks are resident and can call `grid.sync()`.
    pub cooperative: bool,
    /// Blocks of a cluster, if the launch says.
    pub cluster: Option<Dim3>,
    /// Where its parts come from.
    pub origins: Origins,
}

/// Where a part of a launch's shape comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The user gave it.
    Given,
    /// The kernel declares it (`.reqntid`, `.maxntid`).
    Declared,
    /// The host program launches the kernel so.
    Host,
    /// Constants, arrays or accesses of the kernel tell it.
    Source,
    /// It is what is likely.
    Default,
}

/// Where the parts of a launch's shape come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins {
    /// The blocks.
    pub grid: From,
    /// The threads of a block.
    pub block: From,
    /// The dynamic shared memory.
    pub shared: From,
    /// The blocks of a cluster.
    pub cluster: From,
    /// How the host program launches the kernel, where it says a part: `as line 12 launches it`.
    pub host: Option<String>,
}

/// What guesses start from: how large the launch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Threads of the whole launch.
    pub threads: u64,
    /// What a number of elements is likely to be: the threads in x where the kernel works on a plane, all threads otherwise.
    pub count: u64,
    /// Where the kernel works on a plane, the threads in y.
    pub rows: Option<u64>,
}

impl Sizes {
    /// A launch of one dimension.
    pub fn linear(threads: u64) -> Sizes {
        Sizes {
            threads,
            count: threads,
            rows: None,
        }
    }
}

impl Origins {
    fn all(&self) -> [From; 3] {
        [self.grid, self.block, self.shared]
    }

    /// Where what the user did not give comes from, in words; `None` if all was given.
    pub fn describe(&self) -> Option<&str> {
        match &self.host {
            Some(host) => Some(host),
            None => self
                .all()
                .iter()
                .any(|from| *from != From::Given)
                .then_some("guessed"),
        }
    }
}

impl Geometry {
    /// Whether racetrap chose a part of it, because neither the user nor the host program says any.
    pub fn is_guessed(&self) -> bool {
        self.origins.host.is_none() && self.origins.describe().is_some()
    }
}

/// Completes what was given: by a launch in the host code, by what the kernel declares (`.reqntid`, `.maxntid`), by constants that it
/// uses and whose names say it (`BLOCK_SIZE`), by the size of its shared arrays, or by two blocks of two warps.
///
/// # Errors
///
/// Sizes that no GPU can launch.
pub fn complete(
    given: Given,
    input: &Input,
    entry: &str,
    host: Option<&Host>,
) -> Result<Geometry, Error> {
    let module = &input.builds[0].module;
    let function = function(module, entry);
    let launch = host.map(|host| &host.launch);
    let three = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
    let dynamic = function.is_some_and(|f| dynamic_shared(module, f));
    let mut origins = Origins {
        grid: From::Given,
        block: From::Given,
        shared: From::Given,
        cluster: From::Given,
        host: None,
    };
    let block = match (given.block, launch.and_then(|l| l.block)) {
        (Some(block), _) => block,
        (None, Some(block)) => {
            origins.block = From::Host;
            three(block)
        }
        (None, None) => {
            let (block, from) = guess_block(module, function, &Named::of(input, entry));
            origins.block = from;
            block
        }
    };
    let grid = match (given.grid, launch.and_then(|l| l.grid)) {
        (Some(grid), _) => grid,
        (None, Some(grid)) if given.block.is_none() => {
            origins.grid = From::Host;
            three(grid)
        }
        _ => {
            origins.grid = From::Default;
            guess_grid(module, function)
        }
    };
    let declared = function.and_then(|f| directive(f, ".reqnctapercluster"));
    let cluster = match (given.cluster, launch.and_then(|l| l.cluster)) {
        (Some(cluster), _) => Some(cluster),
        (None, Some(cluster)) => {
            origins.cluster = From::Host;
            Some(three(cluster))
        }
        // The kernel says it to the GPU itself.
        (None, None) if declared.is_some() => None,
        (None, None) if launch.is_none() && asks_for_clusters(module) => {
            origins.cluster = From::Default;
            Some(Dim3::linear(DEFAULT_CLUSTER))
        }
        (None, None) => None,
    };
    let grid = match (origins.grid, cluster.or(declared.map(three))) {
        (From::Default, Some(cluster)) => Dim3 {
            x: grid.x.saturating_mul(cluster.x),
            y: grid.y.saturating_mul(cluster.y),
            z: grid.z.saturating_mul(cluster.z),
        },
        _ => grid,
    };
    let shared = match (given.shared, launch.and_then(|l| l.shared)) {
        (Some(shared), _) => shared,
        (None, Some(shared)) if shared > 0 && given.block.is_none() => {
            origins.shared = From::Host;
            shared
        }
        (None, _) if dynamic => {
            origins.shared = From::Default;
            // Eight bytes a thread: a double, or two arrays of words.
            u32::try_from(block.count() * 8).unwrap_or(0).min(48 << 10)
        }
        _ => 0,
    };
    if origins.block == From::Host {
        origins.host = host.map(Host::describe);
    }
    check(grid, block)?;
    Ok(Geometry {
        grid,
        block,
        shared,
        cooperative: launch.is_some_and(|l| l.cooperative),
        cluster,
        origins,
    })
}

/// Blocks of a cluster where nothing says how many: two, one of which can overtake the other.
const DEFAULT_CLUSTER: u32 = 2;

/// Whether the module has instructions that make sense in clusters of several blocks alone.
fn asks_for_clusters(module: &Module) -> bool {
    fn any(body: &[Stmt]) -> bool {
        body.iter().any(|statement| match statement {
            Stmt::Instruction(i) => {
                let typed = ptx::semantics::TypedInstruction::of(i);
                typed.opcode == ptx::semantics::Opcode::Mapa
            }
            Stmt::Block(body) => any(body),
            _ => false,
        })
    }
    module.items.iter().any(|item| match item {
        Item::Function(f) => f.body.as_deref().is_some_and(any),
        _ => false,
    })
}

/// Whole clusters: at least as many blocks, along each axis.
pub(super) fn in_clusters(grid: Dim3, cluster: Option<Dim3>) -> Dim3 {
    let cluster = cluster.unwrap_or(Dim3::ONE);
    Dim3 {
        x: grid.x.next_multiple_of(cluster.x.max(1)),
        y: grid.y.next_multiple_of(cluster.y.max(1)),
        z: grid.z.next_multiple_of(cluster.z.max(1)),
    }
}

/// Blocks of a cluster, as the launch or the kernel says.
pub(super) fn cluster_of(geometry: &Geometry, input: &Input, entry: &str) -> Option<Dim3> {
    let function = function(&input.builds[0].module, entry);
    let declared = function.and_then(|f| directive(f, ".reqnctapercluster"));
    let declared = declared.map(|[x, y, z]| Dim3 { x, y, z });
    geometry.cluster.or(declared)
}

/// The block that is guessed, and whether a guessed grid has several blocks.
pub(super) fn guesses(input: &Input, entry: &str) -> (Dim3, bool) {
    let module = &input.builds[0].module;
    let function = function(module, entry);
    let (block, _) = guess_block(module, function, &Named::of(input, entry));
    (block, guess_grid(module, function).count() > 1)
}

/// Whether nothing but arrays says how large a block is: no declaration, no constant of the source.
pub(super) fn nothing_says_block(input: &Input, entry: &str) -> bool {
    let module = &input.builds[0].module;
    let Some(function) = function(module, entry) else {
        return false;
    };
    let declared = [".reqntid", ".maxntid"].map(|name| directive(function, name));
    let plane = reads(function, "%tid", "y");
    declared == [None, None] && !plane && Named::of(input, entry).block(plane).is_none()
}

/// Whether the module has an array of so many elements of 1 to 16 bytes, or, in shared memory, several rows of them; `shared` asks for
/// one in shared memory.
pub(super) fn has_array_of(input: &Input, entry: &str, elements: u64, shared: bool) -> bool {
    const BYTES: [u64; 5] = [1, 2, 4, 8, 16];
    const ROWS: std::ops::RangeInclusive<u64> = 1..=4;
    let module = &input.builds[0].module;
    let all = function(module, entry).map(|f| arrays(module, f));
    let all = all.unwrap_or_default().into_iter();
    let mut all = all.map(|(space, bytes)| (space == StateSpace::Shared, bytes));
    all.any(|(is_shared, bytes)| {
        let row = |rows: u64| BYTES.iter().any(|each| elements * each * rows == bytes);
        match is_shared {
            true => ROWS.into_iter().any(row),
            false => !shared && row(1),
        }
    })
}

/// Smaller blocks that the shared arrays of the kernel are made for. A tile and its halo, `tile[32 + 4]`, is for 32 threads. `halves` asks for
/// half an array's elements, too: `tile[threadIdx.x + blockDim.x]` is for blocks of half of it.
pub(super) fn blocks_of_tiles(input: &Input, entry: &str, halves: bool) -> BTreeSet<u64> {
    const LEAST: u64 = 8;
    let module = &input.builds[0].module;
    let all = function(module, entry).map(|f| variables(module, f));
    let shared = all.into_iter().flatten();
    let shared = shared.filter(|(v, _)| v.space == StateSpace::Shared);
    let blocks = shared.flat_map(|(array, bytes)| {
        let count = bytes / element_bytes(array);
        let tile = (count + 1).next_power_of_two() / 2;
        let halo = (tile != count).then_some(tile);
        [halo, halves.then_some(tile / 2)]
    });
    blocks.flatten().filter(|block| *block >= LEAST).collect()
}

/// Whether the source names no `y` and no `z`, so that what reads them counts threads and blocks, as the ranks of cooperative groups do.
pub(super) fn names_one_axis(input: &Input) -> bool {
    let names = |text: &CudaText| [".y", ".z"].iter().any(|axis| text.code().contains(axis));
    input.source.as_ref().is_some_and(|text| !names(text))
}

/// Whether the grid is guessed and likely to follow from sizes: the kernel reads its block's number and not how many there are.
pub(super) fn grid_follows_sizes(given: Given, input: &Input, entry: &str) -> bool {
    let module = &input.builds[0].module;
    let reads = |register| {
        AXES.iter()
            .any(|axis| reads_anywhere(module, entry, register, axis))
    };
    given.grid.is_none() && reads("%ctaid") && !reads("%nctaid")
}

/// Whether a kernel, or a function that it may call, reads a thread's number.
pub(super) fn tells_threads_apart(input: &Input, entry: &str) -> bool {
    tells_apart(input, entry, "%tid")
}

/// Whether a kernel, or a function that it may call, reads a block's number.
pub(super) fn tells_blocks_apart(input: &Input, entry: &str) -> bool {
    tells_apart(input, entry, "%ctaid")
}

fn tells_apart(input: &Input, entry: &str, register: &str) -> bool {
    let module = &input.builds[0].module;
    let mut axes = AXES.iter();
    axes.any(|axis| reads_anywhere(module, entry, register, axis))
}

/// Whether a kernel is made for every block: where it reads a thread's number, it reads how many threads there are.
pub(super) fn fits_every_block(input: &Input, entry: &str) -> bool {
    let module = &input.builds[0].module;
    let declared = function(module, entry).is_some_and(|f| directive(f, ".reqntid").is_some());
    let reads = |register, axis| reads_anywhere(module, entry, register, axis);
    declared
        || AXES
            .iter()
            .all(|axis| !reads("%tid", axis) || reads("%ntid", axis))
}

const AXES: [&str; 3] = ["x", "y", "z"];

/// Whether the kernel, or a function that it may call, reads a component of a special register.
fn reads_anywhere(module: &Module, entry: &str, register: &str, axis: &str) -> bool {
    let others = module.items.iter().filter_map(|item| match item {
        Item::Function(f) if f.kind == FunctionKind::Func => Some(f),
        _ => None,
    });
    let mut all = function(module, entry).into_iter().chain(others);
    all.any(|f| reads(f, register, axis))
}

fn function<'a>(module: &'a Module, entry: &str) -> Option<&'a Function> {
    module.items.iter().find_map(|item| match item {
        Item::Function(f) if f.name == entry && f.body.is_some() => Some(f),
        _ => None,
    })
}

fn directive(function: &Function, name: &str) -> Option<[u32; 3]> {
    let found = function.directives.iter().find(|d| d.name == name)?;
    let mut numbers = found.tokens.iter().filter_map(|t| t.parse::<u32>().ok());
    Some([
        numbers.next()?,
        numbers.next().unwrap_or(1),
        numbers.next().unwrap_or(1),
    ])
}

/// The block that is guessed, and what says so.
fn guess_block(module: &Module, function: Option<&Function>, named: &Named<'_>) -> (Dim3, From) {
    let Some(function) = function else {
        return (Dim3::linear(64), From::Default);
    };
    if let Some([x, y, z]) = directive(function, ".reqntid") {
        return (Dim3 { x, y, z }, From::Declared);
    }
    let bound = launch_bound(function);
    let most = bound.unwrap_or(BLOCK_THREADS);
    let plane = reads(function, "%tid", "y");
    let block = named.block(plane);
    if let Some(block) = block.filter(|block| block.count() <= most) {
        return (block, From::Source);
    }
    if plane {
        // A tile, with or without a padding column.
        let side = shared_arrays(module, function)
            .into_iter()
            .map(|b| b / 4)
            .max();
        return match (side, bound) {
            (Some(words), _) if words >= 1024 && most >= 1024 => {
                (Dim3 { x: 32, y: 32, z: 1 }, From::Source)
            }
            (Some(words), _) if (64..256).contains(&words) && most >= 64 => {
                (Dim3 { x: 8, y: 8, z: 1 }, From::Source)
            }
            (_, Some(bound)) => (rectangle(bound), From::Declared),
            (_, None) => (rectangle(256), From::Default),
        };
    }
    // A bound of 1,024 threads says what every block keeps to.
    if let Some(bound) = bound.filter(|bound| *bound < BLOCK_THREADS) {
        return (Dim3::linear(bound as u32), From::Declared);
    }
    match array_block(module, function, most, named) {
        Some(threads) => (Dim3::linear(threads as u32), From::Source),
        None => (Dim3::linear(DEFAULT_BLOCK.min(most) as u32), From::Default),
    }
}

/// Threads of a block of which nothing says how large it is: two warps, of which one can overtake the other.
pub(super) const DEFAULT_BLOCK: u64 = 64;

/// The most threads that a block may have, as `__launch_bounds__` says (PTX ISA, ".maxntid").
fn launch_bound(function: &Function) -> Option<u64> {
    let [x, y, z] = directive(function, ".maxntid")?.map(u64::from);
    Some(
        x.saturating_mul(y)
            .saturating_mul(z)
            .clamp(1, BLOCK_THREADS),
    )
}

/// A block of a plane of so many threads, as square as powers of two make it.
fn rectangle(threads: u64) -> Dim3 {
    let side = threads.isqrt();
    let x = match side * side == threads {
        true => side,
        false => side.next_power_of_two(),
    };
    Dim3 {
        x: x as u32,
        y: (threads / x) as u32,
        z: 1,
    }
}

/// The most threads that a block of the kernel may have.
pub(super) fn most_threads(input: &Input, entry: &str) -> u64 {
    let function = function(&input.builds[0].module, entry);
    function.and_then(launch_bound).unwrap_or(BLOCK_THREADS)
}

/// The blocks whose warps have a slot each in one of the shared arrays, smaller ones first.
pub(super) fn blocks_of_slots(input: &Input, entry: &str) -> Vec<u64> {
    let module = &input.builds[0].module;
    let Some(function) = function(module, entry) else {
        return Vec::new();
    };
    let most = launch_bound(function).unwrap_or(BLOCK_THREADS);
    let slots = shared_arrays(module, function).into_iter();
    let slots = slots.flat_map(|bytes| [bytes / 4, bytes / 8]);
    let all: BTreeSet<u64> = slots
        .filter(|count| (2..=SLOTS).contains(count))
        .map(|count| 32 * count)
        .filter(|threads| *threads <= most)
        .collect();
    all.into_iter().collect()
}

/// Two blocks in each direction in which the kernel, or a function that it may call, tells them apart; one in the others: blocks
/// that do the same are launched one at a time.
fn guess_grid(module: &Module, function: Option<&Function>) -> Dim3 {
    let others = module.items.iter().filter_map(|item| match item {
        Item::Function(f) if f.kind == FunctionKind::Func => Some(f),
        _ => None,
    });
    let all: Vec<&Function> = function.into_iter().chain(others).collect();
    let length = |axis: &str| match all.iter().any(|f| reads(f, "%ctaid", axis)) {
        true => 2,
        false => 1,
    };
    Dim3 {
        x: length("x"),
        y: length("y"),
        z: length("z"),
    }
}

/// How large a launch is, for guesses of what depends on it.
pub fn sizes(geometry: &Geometry, module: &Module, entry: &str) -> Sizes {
    let threads = geometry.grid.count() * geometry.block.count();
    let plane =
        function(module, entry).is_some_and(|f| reads(f, "%tid", "y") || reads(f, "%ctaid", "y"));
    let along = |grid: u32, block: u32| u64::from(grid) * u64::from(block);
    match plane {
        true => Sizes {
            threads,
            count: along(geometry.grid.x, geometry.block.x),
            rows: Some(along(geometry.grid.y, geometry.block.y)),
        },
        false => Sizes::linear(threads),
    }
}

/// Whether the kernel itself reads a component of a special register.
fn reads(function: &Function, register: &str, component: &str) -> bool {
    any_operand(
        function,
        &|operand| matches!(operand, Operand::Name(name, Some(c)) if name == register && c == component),
    )
}

/// Whether an operand of the function's instructions passes a test.
fn any_operand(function: &Function, test: &dyn Fn(&Operand) -> bool) -> bool {
    fn any(body: &[Stmt], test: &dyn Fn(&Operand) -> bool) -> bool {
        body.iter().any(|stmt| match stmt {
            Stmt::Instruction(i) => i.operands.iter().any(test),
            Stmt::Block(inner) => any(inner, test),
            _ => false,
        })
    }
    any(function.body.as_deref().unwrap_or_default(), test)
}

/// Whether the kernel, or any device function, names dynamic shared memory.
fn dynamic_shared(module: &Module, kernel: &Function) -> bool {
    use ptx::ast::Linkage;
    let mut names = Vec::new();
    let mut functions = vec![kernel];
    for item in &module.items {
        match item {
            Item::Variable(v)
                if v.space == StateSpace::Shared && v.linkage == Some(Linkage::Extern) =>
            {
                names.push(v.name.as_str());
            }
            Item::Function(f) if f.kind == FunctionKind::Func => functions.push(f),
            _ => {}
        }
    }
    let names_it = |operand: &Operand| match operand {
        Operand::Name(name, _) | Operand::Offset(name, _) => names.contains(&name.as_str()),
        _ => false,
    };
    functions.iter().any(|f| {
        any_operand(f, &|operand| match operand {
            Operand::Address(address) => names_it(&address.base),
            other => names_it(other),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(text: &str) -> (Dim3, Dim3) {
        let text = format!(".version 8.0\n.target sm_75\n.address_size 64\n{text}");
        let module = ptx::parse(&text).unwrap();
        let f = function(&module, "k");
        (
            guess_grid(&module, f),
            guess_block(&module, f, &Named::default()).0,
        )
    }

    #[test]
    fn guesses_follow_the_kernel() {
        let plain = guess(".visible .entry k()\n{\n\tret;\n}\n");
        assert_eq!(plain, (Dim3::ONE, Dim3::linear(64)));
        let blocks = guess(".visible .entry k()\n{\n\tmov.u32 %r0, %ctaid.x;\n\tret;\n}\n");
        assert_eq!(blocks.0, Dim3::linear(2));
        let declared = guess(".visible .entry k()\n.reqntid 96, 2, 1\n{\n\tret;\n}\n");
        assert_eq!(declared.1, Dim3 { x: 96, y: 2, z: 1 });
        let array = guess(".visible .entry k()\n{\n\t.shared .align 4 .b8 s[1024];\n\tret;\n}\n");
        assert_eq!(array.1, Dim3::linear(256));
        let tile = guess(
            ".visible .entry k()\n{\n\t.reg .b32 %r<2>;\n\t.shared .align 4 .b8 s[4224];\n\tmov.u32 %r0, %tid.y;\n\tmov.u32 %r1, %ctaid.y;\n\tret;\n}\n",
        );
        assert_eq!(
            tile,
            (Dim3 { x: 1, y: 2, z: 1 }, Dim3 { x: 32, y: 32, z: 1 })
        );
    }
}

//! Graphs (CUDA Runtime API, "Graph Management"; CUDA C++ Programming Guide, "CUDA Graphs").
//!
//! A graph is nodes in the order in which they were added, each with those that it comes after. A launch performs them in an order that
//! this allows; nodes that nothing orders are on branches of their own, so that what they do is compared as work of different streams is.

use super::transfers::{Copy, Fill};
use context::launch::Request;
use context::record::Call;
use context::{Context, Error, Result};
use std::collections::{BTreeSet, HashMap};
use std::os::raw::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A function of the host.
pub(crate) type HostFunction = unsafe extern "C" fn(*mut c_void);

/// What a node does.
#[derive(Clone)]
pub(crate) enum Action {
    Empty,
    Kernel(Request),
    Copy(Copy),
    Fill(Fill),
    /// The second is the address that it is called with.
    Host(HostFunction, usize),
    /// A graph of its own.
    Child(u64),
    Allocate(u64),
    Free(u64),
    Record(u64),
    Wait(u64),
    /// The address of the value, what is decided by it, the graphs to choose from.
    Conditional(u64, Condition, Vec<u64>),
}

/// `cudaGraphConditionalNodeType`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    If,
    While,
    Switch,
}

/// A node.
#[derive(Clone)]
pub(crate) struct Node {
    pub handle: u64,
    pub action: Action,
    /// Handles of those that it comes after.
    pub after: Vec<u64>,
    /// Who added it.
    pub call: Call,
    /// Whether it does anything.
    pub enabled: bool,
    /// The node of the graph that this one was copied from.
    pub original: u64,
}

/// A graph.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    /// Conditional values: address, what they are at every launch.
    pub values: Vec<(u64, Option<u32>)>,
}

/// A graph that can be launched.
pub(crate) struct Executable {
    /// A copy of the graph.
    pub graph: u64,
    /// Streams for its branches, made when they are needed.
    pub branches: Vec<u64>,
}

/// Streams that are captured, and events that were recorded in them.
#[derive(Default)]
pub(crate) struct Captures {
    pub streams: HashMap<u64, Captured>,
    pub events: HashMap<u64, Captured>,
    pub numbers: u64,
    /// What was handed out by `cudaStreamGetCaptureInfo`, which stays until the stream's capture ends.
    pub shown: HashMap<u64, Box<[u64]>>,
}

/// Where a stream is in a graph.
#[derive(Clone)]
pub(crate) struct Captured {
    pub number: u64,
    pub graph: u64,
    /// Whether the capture began here.
    pub origin: bool,
    /// Whether the graph was there before.
    pub existing: bool,
    /// What the next node comes after.
    pub after: Vec<u64>,
}

/// All graphs of the process.
#[derive(Default)]
pub(crate) struct Graphs {
    pub graphs: HashMap<u64, Graph>,
    pub executables: HashMap<u64, Executable>,
    /// The graph of each node.
    pub owners: HashMap<u64, u64>,
    pub captures: Captures,
}

static GRAPHS: Mutex<Option<Graphs>> = Mutex::new(None);

/// Handles of a list at most: a graph has fewer nodes.
const GRAPH_NODES: usize = 1 << 24;

/// A list of handles.
///
/// # Safety
///
/// `list` is null or has `count` of them.
pub(super) unsafe fn handles(list: *const *mut c_void, count: usize) -> Result<Vec<u64>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if list.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    if count > GRAPH_NODES {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by the function's own condition.
    let one = |at| unsafe { list.add(at).read_unaligned() };
    Ok((0..count).map(|at| one(at).addr() as u64).collect())
}

/// All graphs, while nobody else has them. Whoever wants both locks the context first.
pub(crate) struct Guard(MutexGuard<'static, Option<Graphs>>);

pub(crate) fn graphs() -> Guard {
    let mut guard = GRAPHS.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_default();
    Guard(guard)
}

impl std::ops::Deref for Guard {
    type Target = Graphs;
    fn deref(&self) -> &Graphs {
        self.0.as_ref().expect("made when it was locked")
    }
}

impl std::ops::DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut Graphs {
        self.0.as_mut().expect("made when it was locked")
    }
}

impl Graphs {
    pub fn graph(&mut self, handle: u64) -> Result<&mut Graph> {
        self.graphs.get_mut(&handle).ok_or(Error::INVALID_VALUE)
    }

    /// A node by its handle.
    pub fn node(&mut self, handle: u64) -> Result<&mut Node> {
        let owner = self.owners.get(&handle).copied();
        let graph = self.graph(owner.ok_or(Error::INVALID_VALUE)?)?;
        let mut nodes = graph.nodes.iter_mut();
        nodes
            .find(|n| n.handle == handle)
            .ok_or(Error::INVALID_VALUE)
    }

    /// A new graph; its handle.
    pub fn create(&mut self, context: &mut Context, graph: Graph) -> u64 {
        let handle = context.handle();
        for node in &graph.nodes {
            self.owners.insert(node.handle, handle);
        }
        self.graphs.insert(handle, graph);
        handle
    }

    /// Adds a node; its handle.
    pub fn add(
        &mut self,
        context: &mut Context,
        graph: u64,
        after: Vec<u64>,
        action: Action,
        call: Call,
    ) -> Result<u64> {
        let known = &self.graph(graph)?.nodes;
        let all: BTreeSet<u64> = known.iter().map(|n| n.handle).collect();
        let once: BTreeSet<u64> = after.iter().copied().collect();
        if once.len() != after.len() || !once.is_subset(&all) {
            return Err(Error::INVALID_VALUE);
        }
        let handle = context.handle();
        self.owners.insert(handle, graph);
        self.graph(graph)?.nodes.push(Node {
            handle,
            action,
            after,
            call,
            enabled: true,
            original: handle,
        });
        Ok(handle)
    }

    /// A copy of a graph with all that is in it; its handle.
    pub fn copy(&mut self, context: &mut Context, graph: u64) -> Result<u64> {
        let mut copy = self.graph(graph)?.clone();
        let mut new = HashMap::new();
        for node in &mut copy.nodes {
            node.original = node.handle;
            node.handle = context.handle();
            new.insert(node.original, node.handle);
            match &mut node.action {
                Action::Child(child) => *child = self.copy(context, *child)?,
                Action::Conditional(_, _, bodies) => {
                    for body in bodies {
                        *body = self.copy(context, *body)?;
                    }
                }
                _ => {}
            }
        }
        for node in &mut copy.nodes {
            for before in &mut node.after {
                *before = *new.get(before).ok_or(Error::INVALID_VALUE)?;
            }
        }
        Ok(self.create(context, copy))
    }

    /// Destroys a graph and those in it.
    pub fn destroy(&mut self, graph: u64) -> Result<()> {
        let gone = self.graphs.remove(&graph).ok_or(Error::INVALID_VALUE)?;
        for node in gone.nodes {
            self.owners.remove(&node.handle);
            match node.action {
                Action::Child(child) => self.destroy(child)?,
                Action::Conditional(_, _, bodies) => {
                    bodies.into_iter().try_for_each(|body| self.destroy(body))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Graph {
    /// Positions of the nodes in an order in which each comes after those that it depends on; `None` where there is none.
    pub fn order(&self) -> Option<Vec<usize>> {
        let places: HashMap<u64, usize> = (self.nodes.iter().enumerate())
            .map(|(at, n)| (n.handle, at))
            .collect();
        let mut left: Vec<usize> = self.nodes.iter().map(|n| n.after.len()).collect();
        let mut ready: BTreeSet<usize> = (0..left.len()).filter(|at| left[*at] == 0).collect();
        let mut dependents = vec![Vec::new(); left.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            for before in &node.after {
                dependents[*places.get(before)?].push(at);
            }
        }
        let mut order = Vec::new();
        while let Some(at) = ready.pop_first() {
            order.push(at);
            for next in &dependents[at] {
                left[*next] -= 1;
                if left[*next] == 0 {
                    ready.insert(*next);
                }
            }
        }
        (order.len() == self.nodes.len()).then_some(order)
    }
}

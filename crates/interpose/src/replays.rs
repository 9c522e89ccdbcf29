//! Graphs: each replay of a node that launches a kernel is a launch with a number of its own.
//!
//! What is recorded, by a capture or node by node, gets the parameter that checks need, and is not watched yet. When the graph is instantiated, each
//! of its kernels gets a *slot*: a word of the device's memory from which a launch reads its number ([`Launch::SLOT`]). In front of a replay the
//! numbers of its nodes are written there, on the very stream of the replay; where the last one was on another stream, an event of ours orders the
//! writing behind it, as the driver orders the replays themselves (CUDA Driver API, `cuGraphLaunch`). So nothing waits on the host.
//!
//! The nodes of a replay count as ordered. Graphs with branches, copies and memsets of graphs beside other streams, conditional nodes, graphs that are
//! updated as a whole, and graphs that are launched into a capture are told: there something is not watched, or taken to be ordered.

use crate::launches::current_device;
use crate::order::StreamName;
use crate::real_driver::real;
use crate::shadow::SLOTS;
use crate::state::{Kernel, Node, Replayed, Replays, State};
use instrument::layout::{self, Launch};

/// What a graph has.
#[derive(Default)]
struct Contents {
    /// Nodes that launch kernels, also of graphs in it.
    kernels: Vec<usize>,
    /// Whether there are copies or memsets.
    copies: bool,
    /// Whether some nodes are not ordered.
    branches: bool,
    /// Whether something else launches kernels.
    more: bool,
}

impl Contents {
    fn add(&mut self, graph: usize) {
        /// `CUgraphNodeType`
        const KERNEL: u32 = 0;
        const MEMCPY: u32 = 1;
        const MEMSET: u32 = 2;
        const GRAPH: u32 = 4;
        const CONDITIONAL: u32 = 13;
        let none = std::ptr::null_mut::<usize>();
        let (mut count, mut roots) = (0usize, 0usize);
        let asked = [
            real!(cuGraphGetNodes(graph => usize, none => *mut usize, &mut count => *mut usize)),
            real!(cuGraphGetRootNodes(graph => usize, none => *mut usize, &mut roots => *mut usize)),
        ];
        let mut nodes = vec![0usize; count];
        let got = real!(cuGraphGetNodes(graph => usize, nodes.as_mut_ptr() => *mut usize, &mut count => *mut usize));
        if asked != [0, 0] || got != 0 {
            self.more = true;
            return;
        }
        self.branches |= roots > 1;
        for node in nodes {
            let (mut kind, mut followers) = (u32::MAX, 0usize);
            real!(cuGraphNodeGetType(node => usize, &mut kind => *mut u32));
            let told = real!(cuGraphNodeGetDependentNodes(node => usize, none => *mut usize, &mut followers => *mut usize));
            self.branches |= told != 0 || followers > 1;
            match kind {
                KERNEL => self.kernels.push(node),
                MEMCPY | MEMSET => self.copies = true,
                GRAPH => {
                    let mut inner = 0usize;
                    match real!(cuGraphChildGraphNodeGetGraph(node => usize, &mut inner => *mut usize))
                    {
                        0 => self.add(inner),
                        _ => self.more = true,
                    }
                }
                CONDITIONAL => self.more = true,
                _ => {}
            }
        }
    }
}

impl Replays {
    /// The slot of a node.
    pub fn slot(&self, graph: usize, node: usize) -> Option<u32> {
        let nodes = &self.graphs.get(&graph)?.nodes;
        nodes.iter().find(|n| n.handle == node).map(|n| n.slot)
    }

    /// A graph is destroyed. Its slots are not used again: it may still run.
    pub fn forget(&mut self, graph: usize) {
        if let Some(gone) = self.graphs.remove(&graph)
            && gone.event != 0
        {
            real!(cuEventDestroy_v2(gone.event => usize));
        }
    }

    /// A replay was issued.
    pub fn launched(&mut self, graph: usize, stream: usize) {
        if let Some(replayed) = self.graphs.get_mut(&graph)
            && replayed.event != 0
        {
            real!(cuEventRecord(replayed.event => usize, stream => usize));
            replayed.last = Some(stream);
        }
    }
}

impl State {
    /// A graph can be launched: the nodes that are to learn their slots.
    pub fn instantiated(&mut self, replayed: usize, graph: usize) -> Vec<(usize, u32)> {
        let mut contents = Contents::default();
        contents.add(graph);
        if contents.more {
            self.doubt("kernels in conditional nodes of graphs were not watched".to_owned());
        }
        if contents.branches {
            self.doubt("the branches of a graph were taken to be ordered".to_owned());
        }
        let nodes = contents.kernels;
        if let Some(device) = current_device() {
            self.open(device);
        }
        let first = self.replays.next;
        if first + nodes.len() as u32 > SLOTS {
            self.doubt("graphs with more than 65,536 kernels in all were not watched".to_owned());
            return Vec::new();
        }
        self.replays.next += nodes.len() as u32;
        /// `CU_EVENT_DISABLE_TIMING`
        const NO_TIMING: u32 = 2;
        let mut event = 0usize;
        real!(cuEventCreate(&mut event => *mut usize, NO_TIMING => u32));
        let nodes: Vec<(usize, u32)> = nodes.into_iter().zip(first..).collect();
        let known = nodes.iter().map(|(handle, slot)| Node {
            handle: *handle,
            slot: *slot,
            launch: None,
        });
        let known = Replayed {
            nodes: known.collect(),
            first,
            copies: contents.copies,
            last: None,
            event,
        };
        self.replays.graphs.insert(replayed, known);
        nodes
    }

    /// A handle by which we know the kernel of a node, which the driver names by its function or by its kernel.
    pub fn known_kernel(&self, (function, kernel): (usize, usize)) -> Option<usize> {
        if let Some(known) = [function, kernel]
            .into_iter()
            .find(|handle| self.kernels.contains_key(handle))
        {
            return Some(known);
        }
        // The driver has made a function of a library's kernel: known by its name, where only one kernel has it.
        let mut name = std::ptr::null::<libc::c_char>();
        if real!(cuFuncGetName(&mut name => *mut *const libc::c_char, function => usize)) != 0
            || name.is_null()
        {
            return None;
        }
        // SAFETY: the driver's text, which stays as long as the function.
        let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy();
        let mut all = self.kernels.iter().filter(|(_, k)| k.name == name);
        let (handle, first) = all.next()?;
        let module = |k: &Kernel| k.module.as_ref().map(|m| m.0);
        all.all(|(_, k)| module(k) == module(first))
            .then_some(*handle)
    }

    /// A node has learnt its slot, or can't be watched.
    pub fn settled(
        &mut self,
        graph: usize,
        node: usize,
        launch: Option<(usize, [u32; 3], [u32; 3])>,
    ) {
        let kernel = launch.and_then(|(handle, grid, block)| {
            let kernel = self.kernels.get(&handle)?.clone();
            Some((kernel, grid, block))
        });
        if kernel.is_none() {
            self.doubt("some kernels of graphs were not watched".to_owned());
        }
        let nodes = self.replays.graphs.get_mut(&graph).map(|g| &mut g.nodes);
        let node = nodes.and_then(|nodes| nodes.iter_mut().find(|n| n.handle == node));
        if let Some(node) = node {
            node.launch = kernel;
        }
    }

    /// A graph has other nodes now.
    pub fn updated(&mut self, graph: usize) {
        let known = self.replays.graphs.get_mut(&graph);
        if let Some(known) = known {
            known.nodes.clear();
            self.doubt("launches of graphs that were updated were not watched".to_owned());
        }
    }

    /// A graph becomes part of another one.
    pub fn recorded_in_another(&mut self, _: usize) {
        self.doubt("graphs that were launched into a capture were not watched".to_owned());
    }

    /// A graph is about to be launched on a stream.
    pub fn replay(&mut self, graph: usize, stream: usize, name: StreamName) {
        let Some(replayed) = self.replays.graphs.get(&graph) else {
            return;
        };
        let (first, last, event) = (replayed.first, replayed.last, replayed.event);
        let replayed_copies = replayed.copies;
        let slots = replayed.nodes.len();
        let launches: Vec<_> = replayed
            .nodes
            .iter()
            .filter_map(|n| Some((n.slot, n.launch.clone()?)))
            .collect();
        if slots == 0 {
            return;
        }
        let own = current_device();
        let here = self.shadow.as_ref().filter(|s| Some(s.device) == own);
        let Some(numbers) = here.map(|s| s.numbers) else {
            return;
        };
        if replayed_copies && !self.order.is_alone(name) {
            self.doubt(
                "copies and memsets of graphs were not compared with other streams".to_owned(),
            );
        }
        self.refine_if_due();
        // All numbers of a replay are of one round.
        let most = launches.len().min(layout::LAST_LAUNCH as usize);
        let room = self.reserve(most as u32);
        if most < launches.len() {
            self.doubt(
                "of graphs with more than 254 kernels, the others were not watched".to_owned(),
            );
        }
        let mut drawn = vec![0u32; slots];
        for (index, (slot, (kernel, grid, block))) in launches.into_iter().enumerate() {
            let threads = grid
                .iter()
                .chain(&block)
                .fold(1u64, |all, n| all.saturating_mul(u64::from(*n)));
            let totals = self.totals.entry(kernel.name.clone()).or_default();
            totals.launches += 1;
            totals.threads = totals.threads.saturating_add(threads);
            totals.has_ptx |= kernel.module.is_some();
            let watched = kernel.module.is_some() && self.options.watches(&kernel.name);
            if !room || index >= most || !watched {
                continue;
            }
            if let Some((number, _)) = self.numbered(name) {
                drawn[(slot - first) as usize] = number;
                self.is_launched(number, &kernel, grid, block);
            }
        }
        if last.is_some_and(|last| last != stream) {
            real!(cuStreamWaitEvent(stream => usize, event => usize, 0 => u32));
        }
        let to = numbers + u64::from(first) * 4;
        let bytes = slots * 4;
        if real!(cuMemcpyHtoDAsync_v2(to => u64, drawn.as_ptr() => *const u32, bytes => usize, stream => usize))
            != 0
        {
            self.doubt("some launches of graphs were not watched".to_owned());
        }
    }
}

const _: () = assert!(Launch::SLOT as u64 > SLOTS as u64);

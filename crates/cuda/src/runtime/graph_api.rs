//! Graphs: making, looking at and destroying them (CUDA Runtime API, "Graph Management").

use super::graph::{Action, Executable, Graph, Graphs, graphs, handles};
use super::graph_node as node;
use crate::entry::{enter, put, put_if};
use context::{Context, Error, Result};
use std::collections::HashMap;
use std::os::raw::{c_char, c_int, c_uint, c_void};

type Handle = *mut c_void;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphCreate(to: *mut Handle, _flags: c_uint) -> u32 {
    enter("cudaGraphCreate", |context, _| {
        let graph = graphs().create(context, Graph::default());
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, graph as Handle) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphDestroy(graph: Handle) -> u32 {
    enter("cudaGraphDestroy", |_, _| {
        graphs().destroy(graph.addr() as u64)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphClone(to: *mut Handle, graph: Handle) -> u32 {
    enter("cudaGraphClone", |context, _| {
        let copy = graphs().copy(context, graph.addr() as u64)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, copy as Handle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphNodeFindInClone(
    to: *mut Handle,
    original: Handle,
    graph: Handle,
) -> u32 {
    enter("cudaGraphNodeFindInClone", |_, _| {
        let mut graphs = graphs();
        let nodes = &graphs.graph(graph.addr() as u64)?.nodes;
        let found = nodes.iter().find(|n| n.original == original.addr() as u64);
        let found = found.ok_or(Error::INVALID_VALUE)?.handle;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, found as Handle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphGetNodes(
    graph: Handle,
    to: *mut Handle,
    count: *mut usize,
) -> u32 {
    enter("cudaGraphGetNodes", |_, _| {
        let mut graphs = graphs();
        let nodes = &graphs.graph(graph.addr() as u64)?.nodes;
        let all: Vec<u64> = nodes.iter().map(|n| n.handle).collect();
        // SAFETY: the caller passes room for as many as it says.
        unsafe { node::list(&all, to, count) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphGetRootNodes(
    graph: Handle,
    to: *mut Handle,
    count: *mut usize,
) -> u32 {
    enter("cudaGraphGetRootNodes", |_, _| {
        let mut graphs = graphs();
        let nodes = &graphs.graph(graph.addr() as u64)?.nodes;
        let roots = nodes.iter().filter(|n| n.after.is_empty());
        let all: Vec<u64> = roots.map(|n| n.handle).collect();
        // SAFETY: the caller passes room for as many as it says.
        unsafe { node::list(&all, to, count) }
    })
}

/// Of CUDA 12.3 on; that of CUDA 13 under the plain name, too: see [`super::release`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphGetEdges_v2(
    graph: Handle,
    from: *mut Handle,
    to: *mut Handle,
    _edges: *mut c_void,
    count: *mut usize,
) -> u32 {
    enter("cudaGraphGetEdges", |_, _| {
        if count.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let mut graphs = graphs();
        let nodes = &graphs.graph(graph.addr() as u64)?.nodes;
        let all = nodes
            .iter()
            .flat_map(|n| n.after.iter().map(|b| (*b, n.handle)));
        let (before, after): (Vec<u64>, Vec<u64>) = all.unzip();
        // SAFETY: the caller passes room in both lists for as many as it says.
        unsafe {
            let mut room = count.read_unaligned();
            node::list(&before, from, &mut room)?;
            node::list(&after, to, count)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphNodeGetDependencies_v2(
    node: Handle,
    to: *mut Handle,
    _edges: *mut c_void,
    count: *mut usize,
) -> u32 {
    enter("cudaGraphNodeGetDependencies", |_, _| {
        let all = graphs().node(node.addr() as u64)?.after.clone();
        // SAFETY: the caller passes room for as many as it says.
        unsafe { node::list(&all, to, count) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphNodeGetDependentNodes_v2(
    node: Handle,
    to: *mut Handle,
    _edges: *mut c_void,
    count: *mut usize,
) -> u32 {
    enter("cudaGraphNodeGetDependentNodes", |_, _| {
        let mut graphs = graphs();
        let node = node.addr() as u64;
        let owner = *graphs.owners.get(&node).ok_or(Error::INVALID_VALUE)?;
        let nodes = &graphs.graph(owner)?.nodes;
        let after = nodes.iter().filter(|n| n.after.contains(&node));
        let all: Vec<u64> = after.map(|n| n.handle).collect();
        // SAFETY: the caller passes room for as many as it says.
        unsafe { node::list(&all, to, count) }
    })
}

/// Pairs of nodes.
///
/// # Safety
///
/// Both lists have `count` handles.
unsafe fn pairs(from: *const Handle, to: *const Handle, count: usize) -> Result<Vec<(u64, u64)>> {
    // SAFETY: by the function's own condition.
    let (from, to) = unsafe { (handles(from, count)?, handles(to, count)?) };
    Ok(from.into_iter().zip(to).collect())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphAddDependencies_v2(
    graph: Handle,
    from: *const Handle,
    to: *const Handle,
    _edges: *const c_void,
    count: usize,
) -> u32 {
    enter("cudaGraphAddDependencies", |_, _| {
        // SAFETY: the caller passes as many as it says.
        let pairs = unsafe { pairs(from, to, count) }?;
        let mut graphs = graphs();
        let graph = graphs.graph(graph.addr() as u64)?;
        for (before, after) in pairs {
            if !graph.nodes.iter().any(|n| n.handle == before) {
                return Err(Error::INVALID_VALUE);
            }
            let node = graph.nodes.iter_mut().find(|n| n.handle == after);
            let node = node.ok_or(Error::INVALID_VALUE)?;
            if node.after.contains(&before) {
                return Err(Error::INVALID_VALUE);
            }
            node.after.push(before);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphRemoveDependencies_v2(
    graph: Handle,
    from: *const Handle,
    to: *const Handle,
    _edges: *const c_void,
    count: usize,
) -> u32 {
    enter("cudaGraphRemoveDependencies", |_, _| {
        // SAFETY: the caller passes as many as it says.
        let pairs = unsafe { pairs(from, to, count) }?;
        let mut graphs = graphs();
        let graph = graphs.graph(graph.addr() as u64)?;
        for (before, after) in pairs {
            let node = graph.nodes.iter_mut().find(|n| n.handle == after);
            let node = node.ok_or(Error::INVALID_VALUE)?;
            let at = node.after.iter().position(|b| *b == before);
            node.after.remove(at.ok_or(Error::INVALID_VALUE)?);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphDestroyNode(node: Handle) -> u32 {
    enter("cudaGraphDestroyNode", |_, _| {
        let mut graphs = graphs();
        let node = node.addr() as u64;
        let owner = graphs.owners.remove(&node).ok_or(Error::INVALID_VALUE)?;
        let graph = graphs.graph(owner)?;
        graph.nodes.retain(|n| n.handle != node);
        for other in &mut graph.nodes {
            other.after.retain(|before| *before != node);
        }
        Ok(())
    })
}

/// Makes a graph into one that can be launched.
fn instantiate(context: &mut Context, graph: Handle) -> Result<u64> {
    let mut graphs = graphs();
    let graph = graphs.copy(context, graph.addr() as u64)?;
    if graphs.graph(graph)?.order().is_none() {
        graphs.destroy(graph)?;
        return Err(Error::INVALID_VALUE);
    }
    let handle = context.handle();
    let branches = Vec::new();
    graphs
        .executables
        .insert(handle, Executable { graph, branches });
    Ok(handle)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphInstantiate(to: *mut Handle, graph: Handle, _flags: u64) -> u32 {
    enter("cudaGraphInstantiate", |context, _| {
        let executable = instantiate(context, graph)?;
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, executable as Handle) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphInstantiateWithFlags(
    to: *mut Handle,
    graph: Handle,
    flags: u64,
) -> u32 {
    // SAFETY: the same parameters.
    unsafe { cudaGraphInstantiate(to, graph, flags) }
}

/// `cudaGraphInstantiateParams`
#[repr(C)]
pub struct InstantiateParams {
    flags: u64,
    stream: Handle,
    node: Handle,
    result: c_int,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphInstantiateWithParams(
    to: *mut Handle,
    graph: Handle,
    params: *mut InstantiateParams,
) -> u32 {
    enter("cudaGraphInstantiateWithParams", |context, _| {
        if params.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let executable = instantiate(context, graph)?;
        // SAFETY: the caller passes such a structure and a place for the handle.
        unsafe {
            (&raw mut (*params).node).write_unaligned(std::ptr::null_mut());
            (&raw mut (*params).result).write_unaligned(0);
            put(to, executable as Handle)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecDestroy(executable: Handle) -> u32 {
    enter("cudaGraphExecDestroy", |context, entry| {
        let mut graphs = graphs();
        let gone = graphs.executables.remove(&(executable.addr() as u64));
        let gone = gone.ok_or(Error::INVALID_VALUE)?;
        graphs.destroy(gone.graph)?;
        drop(graphs);
        for branch in gone.branches {
            context.destroy_stream(branch, entry.call())?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGraphExecGetFlags(executable: Handle, to: *mut u64) -> u32 {
    enter("cudaGraphExecGetFlags", |_, _| {
        let graphs = graphs();
        let known = graphs.executables.contains_key(&(executable.addr() as u64));
        if !known {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphUpload(executable: Handle, stream: Handle) -> u32 {
    enter("cudaGraphUpload", |context, entry| {
        context.stream(stream.addr() as u64, || entry.call())?;
        let known = graphs()
            .executables
            .contains_key(&(executable.addr() as u64));
        known.then_some(()).ok_or(Error::INVALID_VALUE)
    })
}

impl Graphs {
    /// The node that a node became in a graph that can be launched.
    pub fn copied(&mut self, executable: u64, node: u64) -> Result<u64> {
        let executable = self.executables.get(&executable);
        let graph = executable.ok_or(Error::INVALID_VALUE)?.graph;
        self.copied_in(graph, node).ok_or(Error::INVALID_VALUE)
    }

    fn copied_in(&self, graph: u64, node: u64) -> Option<u64> {
        let graph = self.graphs.get(&graph)?;
        graph.nodes.iter().find_map(|n| match &n.action {
            _ if n.original == node => Some(n.handle),
            Action::Child(child) => self.copied_in(*child, node),
            Action::Conditional(_, _, bodies) => {
                bodies.iter().find_map(|body| self.copied_in(*body, node))
            }
            _ => None,
        })
    }
}

/// `cudaGraphExecUpdateResultInfo`
#[repr(C)]
pub struct UpdateResult {
    pub(super) result: c_int,
    pub(super) node: Handle,
    from: Handle,
}

impl UpdateResult {
    /// That of nothing.
    pub(super) fn none() -> UpdateResult {
        let none = std::ptr::null_mut();
        UpdateResult {
            result: 0,
            node: none,
            from: none,
        }
    }
}

/// What keeps a graph from taking the place of another one, as `cudaGraphExecUpdateResult`.
fn difference(old: &Graph, new: &Graph) -> Option<(c_int, u64)> {
    const TOPOLOGY: c_int = 2;
    const TYPE: c_int = 3;
    if old.nodes.len() != new.nodes.len() {
        return Some((TOPOLOGY, 0));
    }
    let places = |graph: &Graph| -> HashMap<u64, usize> {
        let all = graph.nodes.iter().enumerate();
        all.map(|(at, n)| (n.handle, at)).collect()
    };
    let (before, after) = (places(old), places(new));
    for (a, b) in old.nodes.iter().zip(&new.nodes) {
        if std::mem::discriminant(&a.action) != std::mem::discriminant(&b.action) {
            return Some((TYPE, b.handle));
        }
        let mut was: Vec<_> = a.after.iter().map(|n| before.get(n)).collect();
        let mut is: Vec<_> = b.after.iter().map(|n| after.get(n)).collect();
        was.sort();
        is.sort();
        if was != is {
            return Some((TOPOLOGY, b.handle));
        }
    }
    None
}

/// `cudaGraphExecUpdate`
///
/// # Safety
///
/// `to` is null or a place for the result.
pub(super) unsafe fn update(executable: Handle, graph: Handle, to: *mut UpdateResult) -> u32 {
    enter("cudaGraphExecUpdate", |_, _| {
        let mut graphs = graphs();
        let executable = graphs.executables.get(&(executable.addr() as u64));
        let old = executable.ok_or(Error::INVALID_VALUE)?.graph;
        let new = graphs.graph(graph.addr() as u64)?.clone();
        let old = graphs.graph(old)?;
        let (result, node) = difference(old, &new).unwrap_or((0, 0));
        // SAFETY: the caller passes a place for it, or null.
        unsafe {
            let (node, from) = (node as Handle, std::ptr::null_mut());
            put_if(to, UpdateResult { result, node, from });
        }
        if result != 0 {
            return Err(Error::GRAPH_EXEC_UPDATE_FAILURE);
        }
        for (old, new) in old.nodes.iter_mut().zip(new.nodes) {
            // Graphs inside stay as they were instantiated; their own nodes are changed one by one.
            if !matches!(new.action, Action::Child(_) | Action::Conditional(..)) {
                old.action = new.action;
            }
            old.original = new.handle;
            old.call = new.call;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphDebugDotPrint(_: Handle, _: *const c_char, _: c_uint) -> u32 {
    enter("cudaGraphDebugDotPrint", |_, _| Ok(()))
}

/// Memory of graphs: used now, used at most, reserved now, reserved at most (`cudaGraphMemAttributeType`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetGraphMemAttribute(
    _device: c_int,
    attribute: c_int,
    to: *mut u64,
) -> u32 {
    enter("cudaDeviceGetGraphMemAttribute", |context, _| {
        let (now, most) = context.memory.graph_memory();
        let value = match attribute {
            0 | 2 => now,
            1 | 3 => most,
            _ => return Err(Error::INVALID_VALUE),
        };
        // SAFETY: the caller passes a place for it.
        unsafe { put(to, value) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGraphMemTrim(_device: c_int) -> u32 {
    enter("cudaDeviceGraphMemTrim", |_, _| Ok(()))
}

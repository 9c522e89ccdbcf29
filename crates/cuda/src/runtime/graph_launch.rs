//! Launching a graph.

use super::copy::{Copy, copy};
use super::fill::{Fill, fill};
use super::graph::{Action, Condition, Graph, HostFunction, graphs};
use crate::entry::{Entry, enter};
use context::launch::Request;
use context::record::Call;
use context::{Context, Error, Result};
use std::collections::HashMap;
use std::os::raw::c_void;

type Handle = *mut c_void;

/// Times that a body is run at most: what loops for longer is taken to loop for ever.
const ROUNDS: u32 = 1 << 20;

/// A node with the streams that are to perform it.
struct Step {
    action: Action,
    call: Call,
    enabled: bool,
    /// The branch that it is on: 0 is the stream of the launch.
    branch: usize,
    /// Positions of steps on other branches that it waits for.
    waits: Vec<usize>,
}

/// Steps with their branches, and how many branches there are.
fn plan(graph: &Graph) -> Option<(Vec<Step>, usize)> {
    let mut steps: Vec<Step> = Vec::new();
    // By node: its position; by branch: the position of its last step.
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut ends: Vec<Option<usize>> = Vec::new();
    for at in graph.order()? {
        let node = &graph.nodes[at];
        let before: Vec<usize> = (node.after.iter())
            .map(|n| places.get(n).copied())
            .collect::<Option<_>>()?;
        let goes_on = before.iter().map(|at| (*at, steps[*at].branch));
        let goes_on = goes_on.filter(|(at, branch)| ends[*branch] == Some(*at));
        let branch = match goes_on.map(|(_, branch)| branch).next() {
            Some(branch) => branch,
            None => {
                ends.push(None);
                ends.len() - 1
            }
        };
        let waits = before.into_iter().filter(|at| steps[*at].branch != branch);
        let waits = waits.collect();
        ends[branch] = Some(steps.len());
        places.insert(node.handle, steps.len());
        steps.push(Step {
            action: node.action.clone(),
            call: node.call.clone(),
            enabled: node.enabled,
            branch,
            waits,
        });
    }
    Some((steps, ends.len()))
}

/// What is to be done without the context.
enum Outside {
    Host(HostFunction, usize),
    Graph(u64),
    /// The value's address and what is decided by it.
    Conditional(u64, Condition, Vec<u64>),
}

/// Performs what a node does on a stream.
fn perform(
    context: &mut Context,
    entry: Entry,
    step: &Step,
    stream: u64,
) -> Result<Option<Outside>> {
    let call = || step.call.clone();
    match &step.action {
        _ if !step.enabled => {}
        Action::Empty => {}
        Action::Kernel(request) => {
            let request = Request {
                stream,
                ..request.clone()
            };
            context.launch(&request, call)?;
        }
        Action::Copy(what) => {
            let what = Copy {
                stream,
                asynchronous: true,
                ..what.clone()
            };
            // SAFETY: the program's memory has this size, as it said when it added the node.
            unsafe { copy(context, entry, &what) }?;
        }
        Action::Fill(what) => {
            let what = Fill {
                stream,
                asynchronous: true,
                ..what.clone()
            };
            fill(context, entry, &what)?;
        }
        Action::Host(function, data) => return Ok(Some(Outside::Host(*function, *data))),
        Action::Child(graph) => return Ok(Some(Outside::Graph(*graph))),
        Action::Allocate(address) => {
            context.allocate_again(*address)?;
            context.allocated_on(stream, *address, call());
        }
        Action::Free(address) => context.release_on(stream, *address, call(), |_| true)?,
        Action::Record(event) => {
            context.event(*event, call)?;
            context.record_event(*event, stream);
        }
        Action::Wait(event) => {
            context.event(*event, call)?;
            context.wait_event(stream, *event);
        }
        Action::Conditional(value, kind, bodies) => {
            return Ok(Some(Outside::Conditional(*value, *kind, bodies.clone())));
        }
    }
    Ok(None)
}

/// Runs a graph on a stream; the context is locked for each node alone, so that functions of the host may call what they like.
fn run(graph: u64, stream: u64, executable: u64) -> u32 {
    let name = "cudaGraphLaunch";
    let mut steps = Vec::new();
    let mut streams = vec![stream];
    let mut events = Vec::new();
    let error = enter(name, |context, _| {
        let mut all = graphs();
        let graph = all.graph(graph)?;
        for (address, value) in &graph.values {
            if let Some(value) = value {
                context.write(*address, &value.to_le_bytes())?;
            }
        }
        let planned = plan(graph).ok_or(Error::INVALID_VALUE)?;
        steps = planned.0;
        // Graphs inside share the streams of the whole: nodes of the graph around them run before or after them, or elsewhere.
        let mut taken = Vec::new();
        for _ in 1..planned.1 {
            let known = all.executables.get_mut(&executable);
            taken.push(match known.and_then(|e| e.branches.pop()) {
                Some(branch) => branch,
                None => context.create_branch("another branch of the graph"),
            });
        }
        let start = context.create_event(0);
        context.record_event(start, stream);
        for branch in &taken {
            context.wait_event(*branch, start);
        }
        events.push(start);
        streams.extend(taken);
        Ok(())
    });
    if error != 0 {
        return error;
    }
    let mut ends = Vec::new();
    for step in &steps {
        let mut outside = None;
        let mut error = enter(name, |context, entry| {
            let stream = streams[step.branch];
            for at in &step.waits {
                context.wait_event(stream, ends[*at]);
            }
            outside = perform(context, entry, step, stream)?;
            Ok(())
        });
        if let (0, Some(outside)) = (error, outside) {
            error = match outside {
                Outside::Host(function, data) => {
                    // SAFETY: the program gave this function with this data; the context is not held.
                    let call = move || unsafe { function(data as *mut c_void) };
                    context::host_access::on_behalf(streams[step.branch], call);
                    0
                }
                Outside::Graph(graph) => run(graph, streams[step.branch], executable),
                Outside::Conditional(value, kind, bodies) => {
                    choose(value, kind, &bodies, streams[step.branch], executable)
                }
            };
        }
        if error != 0 {
            return error;
        }
        enter(name, |context, _| {
            let end = context.create_event(0);
            context.record_event(end, streams[step.branch]);
            ends.push(end);
            Ok(())
        });
    }
    enter(name, |context, _| {
        for end in &ends {
            context.wait_event(stream, *end);
        }
        for event in ends.drain(..).chain(events) {
            context.forget_event(event);
        }
        let mut all = graphs();
        match all.executables.get_mut(&executable) {
            Some(known) => known.branches.extend(streams.drain(1..)),
            None => {
                for branch in streams.drain(1..) {
                    context.destroy_stream(branch, Call::default())?;
                }
            }
        }
        Ok(())
    })
}

/// Runs the graphs that a value chooses.
fn choose(value: u64, kind: Condition, bodies: &[u64], stream: u64, executable: u64) -> u32 {
    for _ in 0..ROUNDS {
        let mut now = [0; 4];
        let error = enter("cudaGraphLaunch", |context, _| {
            if !context.is_idle() {
                context.synchronize(stream)?;
            }
            context.read(value, &mut now)
        });
        if error != 0 {
            return error;
        }
        let now = u32::from_le_bytes(now);
        let body = match kind {
            Condition::If if now == 0 => bodies.get(1),
            Condition::While if now == 0 => None,
            Condition::If | Condition::While => bodies.first(),
            Condition::Switch => bodies.get(now as usize),
        };
        let Some(body) = body else { return 0 };
        let error = run(*body, stream, executable);
        if error != 0 || kind != Condition::While {
            return error;
        }
    }
    enter("cudaGraphLaunch", |context, _| {
        context.doubt(&format!(
            "the body of a conditional node was run {ROUNDS} times, and goes on"
        ));
        Err(Error::LAUNCH_TIMEOUT)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphLaunch(executable: Handle, stream: Handle) -> u32 {
    let mut graph = None;
    let (executable, stream) = (executable.addr() as u64, stream.addr() as u64);
    let error = enter("cudaGraphLaunch", |context, entry| {
        context.healthy()?;
        context.stream(stream, || entry.call())?;
        let known = graphs().executables.get(&executable).map(|e| e.graph);
        let known = known.ok_or(Error::INVALID_VALUE)?;
        let child = |context: &mut Context| Ok(Action::Child(graphs().copy(context, known)?));
        if !super::graph_capture::capture(context, entry, stream, child)? {
            graph = Some(known);
        }
        Ok(())
    });
    match (error, graph) {
        (0, Some(graph)) => run(graph, stream, executable),
        (error, _) => error,
    }
}

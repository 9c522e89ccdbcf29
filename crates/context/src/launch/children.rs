//! What a kernel asks for: launches and copies of its own.

use crate::call::Call;
use crate::context::Context;
use crate::operation::Request;
use report::unjudged::Unjudged;
use simt::children::{Child, ChildOrder};
use std::collections::HashMap;

/// What the reader is told of streams of the device.
const OF_DEVICE: &str = "a stream of the device";
const FIRE_AND_FORGET: &str = "a fire-and-forget stream of the device";

/// What orders launches by kernels, where one of them is in such a stream (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism", "Streams";
/// a fire-and-forget stream takes part in no event).
pub(crate) fn order_children(streams: [&str; 2], [first, second]: [&str; 2]) -> Option<String> {
    let any = |name: &str| streams.contains(&name);
    match (any(FIRE_AND_FORGET), any(OF_DEVICE)) {
        (true, _) => Some(format!(
            "launch `{first}` and then `{second}` into one stream of the block, such as its default stream, or `{second}` into `cudaStreamTailLaunch`, which waits for all that its grid has launched; nothing can wait for a launch into `cudaStreamFireAndForget`"
        )),
        (false, true) => Some(format!(
            "launch `{first}` and then `{second}` into one stream; or record an event behind `{first}` (`cudaEventRecord`), and let the other stream wait for it (`cudaStreamWaitEvent`)"
        )),
        (false, false) => None,
    }
}

/// How many streams of the device are told apart for one kernel that launches others.
const BRANCHES: usize = 64;

impl Context {
    /// Does what a kernel has asked for, when it has ended (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism"): one after another, each launch with
    /// all that it launches itself before the next one. What streams of the device leave unordered is so in the timeline, too.
    pub(super) fn children(
        &mut self,
        children: Vec<Child>,
        parent: &Request,
        call: &impl Fn() -> Call,
    ) {
        // The guide's limit for nested launches.
        const DEEPEST: u32 = 24;
        if children.is_empty() {
            return;
        }
        self.findings.unjudged(Unjudged::ChildBesideParent);
        if self.launches.depth == DEEPEST {
            self.findings.doubt(&format!(
                "`{}`: kernels launch each other more than {DEEPEST} deep",
                parent.kernel.name
            ));
            return;
        }
        self.launches.depth += 1;
        let (tails, others): (Vec<_>, Vec<_>) = children
            .into_iter()
            .partition(|child| order(child) == ChildOrder::Tail);
        let mut branches = Branches::of(&others, parent.stream);
        for child in others {
            let stream = branches.stream(self, order(&child));
            self.child(child, parent, stream, call);
        }
        branches.join(self);
        for child in tails {
            self.child(child, parent, parent.stream, call);
        }
        self.launches.depth -= 1;
    }

    fn child(&mut self, child: Child, parent: &Request, stream: u64, call: &impl Fn() -> Call) {
        if self.findings.sticky.is_some() {
            return;
        }
        let done = match child {
            Child::Copy {
                to, from, bytes, ..
            } => self
                .check(from, bytes, &call())
                .and_then(|()| self.check(to, bytes, &call()))
                .and_then(|()| self.memory.copy(to, from, bytes)),
            Child::Launch {
                kernel,
                grid,
                block,
                shared,
                params,
                ..
            } => self
                .kernel(parent.kernel.module, &kernel)
                .and_then(|kernel| {
                    let request = Request {
                        kernel,
                        grid,
                        block,
                        shared: u64::from(shared),
                        params,
                        cooperative: false,
                        programmatic: false,
                        cluster: None,
                        stream,
                    };
                    let call: &dyn Fn() -> Call = call;
                    self.launch(&request, call)
                }),
        };
        if let Err(error) = done {
            self.findings.doubt(&format!(
                "`{}` launches what can't be launched: {error}",
                parent.kernel.name
            ));
        }
    }
}

fn order(child: &Child) -> ChildOrder {
    match child {
        Child::Launch { order, .. } | Child::Copy { order, .. } => *order,
    }
}

/// Streams that branch off from the parent's and come together there again when all children have ended.
struct Branches {
    parent: u64,
    /// Whether there is something to tell apart.
    several: bool,
    /// The event that all of them begin with.
    start: Option<u64>,
    streams: HashMap<ChildOrder, u64>,
    /// Those in use.
    used: Vec<u64>,
}

impl Branches {
    fn of(children: &[Child], parent: u64) -> Branches {
        let first = children.first().map(order);
        let same = |child: &Child| Some(order(child)) == first;
        let alone = first == Some(ChildOrder::FireAndForget) && children.len() > 1;
        Branches {
            parent,
            several: alone || !children.iter().all(same),
            start: None,
            streams: HashMap::new(),
            used: Vec::new(),
        }
    }

    /// The stream of a child.
    fn stream(&mut self, context: &mut Context, order: ChildOrder) -> u64 {
        if !self.several {
            return self.parent;
        }
        if let Some(stream) = self.streams.get(&order) {
            return *stream;
        }
        if self.used.len() == BRANCHES {
            context.findings.unjudged(Unjudged::ChildrenAtOnce);
            return self.used[BRANCHES - 1];
        }
        let start = *self.start.get_or_insert_with(|| {
            let event = context.create_event(0);
            context.record_event(event, self.parent);
            event
        });
        let name = match order {
            ChildOrder::FireAndForget => FIRE_AND_FORGET,
            _ => OF_DEVICE,
        };
        let stream = context.branch_of(self.parent, name);
        context.wait_event(stream, start);
        self.used.push(stream);
        if order != ChildOrder::FireAndForget {
            self.streams.insert(order, stream);
        }
        stream
    }

    fn join(self, context: &mut Context) {
        for branch in self.used {
            let end = context.create_event(0);
            context.record_event(end, branch);
            context.wait_event(self.parent, end);
            context.forget_event(end);
            context.end_branch(self.parent, branch);
        }
        if let Some(start) = self.start {
            context.forget_event(start);
        }
    }
}

//! What a kernel asks for: launches and copies of its own.

use super::Request;
use crate::context::Context;
use crate::record::Call;
use simt::children::Child;

impl Context {
    /// Does what a kernel has asked for, when it has ended (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism"): each launch with
    /// all that it launches itself before the next one, which is the order of a stream. Blind spot: what launches on different streams
    /// of the device do to each other.
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
        if self.depth == DEEPEST {
            self.doubt(&format!(
                "`{}`: kernels launch each other more than {DEEPEST} deep",
                parent.kernel.name
            ));
            return;
        }
        self.depth += 1;
        for child in children {
            if self.sticky.is_some() {
                break;
            }
            let done = match child {
                Child::Copy { to, from, bytes } => self
                    .check(from, bytes, &call())
                    .and_then(|()| self.check(to, bytes, &call()))
                    .and_then(|()| self.copy(to, from, bytes)),
                Child::Launch {
                    kernel,
                    grid,
                    block,
                    shared,
                    params,
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
                            stream: parent.stream,
                        };
                        let call: &dyn Fn() -> Call = call;
                        self.launch(&request, call)
                    }),
            };
            if let Err(error) = done {
                self.doubt(&format!(
                    "`{}` launches what can't be launched: {error}",
                    parent.kernel.name
                ));
            }
        }
        self.depth -= 1;
    }
}

//! Memory that a stream allocates and frees in its own order (CUDA C++ Programming Guide, "Stream Ordered Memory Allocator").
//!
//! An allocation and a free are operations of their stream, and touch all of the memory: whatever uses it must be ordered after the one and
//! before the other by streams, events or the host. They go into the [timeline](crate::timeline) as writes; what conflicts with them there is
//! a use outside of the memory's lifetime. Not seen: uses by launches that are not watched (`--first`, `--every`).

use crate::call::Call;
use crate::context::Context;
use crate::error::Result;
use crate::memory::{Kind, Memory};
use crate::operation::{Lifetime, Work, describe};
use detect::footprint::{Conflict, Footprint};
use detect::rules::Rule;

impl Context {
    /// Memory was allocated in the order of a stream: whatever uses it has to come after this.
    pub fn allocated_on(&mut self, stream: u64, address: u64, call: Call) {
        self.lifetime(stream, address, call, Lifetime::Begins);
    }

    /// Frees memory when a stream comes to it.
    ///
    /// # Errors
    ///
    /// As [`Context::release`], where that is known at once.
    pub fn release_on(
        &mut self,
        stream: u64,
        address: u64,
        call: Call,
        accepts: fn(Kind) -> bool,
    ) -> Result<()> {
        if self.is_held_up(stream) {
            let issued = call.clone();
            self.defer(stream, issued, move |context| {
                context.lifetime(stream, address, call.clone(), Lifetime::Ends);
                let _ = context.release(address, call, accepts);
            });
            return Ok(());
        }
        self.lifetime(stream, address, call.clone(), Lifetime::Ends);
        self.release(address, call, accepts)
    }

    fn lifetime(&mut self, stream: u64, address: u64, call: Call, lifetime: Lifetime) {
        let Some(block) = self
            .memory
            .blocks
            .get(&address)
            .filter(|b| b.freed.is_none())
        else {
            // To free what is not allocated is told as such.
            return;
        };
        let bytes = block.bytes.max(1);
        let agent = self.agent(stream);
        let range = Memory::range(address, bytes);
        let work = Work {
            lifetime: Some(lifetime),
            ..Work::host(call, self.stream_name(stream))
        };
        let ticket = self.take_ticket();
        self.ordered(agent, ticket, Footprint::of_host(None, range, 1), work);
    }

    /// Of two operations that nothing orders, one begins or ends the lifetime of memory that the other uses. Whether that is what they are.
    pub(crate) fn outside_lifetime(
        &mut self,
        now: &Work,
        earlier: &Work,
        conflicts: &[Conflict],
    ) -> bool {
        let (owner, lifetime, user) = match (now.lifetime, earlier.lifetime) {
            (_, Some(lifetime @ Lifetime::Begins)) => (earlier, lifetime, now),
            (Some(lifetime), _) => (now, lifetime, earlier),
            (None, Some(lifetime)) => (earlier, lifetime, now),
            (None, None) => return false,
        };
        let Some(conflict) = conflicts.first() else {
            return true;
        };
        let address = conflict.address + simt::memory::GLOBAL_BASE;
        let label = match self.memory.blocks.range(..=address).next_back() {
            Some((_, block)) => block.label(),
            None => "memory".to_owned(),
        };
        let (owning, using) = (describe(owner), describe(user));
        let verb = match user.lifetime {
            Some(Lifetime::Ends) => "free",
            _ => "use",
        };
        let title = match lifetime {
            Lifetime::Ends => {
                format!("{owning} frees {label} while {using} may still {verb} it")
            }
            Lifetime::Begins => {
                format!("{using} may {verb} {label} before {owning} has allocated it")
            }
        };
        let help = match lifetime {
            Lifetime::Ends => format!(
                "free it after {using}: on the same stream, or record an event behind the use and let the other stream wait for it (`cudaStreamWaitEvent`) before `{}`",
                owner.call.function
            ),
            Lifetime::Begins => format!(
                "record an event behind `{}`, and let the other stream wait for it (`cudaStreamWaitEvent`) before {using}",
                owner.call.function
            ),
        };
        let text = match lifetime {
            Lifetime::Ends => "it is freed here",
            Lifetime::Begins => "it is allocated here",
        };
        let other = Some((owner.call.clone(), text));
        let launch = user.kernel.as_ref().map(|(_, name)| name.clone());
        self.misuse_in(
            Rule::UseAfterFree,
            title,
            user.call.clone(),
            other,
            Some(&help),
            launch,
        );
        true
    }
}

//! Streams and events by their handles.
//!
//! Work is done when it is issued, unless it waits for others ([`crate::suspended`]), so that streams are idle at most times; what is kept is what the host may rely on: which work it has
//! waited for ([`crate::timeline`]). Times of events are those at which they were recorded.

use crate::call::Call;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::launches::Awaited;
use crate::memory::Memory;
use crate::operation::Work;
pub use crate::streams::{Event, LEGACY_HANDLE, PER_THREAD_HANDLE, Stream, Streams};
use crate::timeline::{Agent, LEGACY};
use detect::footprint::Footprint;
use detect::rules::Rule;
use std::time::Instant;

impl Context {
    /// A new stream.
    pub fn create_stream(&mut self, flags: u32, priority: i32) -> u64 {
        const NON_BLOCKING: u32 = 1;
        let handle = self.handle();
        self.streams.created += 1;
        let stream = Stream {
            agent: self.launches.timeline.stream(flags & NON_BLOCKING == 0),
            number: self.streams.created,
            flags,
            priority,
            own: None,
        };
        self.streams.streams.insert(handle, stream);
        handle
    }

    /// A stream of the library's own, for what branches off from another stream: how the reader is told of it.
    pub fn create_branch(&mut self, name: &'static str) -> u64 {
        let handle = self.handle();
        let stream = Stream {
            agent: self.launches.timeline.stream(false),
            number: 0,
            flags: 1,
            priority: 0,
            own: Some(name),
        };
        self.streams.streams.insert(handle, stream);
        handle
    }

    /// A stream that branches off from another one, and has been used for that before where possible: what it did is known there. `name`: how
    /// the reader is told of it.
    pub(crate) fn branch_of(&mut self, parent: u64, name: &'static str) -> u64 {
        let unused = self.streams.branches.get_mut(&parent).and_then(Vec::pop);
        let branch = unused.unwrap_or_else(|| self.create_branch(name));
        if let Some(stream) = self.streams.streams.get_mut(&branch) {
            stream.own = Some(name);
        }
        branch
    }

    /// A branch is not used any more, and the stream that it came from has waited for it.
    pub(crate) fn end_branch(&mut self, parent: u64, branch: u64) {
        self.streams
            .branches
            .entry(parent)
            .or_default()
            .push(branch);
    }

    /// Forgets an event that is the library's own.
    pub fn forget_event(&mut self, handle: u64) {
        self.streams.events.remove(&handle);
        self.launches.timeline.forget_event(handle);
    }

    /// A stream by its handle; `None` for the default stream.
    ///
    /// # Errors
    ///
    /// There is none: a finding, too, where it was destroyed.
    pub fn stream(&mut self, handle: u64, call: impl FnOnce() -> Call) -> Result<Option<Stream>> {
        match handle {
            0 | LEGACY_HANDLE => Ok(None),
            PER_THREAD_HANDLE => {
                if !self.streams.streams.contains_key(&handle) {
                    let stream = Stream {
                        agent: self.launches.timeline.stream(true),
                        number: 0,
                        flags: 0,
                        priority: 0,
                        own: None,
                    };
                    self.streams.streams.insert(handle, stream);
                }
                Ok(self.streams.streams.get(&handle).copied())
            }
            handle => match self.streams.streams.get(&handle) {
                Some(stream) => Ok(Some(*stream)),
                None => {
                    self.not_there(handle, "a stream", call());
                    Err(Error::INVALID_RESOURCE_HANDLE)
                }
            },
        }
    }

    fn not_there(&mut self, handle: u64, what: &str, call: Call) {
        let function = &call.function;
        let (title, other) = match self.streams.ended.get(&handle) {
            Some(ended) => (
                format!("`{function}` uses {what} that was destroyed"),
                Some((ended.clone(), "it was destroyed here")),
            ),
            None => (
                format!("`{function}` uses {what} that was never created"),
                None,
            ),
        };
        self.misuse(Rule::InvalidApiUse, title, call, other, None);
    }

    /// How the reader knows a stream.
    pub fn stream_name(&self, handle: u64) -> String {
        if let Some(name) = &self.streams.elsewhere {
            return name.clone();
        }
        match self.streams.streams.get(&handle) {
            Some(Stream {
                own: Some(name), ..
            }) => (*name).to_owned(),
            Some(stream) if stream.number > 0 => format!("stream {}", stream.number),
            Some(_) => "the thread's default stream".to_owned(),
            None => "the default stream".to_owned(),
        }
    }

    /// The agent that a valid handle stands for.
    pub(crate) fn agent(&self, handle: u64) -> Agent {
        self.streams
            .streams
            .get(&handle)
            .map_or(LEGACY, |s| s.agent)
    }

    /// Destroys a stream.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn destroy_stream(&mut self, handle: u64, call: Call) -> Result<()> {
        match self.streams.streams.remove(&handle) {
            Some(stream) => {
                self.launches.timeline.end_stream(stream.agent);
                self.streams.ended.insert(handle, call);
                Ok(())
            }
            None => {
                self.not_there(handle, "a stream", call);
                Err(Error::INVALID_RESOURCE_HANDLE)
            }
        }
    }

    /// A new event.
    pub fn create_event(&mut self, flags: u32) -> u64 {
        let handle = self.handle();
        let event = Event {
            recorded: None,
            flags,
        };
        self.streams.events.insert(handle, event);
        handle
    }

    /// An event by its handle.
    ///
    /// # Errors
    ///
    /// There is none: a finding, too.
    pub fn event(&mut self, handle: u64, call: impl FnOnce() -> Call) -> Result<Event> {
        if let Some(event) = self.streams.events.get(&handle) {
            return Ok(*event);
        }
        self.not_there(handle, "an event", call());
        Err(Error::INVALID_RESOURCE_HANDLE)
    }

    /// Destroys an event.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn destroy_event(&mut self, handle: u64, call: Call) -> Result<()> {
        if self.streams.events.remove(&handle).is_none() {
            self.not_there(handle, "an event", call);
            return Err(Error::INVALID_RESOURCE_HANDLE);
        }
        self.launches.timeline.forget_event(handle);
        self.streams.ended.insert(handle, call);
        Ok(())
    }

    /// Records an event that is [there](Context::event) on a stream that is.
    pub fn record_event(&mut self, event: u64, stream: u64) {
        let agent = self.agent(stream);
        self.launches.timeline.record(event, agent);
        if let Some(event) = self.streams.events.get_mut(&event) {
            event.recorded = Some(Instant::now());
        }
    }

    /// Lets a stream wait for an event.
    pub fn wait_event(&mut self, stream: u64, event: u64) {
        let agent = self.agent(stream);
        self.launches.timeline.wait(event, agent);
    }

    /// The host waits for an event.
    ///
    /// # Errors
    ///
    /// A kernel has failed.
    pub fn await_event(&mut self, event: u64) -> Result<()> {
        self.settle(Awaited::Event(event));
        self.launches.timeline.await_event(event);
        self.launches.primaries.forget(None);
        self.rewatch(false);
        self.print();
        self.findings.healthy()
    }

    /// The host waits for a stream.
    ///
    /// # Errors
    ///
    /// A kernel has failed.
    pub fn synchronize(&mut self, stream: u64) -> Result<()> {
        self.settle(Awaited::Stream(stream));
        let agent = self.agent(stream);
        self.launches.timeline.synchronize(agent);
        self.launches
            .primaries
            .forget((stream != 0).then_some(stream));
        self.rewatch(false);
        self.print();
        self.findings.healthy()
    }

    /// The host waits for everything.
    ///
    /// # Errors
    ///
    /// A kernel has failed.
    pub fn synchronize_all(&mut self) -> Result<()> {
        self.settle(Awaited::All);
        self.launches.timeline.synchronize_all();
        self.launches.primaries.forget(None);
        self.rewatch(false);
        self.print();
        self.findings.healthy()
    }

    /// A copy or a fill, `write` and `read` being what it touches of the device's memory; if it is `synchronous`, the host waits.
    pub fn transfer(
        &mut self,
        stream: u64,
        read: Option<(u64, u64)>,
        write: Option<(u64, u64)>,
        synchronous: bool,
        call: impl FnOnce() -> Call,
    ) {
        let agent = self.agent(stream);
        self.launches.primaries.forget(Some(stream));
        let concerns = self.is_shared(read) || self.is_shared(write);
        if self.launches.timeline.has_streams() || concerns && !synchronous {
            let place = |range: Option<(u64, u64)>| range.and_then(|(a, b)| Memory::range(a, b));
            let footprint = Footprint::of_host(place(read), place(write), 4);
            let work = Work::host(call(), self.stream_name(stream));
            let ticket = self.take_ticket();
            self.ordered(agent, ticket, footprint, work);
        }
        if synchronous {
            let _ = self.synchronize(stream);
        }
        self.advance();
    }

    /// The host asks whether a stream, or an event, has come to its end, which counts as waiting for it if so.
    ///
    /// # Errors
    ///
    /// It has not; or a kernel has failed.
    pub fn query(&mut self, awaited: Awaited) -> Result<()> {
        if self.is_unready(awaited) {
            self.findings.healthy()?;
            return Err(Error::NOT_READY);
        }
        match awaited {
            Awaited::All => self.synchronize_all(),
            Awaited::Stream(stream) => self.synchronize(stream),
            Awaited::Event(event) => self.await_event(event),
        }
    }
}

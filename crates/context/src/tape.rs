//! The tape: each launch with all that it takes to run it again elsewhere.
//!
//! Whoever grades a program of somebody else does not believe what the library in that program's process says of a launch: code beside it
//! can change its memory. From a tape, another process [runs the launches again](crate::repeat) and sees for itself. What can be
//! made up then is only which kernels of the program were launched, on which memory, and a program could have launched those.
//!
//! Memory is written page by page, those that differ from what was written last. Launches by kernels are left out: whoever runs their
//! parents again runs them, too.

use crate::call::{Call, LaunchName};
use crate::context::Context;
use crate::operation::Request;
use crate::record::Record;
use crate::taped::{Packed, Taped};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use simt::transfer::{PAGE_WORDS, Page};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Bytes of memory that are written at most.
const MOST: u64 = 32 << 20;

fn hash(page: &Page) -> u64 {
    let mut hasher = DefaultHasher::new();
    page.words.hash(&mut hasher);
    page.valid.hash(&mut hasher);
    hasher.finish()
}

impl Context {
    /// Writes a launch that is about to run.
    pub(crate) fn tape(&mut self, request: &Request, name: &LaunchName, call: Call) {
        if !self.options.tape || self.launches.depth > 0 || self.launches.tape.full {
            return;
        }
        let layout = self.memory.device.layout();
        let empty = hash(&Page::default());
        let mut pages = Vec::new();
        for number in layout.pages() {
            let page = self.memory.device.page(number);
            let hash = hash(&page);
            let last = self.launches.tape.pages.insert(number, hash);
            if last.unwrap_or(empty) == hash {
                continue;
            }
            self.launches.tape.bytes += PAGE_WORDS as u64 * 4;
            if self.launches.tape.bytes > MOST {
                self.launches.tape.full = true;
                self.findings.doubt(&format!(
                    "launches of the program change more than {} MiB of memory, so that not all of them are looked at",
                    MOST >> 20
                ));
                return;
            }
            pages.push((number, Packed::of(&page)));
        }
        let kernel = &request.kernel;
        let changed = layout != self.launches.tape.layout;
        let blocks = self.memory.blocks.values().filter(|b| b.freed.is_none());
        let taped = Taped {
            name: name.clone(),
            entry: kernel.mangled.clone(),
            texts: self.modules.all[kernel.module].texts().to_vec(),
            module: kernel.module,
            shared: request.shared,
            params: STANDARD.encode(&request.params),
            cooperative: request.cooperative,
            cluster: request.cluster,
            call,
            blocks: match changed {
                true => blocks
                    .map(|b| (b.address, b.number, b.name.clone()))
                    .collect(),
                false => Vec::new(),
            },
            layout: changed.then(|| layout.clone()),
            pages,
        };
        self.launches.tape.layout = layout;
        self.findings
            .recorder
            .write(Record::Launch(Box::new(taped)));
    }
}

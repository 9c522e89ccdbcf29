//! The tape: each launch with all that it takes to run it again elsewhere.
//!
//! Whoever grades a program of somebody else does not believe what the library in that program's process says of a launch: code beside it
//! can change its memory. From a tape, another process [runs the launches again](crate::repeat) and sees for itself. What can be
//! made up then is only which kernels of the program were launched, on which memory, and a program could have launched those.
//!
//! Memory is written page by page, those that differ from what was written last. Launches by kernels are left out: whoever runs their
//! parents again runs them, too.

use crate::context::Context;
use crate::launch::Request;
use crate::record::{Call, LaunchName, Record};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use simt::transfer::{Layout, PAGE_WORDS, Page};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Bytes of memory that are written at most.
const MOST: u64 = 32 << 20;

/// A launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Taped {
    /// Its number, kernel, geometry and stream.
    pub name: LaunchName,
    /// The kernel's name in the PTX.
    pub entry: String,
    /// The texts that its module is linked from, by [name](crate::options::Instead::name).
    pub texts: Vec<String>,
    /// The module's number in the process.
    pub module: usize,
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// The parameter block, in base64.
    pub params: String,
    /// Whether all blocks are resident together.
    pub cooperative: bool,
    /// Where the host program launched it.
    pub call: Call,
    /// What the device holds; none where it is what it was at the launch before.
    pub layout: Option<Layout>,
    /// Allocations for the reader, by address: number, name; with the layout.
    pub blocks: Vec<(u64, usize, Option<String>)>,
    /// Pages that are not what was written last, by number.
    pub pages: Vec<(u64, Packed)>,
}

/// A page in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
    /// Its words, little-endian.
    pub words: String,
    /// For each word, which bytes of it were written; none where all of them were.
    pub valid: Option<String>,
}

impl Packed {
    fn of(page: &Page) -> Packed {
        let words: Vec<u8> = page.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let whole = page.valid.iter().all(|v| *v == 0xf);
        Packed {
            words: STANDARD.encode(words),
            valid: (!whole).then(|| STANDARD.encode(&page.valid)),
        }
    }

    /// The page; `None` where this is none.
    pub fn page(&self) -> Option<Page> {
        let bytes = STANDARD.decode(&self.words).ok()?;
        let (words, []) = bytes.as_chunks::<4>() else {
            return None;
        };
        let words: Vec<u32> = words.iter().map(|w| u32::from_le_bytes(*w)).collect();
        let valid = match &self.valid {
            Some(text) => STANDARD.decode(text).ok()?,
            None => vec![0xf; PAGE_WORDS],
        };
        let whole = words.len() == PAGE_WORDS && valid.len() == PAGE_WORDS;
        whole.then_some(Page { words, valid })
    }
}

impl Taped {
    /// The parameter block; `None` where it is none.
    pub fn params(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.params).ok()
    }
}

/// What was written of a tape.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    /// Hashes of pages.
    pages: HashMap<u64, u64>,
    layout: Layout,
    bytes: u64,
    full: bool,
}

fn hash(page: &Page) -> u64 {
    let mut hasher = DefaultHasher::new();
    page.words.hash(&mut hasher);
    page.valid.hash(&mut hasher);
    hasher.finish()
}

impl Context {
    /// Writes a launch that is about to run.
    pub(crate) fn tape(&mut self, request: &Request, name: &LaunchName, call: Call) {
        if !self.options.tape || self.depth > 0 || self.tape.full {
            return;
        }
        let layout = self.device.layout();
        let empty = hash(&Page::default());
        let mut pages = Vec::new();
        for number in layout.pages() {
            let page = self.device.page(number);
            let hash = hash(&page);
            let last = self.tape.pages.insert(number, hash);
            if last.unwrap_or(empty) == hash {
                continue;
            }
            self.tape.bytes += PAGE_WORDS as u64 * 4;
            if self.tape.bytes > MOST {
                self.tape.full = true;
                self.doubt(&format!(
                    "launches of the program change more than {} MiB of memory, so that not all of them are looked at",
                    MOST >> 20
                ));
                return;
            }
            pages.push((number, Packed::of(&page)));
        }
        let kernel = &request.kernel;
        let changed = layout != self.tape.layout;
        let blocks = self.blocks.values().filter(|b| b.freed.is_none());
        let taped = Taped {
            name: name.clone(),
            entry: kernel.mangled.clone(),
            texts: self.modules[kernel.module].texts().to_vec(),
            module: kernel.module,
            shared: request.shared,
            params: STANDARD.encode(&request.params),
            cooperative: request.cooperative,
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
        self.tape.layout = layout;
        self.recorder.write(Record::Launch(Box::new(taped)));
    }
}

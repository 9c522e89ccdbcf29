//! A launch as the [tape](crate::tape) holds it, and what of the tape is written already.

use crate::call::{Call, LaunchName};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use simt::transfer::{Layout, PAGE_WORDS, Page};
use std::collections::HashMap;

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
    /// Blocks of a cluster, if the launch says.
    #[serde(default)]
    pub cluster: Option<[u32; 3]>,
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
    pub(crate) fn of(page: &Page) -> Packed {
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
    pub pages: HashMap<u64, u64>,
    pub layout: Layout,
    pub bytes: u64,
    pub full: bool,
}

//! Which release's headers a program was compiled with.
//!
//! A program names the runtime that it was linked with in its file (`libcudart.so.11.0`, `.12`, `.13`: ELF, "Dynamic Section",
//! `DT_NEEDED`).

use crate::entry::Entry;
use context::calls;
use std::os::raw::c_int;

/// A major release of CUDA, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    Eleven,
    Twelve,
    Thirteen,
}

impl Release {
    /// The release whose runtime the program asks for; where its libraries ask for several, that of the caller. Where nobody asks, that of
    /// the name by which the library was opened first; the newest one, where that does not say either.
    pub fn of(entry: Entry) -> Release {
        let all = calls::needed("libcudart.so.");
        let mut releases: Vec<Release> =
            all.iter().filter_map(|(_, n)| Release::named(n)).collect();
        releases.sort();
        releases.dedup();
        match releases[..] {
            // The name by which somebody has opened this library, who looks functions up.
            [] => calls::own()
                .and_then(|path| Release::named(path.rsplit_once("libcudart.so.")?.1))
                .unwrap_or(Release::Thirteen),
            [one] => one,
            [.., newest] => {
                let caller = entry.call().frames.into_iter().next();
                let object = caller.map(|frame| frame.object);
                let asked = all.iter().find(|(path, _)| Some(path) == object.as_ref());
                asked.and_then(|(_, n)| Release::named(n)).unwrap_or(newest)
            }
        }
    }

    /// The release of a library's name, behind `libcudart.so.`.
    fn named(version: &str) -> Option<Release> {
        Some(match version.split('.').next()? {
            "11" => Release::Eleven,
            "12" => Release::Twelve,
            "13" => Release::Thirteen,
            _ => return None,
        })
    }

    /// As `cudaRuntimeGetVersion` has it: of the last minor release.
    pub fn version(self) -> c_int {
        match self {
            Release::Eleven => 11080,
            Release::Twelve => 12090,
            Release::Thirteen => 13000,
        }
    }
}

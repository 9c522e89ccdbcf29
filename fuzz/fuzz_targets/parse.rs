//! Arbitrary bytes through the parser and everything that reads a tree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx::{self, Cfg, Flat, SourceMap, ast::Item};

fuzz_target!(|bytes: &[u8]| {
    let module = match ptx::parse_bytes(bytes) {
        Ok(module) => module,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let map = SourceMap::of(&module);
    for item in &module.items {
        let Item::Function(function) = item else {
            continue;
        };
        ptx::matches_entry(&function.name, "kernel");
        let Ok(flat) = Flat::of(function) else {
            continue;
        };
        for at in &flat.instructions {
            if let Some(loc) = at.loc {
                map.chain(loc);
            }
        }
        if let Ok(cfg) = Cfg::of_flat(&flat) {
            cfg.loops();
        }
    }
});

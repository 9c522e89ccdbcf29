//! Parsing what was printed gives the tree that was printed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    if let Ok(module) = ptx::parse(source) {
        let text = ptx::print(&module);
        assert_eq!(ptx::parse(&text).as_ref(), Ok(&module), "{text}");
    }
});

//! The table of functions is current, and the lists of names have all that the public headers declare.

#[path = "../names/table.rs"]
mod table;

use std::path::Path;

#[test]
fn the_table_in_the_documentation_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let known = std::fs::read_to_string(root.join("docs/api.md")).unwrap_or_default();
    assert!(
        known == table::markdown(),
        "renew it: cargo run -p racetrap-cuda --example api > docs/api.md"
    );
}

/// Names that a header declares: words that begin with `prefix` and stand before a parenthesis, on lines without comments.
fn declared(text: &str, prefix: &str, before: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices(before) {
        let rest = text[at + before.len()..].trim_start();
        let name: String = rest
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        if name.starts_with(prefix) && rest[name.len()..].starts_with('(') {
            names.push(name);
        }
    }
    names
}

#[test]
fn every_function_of_the_public_headers_is_exported() {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let include = nvcc.program.path.parent().unwrap().join("../include");
    for (header, list, prefix, before) in [
        ("cuda_runtime_api.h", "runtime.txt", "cuda", "CUDARTAPI"),
        ("cuda.h", "driver.txt", "cu", "CUDAAPI"),
    ] {
        let text = std::fs::read_to_string(include.join(header)).unwrap();
        let found = declared(&text, prefix, before);
        assert!(found.len() > 200, "{header}: {} names", found.len());
        let known = table::names(list);
        let missing: Vec<_> = found.iter().filter(|name| !known.contains(*name)).collect();
        assert!(missing.is_empty(), "{header} declares {missing:?}");
    }
}

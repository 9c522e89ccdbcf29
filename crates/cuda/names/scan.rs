//! Which public names the sources define: for `build.rs`, and for the table in the documentation.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The function that a function of the per-thread default stream (`_ptds`, `_ptsz`) is another name of.
pub fn same(name: &str) -> Option<&str> {
    name.strip_suffix("_ptds").or(name.strip_suffix("_ptsz"))
}

/// Names of the exported functions of all files under a folder.
pub fn functions(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("part of the package").flatten() {
        let path = entry.path();
        if path.is_dir() {
            functions(&path, into);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for (at, found) in text.match_indices("extern \"C\" fn ") {
            let name: String = text[at + found.len()..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if name.starts_with("cu") || name.starts_with("__cuda") {
                into.insert(name);
            }
        }
        // Those that tables make: `    cuMemcpy, cuMemcpyAsync, …;` and `    cuCtxGetCurrent(…);`.
        for line in text
            .lines()
            .filter(|l| l.starts_with("    cu") && l.ends_with(';'))
        {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let table = line.contains(", \"cu");
            let names = words.filter(|w| w.starts_with("cu"));
            into.extend(names.take(if table { 2 } else { 1 }).map(str::to_owned));
        }
    }
}

//! The page on guesses names the files in which guesses are made, and no others.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_page_lists_the_files_of_guesses() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(here.join("../../docs/guesses.md")).expect("the page");
    let named = page.lines().filter_map(|line| {
        let rest = line.strip_prefix("| `")?;
        rest.split_once(".rs` |").map(|(name, _)| name.to_owned())
    });
    let files = std::fs::read_dir(here.join("src/guess")).expect("the folder");
    let files = files.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let name = name.strip_suffix(".rs")?.to_owned();
        // They word and test the others.
        (!["tests", "wording"].contains(&name.as_str())).then_some(name)
    });
    let (named, files): (BTreeSet<String>, BTreeSet<String>) = (named.collect(), files.collect());
    assert_eq!(named, files);
    assert!(named.len() > 5);
}

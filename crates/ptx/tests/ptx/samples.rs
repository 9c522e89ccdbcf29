//! The PTX pinned in `tests/samples`.

use std::path::Path;

/// The names and texts of all samples.
pub fn all() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut samples: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    samples.sort();
    assert!(
        samples.len() >= 20,
        "samples are missing: {}",
        samples.len()
    );
    samples
}

/// The texts of the samples that are short enough to be read thousands of times.
pub fn small() -> &'static [String] {
    static SMALL: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    SMALL.get_or_init(|| {
        let texts = all().into_iter().map(|(_, text)| text);
        texts.filter(|text| text.len() < 12_000).collect()
    })
}

//! `racetrap mutate` on kernels of which it is known what each barrier, fence and atomic is needed for (`tests/necessity`).
//!
//! Hardly any of them shows its need at the launch that is guessed first: a block of one warp, a shift that is a multiple of the block,
//! a mode that nobody guesses. What is needed must be called so, or be told as not exercised.

use crate::common::racetrap;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/necessity")
}

/// What a line of the source says of itself, with the kernel that it is in: `needed`, `one of`, `spare`.
fn marks(source: &str) -> (Vec<&str>, BTreeMap<u64, &str>) {
    let mut kernels = Vec::new();
    let mut marks = BTreeMap::new();
    for (number, line) in source.lines().enumerate() {
        if let Some((_, rest)) = line.split_once("__global__ void ") {
            kernels.extend(rest.split('(').next());
        }
        if let Some((code, mark)) = line.split_once("// ")
            && !code.trim().is_empty()
        {
            marks.insert(number as u64 + 1, mark);
        }
    }
    (kernels, marks)
}

fn judged(kernel: &str) -> Value {
    let shown = racetrap(
        &folder(),
        &[
            "mutate",
            "kernels.ptx",
            "--entry",
            kernel,
            "--jobs",
            "1",
            "--format",
            "json",
            "--only",
            "remove-barrier,remove-fence,plain-atomic",
        ],
    );
    let (json, status) = shown.rsplit_once("--- exit status ").unwrap();
    assert_eq!(status.trim(), "0", "{kernel}: {shown}");
    serde_json::from_str(json.split_once("--- stdout\n").unwrap().1).unwrap()
}

#[test]
fn what_is_needed_is_never_called_dispensable() {
    let source = std::fs::read_to_string(folder().join("kernels.cu")).unwrap();
    let (kernels, marks) = marks(&source);
    assert!(kernels.len() >= 30);
    let documents = catalog::runner::parallel(kernels.len(), 2, &|k| judged(kernels[k]));
    let mut seen = 0;
    let (mut wrong, mut all) = (Vec::new(), Vec::new());
    for (kernel, document) in kernels.iter().zip(&documents) {
        let document = &document["kernels"][0];
        assert!(document["refused"].is_null(), "{kernel}: {document}");
        let together = document["together"].as_array().unwrap().iter();
        let together: Vec<u64> = together
            .flat_map(|group| group["members"].as_array().unwrap())
            .map(|member| member.as_u64().unwrap())
            .collect();
        for (index, mutant) in document["mutants"].as_array().unwrap().iter().enumerate() {
            let line = mutant["line"].as_u64().unwrap();
            let mark = *marks.get(&line).unwrap_or(&"not marked");
            let outcome = mutant["outcome"].as_str().unwrap();
            let is_together = together.contains(&(index as u64));
            let holds = match mark {
                "needed" => outcome == "needed" || outcome == "not-exercised",
                "one of" => outcome != "needed" && is_together,
                "spare" => outcome != "needed" && !is_together,
                _ => false,
            };
            seen += 1;
            let told = format!(
                "{kernel}: {}: {mark}: {outcome}",
                mutant["change"].as_str().unwrap()
            );
            if !holds {
                wrong.push(told.clone());
            }
            all.push(told);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen >= 50, "{seen}");
    insta::assert_snapshot!(all.join("\n"));
}

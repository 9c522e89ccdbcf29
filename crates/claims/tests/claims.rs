//! Claims: each is decided as its file says, and what makes no sense is told.

extern crate racetrap_claims as claims;

use catalog::case_result::Settings;
use catalog::load::Catalog;
use catalog::runner;
use catalog::tree::Tree;
use claims::claim::claims;
use claims::decide::to_try;
use claims::time::Times;
use claims::{Decided, Facts, Ruling, decide, show};
use evidence::Evidence;
use insta::assert_snapshot;
use std::path::Path;

fn decided(catalog: &Catalog, times: Option<&Times>, evidence: Option<&Evidence>) -> Vec<Decided> {
    let claims = claims(catalog).unwrap();
    let cases = to_try(catalog, &claims);
    let trials = runner::run(catalog, &cases, &Settings::default(), 2, &|_| {});
    let facts = Facts {
        catalog,
        trials: &trials.trials,
        evidence,
        times,
    };
    claims.iter().map(|claim| decide(claim, &facts)).collect()
}

#[test]
fn every_claim_is_decided_as_its_file_says() {
    let catalog = Catalog::embedded().unwrap();
    let times = Times::newest().unwrap();
    let evidence = Evidence::embedded().unwrap();
    let all = decided(&catalog, times.as_ref(), evidence.first());
    let wrong: Vec<_> = all.into_iter().filter(|d| !d.as_expected()).collect();
    assert!(wrong.is_empty(), "{}", show::terminal(&wrong, false));
}

#[test]
fn without_a_gpu_claims_about_it_are_undecided() {
    let catalog = Catalog::embedded().unwrap();
    for decision in decided(&catalog, None, None) {
        let needs = |p: &claims::claim::Prediction| p.gpu.is_some() || p.time.is_some();
        let open = decision.claim.predicts.iter().any(needs);
        assert_eq!(
            decision.ruling == Ruling::Undecided,
            open,
            "{}",
            decision.claim.id
        );
    }
}

const KERNEL: &str = "__global__ void k(int *out) { out[0] = 1; }\n";

const CASE: &str = "\
title: A case
kernel: k.cu
sizes: {n: 1..=64}
buffers:
  out: {type: i32, length: n, values: zeros}
launches:
  - {entry: k, args: [out]}
oracle:
  out: {each: i == 0}
expect:
  simulator: clean
";

const CLAIM: &str = "\
documents: [\"1\"]
says: It is so.
predicts:
  - what: one write
    count: {of: {case: f/c, with: {n: 7}}, holds: global_writes == 1, figures: {writes: global_writes}}
verdict: confirmed
";

fn told(from: &str, to: &str) -> String {
    assert!(CLAIM.contains(from), "{from}");
    let mut tree = Tree::default();
    for (file, text) in [
        ("kernels/k.cu", KERNEL.to_owned()),
        ("cases/f/c.yaml", CASE.to_owned()),
        ("cases/claims/c.yaml", CLAIM.replacen(from, to, 1)),
    ] {
        tree.files.insert(file.to_owned(), text.into());
    }
    let catalog = Catalog::without_ptx(tree, Path::new("somewhere")).unwrap();
    match claims(&catalog) {
        Ok(claims) => format!("{} good claims", claims.len()),
        Err(errors) => {
            let all: Vec<_> = errors.iter().map(ToString::to_string).collect();
            all.join("\n")
        }
    }
}

#[test]
fn mistakes_in_claims() {
    let all = [
        ("says", "says"),
        ("says", "claims"),
        ("verdict: confirmed", "verdict: undecided"),
        ("verdict: confirmed", "verdict: refuted"),
        ("case: f/c", "case: f/d"),
        ("with: {n: 7}", "with: {m: 7}"),
        ("global_writes == 1", "global_rights == 1"),
        ("global_writes == 1", "global_writes = 1"),
        (
            "    count:",
            "    launch: {of: {case: f/c}, accepted: true}\n    count:",
        ),
        (
            "    count: {of: {case: f/c, with: {n: 7}}, holds: global_writes == 1, figures: {writes: global_writes}}\n",
            "",
        ),
        (
            "count: {of: {case: f/c, with: {n: 7}}, holds: global_writes == 1, figures: {writes: global_writes}}",
            "time: {slow: {case: f/c}, fast: {case: f/c}}",
        ),
    ];
    let text: Vec<_> = all
        .iter()
        .map(|(from, to)| format!("{to:?}\n{}", told(from, to)))
        .collect();
    assert_snapshot!(text.join("\n\n"));
}

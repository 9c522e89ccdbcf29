//! What cases say of their PTX holds, on every pinned target; and what does not hold is told with its lines.

use catalog::case::Case;
use catalog::compiled::{PtxCheck, checks, checks_with};
use catalog::load::{Catalog, from_yaml};
use catalog::tree::Tree;

fn catalog() -> Catalog {
    let root = &testing::root();
    Catalog::without_ptx(Tree::read(root).unwrap(), root).unwrap_or_else(|e| panic!("\n{e}"))
}

#[test]
fn every_case_has_the_ptx_that_it_says() {
    let catalog = catalog();
    let (mut wrong, mut evaluated) = (Vec::new(), 0);
    for entry in &catalog.cases {
        for target in entry.case.target_names() {
            let checks =
                checks(&catalog, entry, target).unwrap_or_else(|e| panic!("{}: {e}", entry.id));
            evaluated += checks.len();
            let failed = checks.iter().filter(|check| !check.holds);
            wrong
                .extend(failed.map(|check| format!("{}, {target}: {}", entry.id, check.message())));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(evaluated > 150, "{evaluated}");
}

/// A case with other expectations, evaluated on the PTX of `scan/warp/plain-pointer`.
fn claims(ptx: &str) -> Vec<PtxCheck> {
    let catalog = catalog();
    let mut entry = catalog.find("scan/warp/plain-pointer").unwrap().clone();
    let yaml = format!(
        "title: t\nkernel: scan/warp.cu\nlaunches: []\nexpect: {{simulator: clean}}\nptx: {ptx}"
    );
    let case: Case =
        from_yaml("cases/scan/warp/plain-pointer.yaml", &yaml).unwrap_or_else(|e| panic!("{e}"));
    entry.case.ptx = case.ptx;
    checks(&catalog, &entry, "sm_90").unwrap()
}

#[test]
fn what_does_not_hold_is_told_with_its_lines() {
    let told: Vec<String> = claims(
        "{counts: {st.shared: 7, ld.shared: '>= 5'}, has: [atom], lacks: [st.global], \
         order: [[st.shared, bar.warp.sync]], effects: {volatile: {store-elided: 4}}}",
    )
    .iter()
    .filter(|check| !check.holds)
    .map(PtxCheck::message)
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn other_ptx_can_be_given() {
    let catalog = catalog();
    let entry = catalog.find("scan/warp/plain-pointer").unwrap();
    let error = checks_with(&catalog, entry, "sm_90", &mut |entry| {
        Err(catalog::compiled::NoPtx(format!("no PTX of {}", entry.id)))
    });
    assert_eq!(
        error.unwrap_err().to_string(),
        "no PTX of scan/warp/plain-pointer"
    );
}

#[test]
fn mistakes_in_expectations_are_found_when_the_catalogue_is_read() {
    let root = &testing::root();
    for (ptx, message) in [
        ("ptx: {}", "the key `ptx` states nothing"),
        (
            "ptx: {entry: scan_wraps, has: [st]}",
            "the case launches no `scan_wraps`",
        ),
        (
            "ptx: {effects: {volatil: {store-elided: 1}}}",
            "no case `volatil` (did you mean `volatile`?)",
        ),
        (
            "ptx: {effects: {volatile: {store-elide: 1}}}",
            "did you mean `store-elided`?",
        ),
        (
            "ptx: {counts: {st.shared: {sm_70: 1}}}",
            "no PTX is pinned for `sm_70`, only for sm_75 and sm_90",
        ),
        (
            "ptx: {counts: {st.shared: several}}",
            "`several` is not a number of instructions",
        ),
        (
            "ptx: {has: [st shared]}",
            "`st shared` is not an instruction pattern",
        ),
        (
            "ptx: {order: [[st.shared]]}",
            "an order needs at least two patterns",
        ),
        ("ptx: {count: {st: 1}}", "did you mean `counts`?"),
    ] {
        let mut tree = Tree::read(root).unwrap();
        let file = "cases/scan/warp/shuffle.yaml";
        let text = tree.text(file).unwrap().to_owned();
        let start = text.find("\nptx:").unwrap() + 1;
        let end = text.find("\nexpect:").unwrap();
        let changed = format!("{}{ptx}{}", &text[..start], &text[end..]);
        tree.files.insert(file.to_owned(), changed.into());
        let errors = Catalog::without_ptx(tree, root).unwrap_err().to_string();
        assert!(errors.contains(message), "{ptx}: {errors}");
    }
}

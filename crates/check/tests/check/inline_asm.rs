//! What nvcc copies from an `asm` into its PTX is refused with the line of the source.

use check::{Request, Source, Unwatched, check};
use std::path::Path;

#[test]
fn inline_assembly_is_refused_with_its_line() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("inline_asm.cu");
    let source = "__global__ void k(int *x) {\n    int v = x[0];\n    asm volatile(\"garbage.u32 %0, %0;\" : \"+r\"(v));\n    x[0] = v;\n}\n";
    std::fs::write(&path, source).expect("written");
    let error = check(&Request::new(Source::File(path)), &Unwatched).expect_err("no PTX");
    let place = error.failure.place.as_deref().expect("a place");
    assert!(place.source.path.ends_with("inline_asm.cu"), "{error}");
    let shown = error.render(false);
    assert!(
        shown.contains("inline_asm.cu:3") && shown.contains("PTX has no instruction `garbage"),
        "{shown}"
    );
}

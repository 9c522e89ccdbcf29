//! `racetrap::ptxdiff` on what compilers wrote and on pairs made for each effect.

use racetrap::ptxdiff::effect::Effect;
use racetrap::ptxdiff::{FunctionDiff, Side, Unit};

fn pinned(file: &str) -> Unit {
    let path = format!("{}/kernels/{file}", env!("CARGO_MANIFEST_DIR"));
    Unit::parse(std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Effects with their side and count.
fn effects(diff: &FunctionDiff) -> Vec<String> {
    diff.effects
        .iter()
        .map(|o| {
            let side = o.side.map_or("both".to_owned(), |s| s.to_string());
            format!("{} {side} {}", o.effect, o.occurrences.len())
        })
        .collect()
}

#[test]
fn the_plain_warp_scan_lacks_five_stores_and_six_loads() {
    for target in ["sm_75", "sm_90"] {
        let plain = pinned(&format!("scan/warp.BUG_PLAIN_POINTER.{target}.ptx"));
        let volatile = pinned(&format!("scan/warp.{target}.ptx"));
        let entry = |unit: &'static Unit| unit.entry("scan_warps_lockstep").unwrap();
        let (plain, volatile): (&'static Unit, &'static Unit) =
            (Box::leak(Box::new(plain)), Box::leak(Box::new(volatile)));
        let diff = FunctionDiff::of((plain, entry(plain)), (volatile, entry(volatile))).unwrap();
        assert_eq!(
            effects(&diff),
            [
                "store-elided A 5",
                "load-elided A 6",
                "value-kept-in-register A 6",
                "volatile-dropped A 7"
            ],
            "{target}"
        );
        let back = FunctionDiff::of((volatile, entry(volatile)), (plain, entry(plain))).unwrap();
        assert_eq!(back.count(Effect::StoreElided, Side::B), 5);
        let lines: Vec<u32> = diff.effects[0]
            .occurrences
            .iter()
            .map(|o| diff.b.source(o.b[0]).unwrap().line)
            .collect();
        assert_eq!(lines, [48, 51, 51, 51, 51]);
    }
}

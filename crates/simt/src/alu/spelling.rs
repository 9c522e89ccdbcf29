//! How an instruction's modifiers are spelt.

/// Whether a modifier names a fundamental or packed type (`u32`, `s16x2`, `bf16`, `pred`).
pub(super) fn is_type(modifier: &str) -> bool {
    let Some(rest) = modifier
        .strip_prefix("bf")
        .or_else(|| modifier.strip_prefix(['b', 'f', 's', 'u']))
    else {
        return modifier == "pred";
    };
    let (bits, count) = rest.split_once('x').unwrap_or((rest, "1"));
    matches!(bits, "8" | "16" | "32" | "64" | "128") && matches!(count, "1" | "2" | "4")
}

/// The modifiers with the types moved to the end.
///
/// The manual's grammar puts qualifiers before types, with few exceptions
/// (`prmt.b32.f4e`); its examples and `ptxas` also have them behind
/// (`min.s16x2.relu`). The tables are written in this one order.
pub(super) fn types_last<'a>(modifiers: &[&'a str]) -> Vec<&'a str> {
    let mut sorted = modifiers.to_vec();
    sorted.sort_by_key(|modifier| is_type(modifier));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_from_qualifiers() {
        for yes in [
            "u8", "s16", "b32", "f64", "bf16", "bf16x2", "u8x4", "pred", "b128",
        ] {
            assert!(is_type(yes), "{yes}");
        }
        for no in [
            "f4e", "b4e", "sat", "shiftamt", "ftz", "be", "x2", "", "b", "u33", "s16x3",
        ] {
            assert!(!is_type(no), "{no}");
        }
    }

    #[test]
    fn order_within_each_kind_stays() {
        assert_eq!(types_last(&["b32", "f4e"]), ["f4e", "b32"]);
        assert_eq!(
            types_last(&["eq", "u32", "and", "f16"]),
            ["eq", "and", "u32", "f16"]
        );
    }
}

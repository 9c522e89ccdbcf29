//! The order in which the integer tables are written.

use ptx::semantics::Modifier;

/// The modifiers with the types moved to the end.
///
/// The manual's grammar puts qualifiers before types, with few exceptions
/// (`prmt.b32.f4e`); its examples and `ptxas` also have them behind
/// (`min.s16x2.relu`). The tables are written in this one order.
pub(super) fn types_last(modifiers: &[Modifier]) -> Vec<Modifier> {
    let mut sorted = modifiers.to_vec();
    sorted.sort_by_key(|modifier| modifier.ty().is_some());
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::words::*;
    use ptx::semantics::Modifier::And;

    #[test]
    fn order_within_each_kind_stays() {
        assert_eq!(types_last(&[B32, F4e]), [F4e, B32]);
        assert_eq!(types_last(&[Eq, U32, And, F16]), [Eq, And, U32, F16]);
    }
}

//! Where an operand is.

/// Index of a row: a register slot, or with [`Slot::CONST`] set a row of the
/// constant pool of the same class. For predicates, [`Slot::NEGATED`] inverts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// Bit that marks the constant pool.
    pub const CONST: u32 = 1 << 31;
    /// Bit that inverts a predicate.
    pub const NEGATED: u32 = 1 << 30;
    /// No operand (`_`).
    pub const NONE: Slot = Slot(u32::MAX);
    /// The predicate that is true in all lanes.
    pub const TRUE: Slot = Slot(Slot::CONST);
    /// The predicate that is false in all lanes.
    pub const FALSE: Slot = Slot(Slot::CONST | Slot::NEGATED);

    /// A row of the constant pool.
    pub fn constant(index: usize) -> Slot {
        Slot(index as u32 | Slot::CONST)
    }
    /// The inverted predicate.
    pub fn inverted(self) -> Slot {
        Slot(self.0 ^ Slot::NEGATED)
    }
}

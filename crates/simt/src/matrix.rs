//! Matrices that the lanes of a warp hold together (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").
//!
//! An instruction on matrices becomes several operations: [`crate::op::WarpKind::Together`], at which all lanes of the warp meet, then
//! [`MatrixOp`]s that compute addresses or the product, and ordinary loads and stores. So what watches memory need not know of matrices.

pub mod descriptor;
mod fragment;
mod product;
#[cfg(test)]
mod tests;
pub mod warpgroup;

pub use fragment::{Arrangement, Fragment};
pub(crate) use product::Registers;
pub use product::{BitOperation, Held, Product};

use crate::ids::LANES;
use crate::op::Slot;
use ptx::semantics::Type;

/// Types of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    /// 32 bits of a row or column, side by side.
    Bits,
    S32,
}

impl Element {
    /// The element of a type modifier.
    pub fn of(ty: Type) -> Option<Element> {
        Some(match ty {
            Type::F16 => Element::F16,
            Type::Bf16 => Element::Bf16,
            Type::Tf32 => Element::Tf32,
            Type::F32 => Element::F32,
            Type::F64 => Element::F64,
            Type::E4m3 => Element::E4m3,
            Type::E5m2 => Element::E5m2,
            Type::S8 => Element::S8,
            Type::U8 => Element::U8,
            Type::S4 => Element::S4,
            Type::U4 => Element::U4,
            Type::B1 => Element::Bits,
            Type::S32 => Element::S32,
            _ => return None,
        })
    }

    /// Bits of an element.
    pub fn bits(self) -> u32 {
        match self {
            Element::S4 | Element::U4 => 4,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 | Element::F32 | Element::Bits | Element::S32 => 32,
            Element::F64 => 64,
        }
    }

    /// Elements of a register.
    pub fn parts(self) -> usize {
        (32 / self.bits()).max(1) as usize
    }
}

/// Operations on matrices.
#[derive(Clone, Debug)]
pub enum MatrixOp {
    /// `wmma.mma`, `mma`
    Product(Box<Product>),
    /// Where the lanes' elements of a matrix in memory lie.
    Place(Box<Place>),
    /// Where the lanes' parts of rows lie that other lanes name (`ldmatrix`, `stmatrix`).
    Gather(Box<Gather>),
    /// `movmatrix`
    Transpose {
        /// Destination (a W row).
        d: Slot,
        /// Source (a W row).
        s: Slot,
    },
}

/// Addresses from the start of a matrix.
#[derive(Clone, Debug)]
pub struct Place {
    /// The addresses.
    pub d: Slot,
    /// The matrix's address.
    pub base: Slot,
    /// Whether addresses are 64-bit rows.
    pub wide: bool,
    /// Elements from one row (or column) to the next (a W row).
    pub stride: Slot,
    /// For each lane, the row (or column), and the element of it.
    pub at: [(u16, u16); LANES],
    /// Bits of an element.
    pub bits: u32,
}

/// Addresses that other lanes name.
#[derive(Clone, Debug)]
pub struct Gather {
    /// The addresses.
    pub d: Slot,
    /// The addresses of rows.
    pub s: Slot,
    /// Whether addresses are 64-bit rows.
    pub wide: bool,
    /// For each lane, the lane that names its row, and how many bytes into it.
    pub at: [(u8, u8); LANES],
}

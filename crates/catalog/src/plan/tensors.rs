//! Tensor maps of a run.

use super::{PlanError, evaluate};
use crate::draw::Sizes;
use crate::tensor::{Swizzling, Tensor};
use crate::values::ElementType;
use session::expression::Expression;
use simt::tensor_map::{Arguments, Element, MapError, Swizzle, TensorMap};

/// A tensor with concrete sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTensor {
    /// Its name.
    pub name: String,
    /// The buffer, by its index.
    pub buffer: usize,
    element: ElementType,
    /// The innermost first, as all that follows.
    dims: Vec<u64>,
    pitch: u64,
    extent: Vec<u32>,
    swizzle: Swizzling,
}

/// With concrete sizes.
pub(super) fn planned(
    tensor: &Tensor,
    name: &str,
    (buffer, element): (usize, ElementType),
    sizes: &Sizes,
) -> Result<PlannedTensor, PlanError> {
    let number = |e: &Expression| {
        let what = format!("a size of the tensor `{name}`");
        let value = evaluate(&what, e, sizes)?;
        u64::try_from(value).map_err(|_| PlanError::Unusable {
            what,
            value,
            problem: "negative",
        })
    };
    let all = |sizes: &[Expression]| -> Result<Vec<u64>, PlanError> {
        sizes.iter().rev().map(number).collect()
    };
    let dims = all(&tensor.dims)?;
    let extent = all(&tensor.extent)?.into_iter();
    Ok(PlannedTensor {
        name: name.to_owned(),
        buffer,
        element,
        pitch: match &tensor.pitch {
            Some(pitch) => number(pitch)?,
            None => dims.first().copied().unwrap_or(0),
        },
        dims,
        extent: extent
            .map(|n| u32::try_from(n).unwrap_or(u32::MAX))
            .collect(),
        swizzle: tensor.swizzle,
    })
}

impl PlannedTensor {
    /// The map, where the buffer lies at this address.
    ///
    /// # Errors
    ///
    /// What CUDA would refuse.
    pub fn map(&self, address: u64) -> Result<TensorMap, MapError> {
        let element = match self.element {
            ElementType::I8 | ElementType::U8 => Element::U8,
            ElementType::I16 | ElementType::U16 => Element::U16,
            ElementType::I32 => Element::S32,
            ElementType::U32 => Element::U32,
            ElementType::I64 => Element::S64,
            ElementType::U64 => Element::U64,
            ElementType::F32 => Element::F32,
            ElementType::F64 => Element::F64,
        };
        let mut stride = self.pitch.saturating_mul(u64::from(element.bytes()));
        let mut strides = Vec::new();
        for size in self.dims.iter().skip(1) {
            strides.push(stride);
            stride = stride.saturating_mul(*size);
        }
        let swizzle = match self.swizzle {
            Swizzling::None => Swizzle::None,
            Swizzling::Bytes32 => Swizzle::Bytes32,
            Swizzling::Bytes64 => Swizzle::Bytes64,
            Swizzling::Bytes128 => Swizzle::Bytes128,
        };
        let arguments = Arguments {
            element: element as u32,
            rank: u32::try_from(self.dims.len()).unwrap_or(u32::MAX),
            address,
            dims: &self.dims,
            strides: &strides,
            steps: &vec![1; self.dims.len()],
            interleave: 0,
            swizzle: swizzle as u32,
            l2_promotion: 0,
            fill: 0,
        };
        TensorMap::tile(&arguments, &self.extent)
    }
}

//! Tensor maps of a case: what a kernel takes as a `const __grid_constant__ CUtensorMap`, made as `cuTensorMapEncodeTiled` makes it.
//!
//! ```yaml
//! tensors:
//!   map: {of: data, dims: [rows, columns], pitch: pitch, box: [8, 16], swizzle: 64B}
//! launches:
//!   - {entry: tiles, block: 128, args: [map]}
//! ```

use super::plan::{PlanError, evaluate};
use super::values::ElementType;
use crate::draw::Sizes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::expression::Expression;
use simt::tensor_map::{Arguments, Element, MapError, Swizzle, TensorMap};

/// A tensor in a buffer, and the boxes in which copies move it. Its name is an argument of launches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tensor {
    /// The buffer that it begins in; its elements are the tensor's.
    pub of: String,
    /// The number of elements along each dimension, the innermost last.
    pub dims: Vec<Expression>,
    /// Elements from the beginning of a row to that of the next; the default is the innermost dimension. It must be a multiple of 16 bytes.
    #[serde(default)]
    pub pitch: Option<Expression>,
    /// The number of elements of a box along each dimension, the innermost last.
    #[serde(rename = "box")]
    pub extent: Vec<Expression>,
    /// How rows lie in shared memory.
    #[serde(default)]
    pub swizzle: Swizzling,
}

/// The spans in which pieces of 16 bytes change places (`CUtensorMapSwizzle`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Swizzling {
    /// None.
    #[default]
    #[serde(rename = "none")]
    None,
    /// 32 bytes.
    #[serde(rename = "32B")]
    Bytes32,
    /// 64 bytes.
    #[serde(rename = "64B")]
    Bytes64,
    /// 128 bytes.
    #[serde(rename = "128B")]
    Bytes128,
}

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

impl Tensor {
    /// With concrete sizes.
    pub(super) fn planned(
        &self,
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
        let dims = all(&self.dims)?;
        let extent = all(&self.extent)?.into_iter();
        Ok(PlannedTensor {
            name: name.to_owned(),
            buffer,
            element,
            pitch: match &self.pitch {
                Some(pitch) => number(pitch)?,
                None => dims.first().copied().unwrap_or(0),
            },
            dims,
            extent: extent
                .map(|n| u32::try_from(n).unwrap_or(u32::MAX))
                .collect(),
            swizzle: self.swizzle,
        })
    }
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

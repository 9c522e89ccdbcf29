//! Tensor maps of a case: what a kernel takes as a `const __grid_constant__ CUtensorMap`, made as `cuTensorMapEncodeTiled` makes it.
//!
//! ```yaml
//! tensors:
//!   map: {of: data, dims: [rows, columns], pitch: pitch, box: [8, 16], swizzle: 64B}
//! launches:
//!   - {entry: tiles, block: 128, args: [map]}
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::expression::Expression;

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

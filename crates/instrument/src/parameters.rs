//! Where the parameters of a kernel lie.

use ptx::ast::*;

/// Where parameters begin, and their bytes (PTX ISA, "Kernel Function Parameters": each at its own alignment).
pub fn places(params: &[Variable]) -> (Vec<u32>, u32) {
    let mut end = 0u32;
    let place = |param: &Variable| {
        let align = param.align.unwrap_or(element_bytes(param)).max(1);
        let at = end.next_multiple_of(align);
        end = at + bytes_of(param);
        at
    };
    (params.iter().map(place).collect(), end)
}

/// Bytes of a parameter.
pub fn bytes_of(param: &Variable) -> u32 {
    let count = param.dims.iter().map(|d| d.unwrap_or(0)).product::<u64>() as u32;
    element_bytes(param) * count
}

fn element_bytes(param: &Variable) -> u32 {
    match param.ty {
        ScalarType::B8 | ScalarType::S8 | ScalarType::U8 => 1,
        ScalarType::B16 | ScalarType::S16 | ScalarType::U16 | ScalarType::F16 => 2,
        ScalarType::Bf16 => 2,
        ScalarType::B64 | ScalarType::S64 | ScalarType::U64 | ScalarType::F64 => 8,
        ScalarType::Texref | ScalarType::Samplerref | ScalarType::Surfref => 8,
        ScalarType::B128 => 16,
        _ => 4,
    }
}

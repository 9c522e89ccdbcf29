//! Constant integer expressions, and the sizes of types that they may ask for.

use super::CudaText;

impl CudaText {
    /// Value of a constant integer expression: literals, constants of this text, `+ - * / % << >>`,
    /// parentheses. `None` for anything else.
    pub fn evaluate(&self, expression: &str) -> Option<i64> {
        let mut parser = Constant {
            rest: expression.trim(),
            text: self,
            depth: 0,
        };
        let value = parser.sum()?;
        parser.rest.trim().is_empty().then_some(value)
    }
}

struct Constant<'a> {
    rest: &'a str,
    text: &'a CudaText,
    depth: u32,
}

impl Constant<'_> {
    fn take(&mut self, operator: &str) -> bool {
        let rest = self.rest.trim_start();
        let taken = rest.strip_prefix(operator);
        self.rest = taken.unwrap_or(rest);
        taken.is_some()
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            value = if self.take("+") {
                value.checked_add(self.product()?)?
            } else if self.take("-") {
                value.checked_sub(self.product()?)?
            } else if self.take("<<") {
                value.checked_shl(self.product()?.try_into().ok()?)?
            } else if self.take(">>") {
                value.checked_shr(self.product()?.try_into().ok()?)?
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        loop {
            value = if self.take("*") {
                value.checked_mul(self.atom()?)?
            } else if self.take("/") {
                value.checked_div(self.atom()?)?
            } else if self.take("%") {
                value.checked_rem(self.atom()?)?
            } else {
                return Some(value);
            }
        }
    }

    fn atom(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        if self.take("-") {
            return self.atom()?.checked_neg();
        }
        if self.take("(") {
            let value = self.sum()?;
            return self.take(")").then_some(value);
        }
        if self.take("sizeof") {
            let rest = self.rest.trim_start().strip_prefix('(')?;
            let (ty, rest) = rest.split_once(')')?;
            self.rest = rest;
            return scalar_bytes(ty).map(i64::from);
        }
        let rest = self.rest.trim_start();
        let length = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let (word, rest) = rest.split_at(length);
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
            return match digits
                .strip_prefix("0x")
                .or_else(|| digits.strip_prefix("0X"))
            {
                Some(hex) => i64::from_str_radix(hex, 16).ok(),
                None => digits.parse().ok(),
            };
        }
        let value = self.text.constants.get(word)?;
        let mut inner = Constant {
            rest: value,
            text: self.text,
            depth: self.depth,
        };
        let value = inner.sum()?;
        inner.rest.trim().is_empty().then_some(value)
    }
}

/// Bytes of a C++ or CUDA scalar or vector type by its name, qualifiers and all.
pub fn scalar_bytes(ty: &str) -> Option<u32> {
    let words: Vec<&str> = ty
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|w| !["const", "volatile", "std", "signed", "unsigned", ""].contains(w))
        .collect();
    let unsigned = ty.contains("signed");
    Some(match words.as_slice() {
        ["char" | "bool" | "int8_t" | "uint8_t" | "uchar"] => 1,
        ["short"] | ["short", "int"] | ["int16_t" | "uint16_t" | "ushort" | "__half" | "half"] => 2,
        ["__nv_bfloat16" | "nv_bfloat16"] => 2,
        ["int" | "float" | "int32_t" | "uint32_t" | "uint"] => 4,
        [] if unsigned => 4,
        ["long" | "double" | "int64_t" | "uint64_t" | "size_t" | "ptrdiff_t"] => 8,
        ["long", "long"] | ["long", "int"] | ["long", "long", "int"] => 8,
        ["int2" | "uint2" | "float2"] => 8,
        ["int3" | "uint3" | "float3"] => 12,
        ["int4" | "uint4" | "float4" | "double2" | "longlong2" | "ulonglong2"] => 16,
        _ => return None,
    })
}

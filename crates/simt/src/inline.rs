//! The commonest operations, which are compiled into the execution loop: their names, and how they are written. [`perform`] says how.

pub(crate) mod perform;

/// Hands all of them to a macro. Each one: name; opcode, modifiers and operands as written; classes of sources and destination; lane function.
macro_rules! inlined {
    ($macro:ident) => {
        $macro! {
            Mov32: Mov ["b32"], 2, w_w |a| a;
            Mov64: Mov ["b64"], 2, d_d |a| a;
            Add32: Add ["u32"], 3, ww_w u32::wrapping_add;
            Sub32: Sub ["u32"], 3, ww_w u32::wrapping_sub;
            Mul32: Mul ["lo", "u32"], 3, ww_w u32::wrapping_mul;
            Mad32: Mad ["lo", "u32"], 4, www_w |a, b, c| a.wrapping_mul(b).wrapping_add(c);
            And32: And ["b32"], 3, ww_w |a, b| a & b;
            Or32: Or ["b32"], 3, ww_w |a, b| a | b;
            Xor32: Xor ["b32"], 3, ww_w |a, b| a ^ b;
            Shl32: Shl ["b32"], 3, ww_w |a, b| if b < 32 { a << (b & 31) } else { 0 };
            ShrU32: Shr ["u32"], 3, ww_w |a, b| if b < 32 { a >> (b & 31) } else { 0 };
            ShrS32: Shr ["s32"], 3, ww_w |a, b| (a as i32 >> b.min(31)) as u32;
            MinU32: Min ["u32"], 3, ww_w |a, b| a.min(b);
            MaxU32: Max ["u32"], 3, ww_w |a, b| a.max(b);
            MinS32: Min ["s32"], 3, ww_w |a, b| (a as i32).min(b as i32) as u32;
            MaxS32: Max ["s32"], 3, ww_w |a, b| (a as i32).max(b as i32) as u32;
            Add64: Add ["u64"], 3, dd_d u64::wrapping_add;
            Sub64: Sub ["u64"], 3, dd_d u64::wrapping_sub;
            Shl64: Shl ["b64"], 3, dw_d |a, b| if b < 64 { a << (b & 63) } else { 0 };
            MulWideU: Mul ["wide", "u32"], 3, ww_d |a, b| a as u64 * b as u64;
            MulWideS: Mul ["wide", "s32"], 3, ww_d |a, b| (a as i32 as i64 * b as i32 as i64) as u64;
            MadWideU: Mad ["wide", "u32"], 4, wwd_d |a, b, c| (a as u64 * b as u64).wrapping_add(c);
            MadWideS: Mad ["wide", "s32"], 4, wwd_d |a, b, c| {
                (a as i32 as i64 * b as i32 as i64).wrapping_add(c as i64) as u64
            };
            ExtendU: Cvt ["u64", "u32"], 2, w_d |a| a as u64;
            ExtendS: Cvt ["s64", "s32"], 2, w_d |a| a as i32 as i64 as u64;
            AddF32: Add ["rn", "f32"], 3, ww_w |a, b| single(f(a) + f(b));
            SubF32: Sub ["rn", "f32"], 3, ww_w |a, b| single(f(a) - f(b));
            MulF32: Mul ["rn", "f32"], 3, ww_w |a, b| single(f(a) * f(b));
            AddF64: Add ["rn", "f64"], 3, dd_float |a, b| a + b;
            SubF64: Sub ["rn", "f64"], 3, dd_float |a, b| a - b;
            MulF64: Mul ["rn", "f64"], 3, dd_float |a, b| a * b;
            Select32: Selp ["b32"], 4, wwp_w |a, b, p| if p { a } else { b };
            Equal: Setp ["eq", "u32"], 3, ww_p |a, b| a == b;
            NotEqual: Setp ["ne", "u32"], 3, ww_p |a, b| a != b;
            LessU: Setp ["lt", "u32"], 3, ww_p |a, b| a < b;
            LessEqualU: Setp ["le", "u32"], 3, ww_p |a, b| a <= b;
            GreaterU: Setp ["gt", "u32"], 3, ww_p |a, b| a > b;
            GreaterEqualU: Setp ["ge", "u32"], 3, ww_p |a, b| a >= b;
            EqualS: Setp ["eq", "s32"], 3, ww_p |a, b| a == b;
            NotEqualS: Setp ["ne", "s32"], 3, ww_p |a, b| a != b;
            LessS: Setp ["lt", "s32"], 3, ww_p |a, b| (a as i32) < b as i32;
            LessEqualS: Setp ["le", "s32"], 3, ww_p |a, b| a as i32 <= b as i32;
            GreaterS: Setp ["gt", "s32"], 3, ww_p |a, b| a as i32 > b as i32;
            GreaterEqualS: Setp ["ge", "s32"], 3, ww_p |a, b| a as i32 >= b as i32;
        }
    };
}
pub(crate) use inlined;

macro_rules! names {
    ($($name:ident: $opcode:ident $modifiers:expr, $operands:literal, $shape:ident $f:expr;)*) => {
        /// An operation that the loop performs by itself.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Inline {
            /// None of these.
            #[default]
            No,
            $($name,)*
            /// `fma.rn.f32`, where the processor has it.
            FmaF32,
            /// `fma.rn.f64`, where the processor has it.
            FmaF64,
        }
    };
}

inlined!(names);

impl Inline {
    /// Whether it needs a processor with fused multiplication and addition.
    #[inline(always)]
    pub(crate) fn is_fused(self) -> bool {
        matches!(self, Inline::FmaF32 | Inline::FmaF64)
    }
}

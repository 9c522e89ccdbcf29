//! PTX ISA, "atom" and "red": each thread on a word of its own, in shared and in global memory.

use crate::conformance::build::Builder;
use crate::conformance::kind::{Kind, Width};
use crate::conformance::spec::expand;

/// One operation to try.
#[derive(Clone, Debug)]
pub struct Trial {
    opcode: &'static str,
    space: &'static str,
    operation: String,
}

/// Operations with their types, in spellings with alternatives.
const OPERATIONS: &[&str] = &[
    "add{.u32,.s32,.u64,.f32,.f64,.noftz.f16,.noftz.f16x2,.noftz.bf16,.noftz.bf16x2}",
    "{min,max}{.u32,.s32,.u64,.s64}",
    "{inc,dec}.u32",
    "{and,or,xor}{.b32,.b64}",
    "exch{.b32,.b64}",
    "cas{.b16,.b32,.b64}",
];

/// All of them.
pub fn trials() -> Vec<Trial> {
    let mut all = Vec::new();
    for opcode in ["atom", "red"] {
        for space in ["shared", "global"] {
            for operation in OPERATIONS.iter().flat_map(|p| expand(p)) {
                if opcode == "atom"
                    || !operation.starts_with("exch") && !operation.starts_with("cas")
                {
                    all.push(Trial {
                        opcode,
                        space,
                        operation,
                    });
                }
            }
        }
    }
    all
}

impl Trial {
    /// Writes the operation with what it needs: the word before is the first operand; the old value and the word
    /// after are results.
    pub fn write(&self, b: &mut Builder) {
        let types = self.operation.split('.').skip(1);
        let kind = types.filter_map(Kind::of).last().unwrap_or(Kind::Int(32));
        let width = kind.width();
        let ty = width.untyped();
        let values = [b.input(kind, 0), b.input(kind, 1), b.input(kind, 2)];
        let cas = self.operation.starts_with("cas");
        let used = if cas { 3 } else { 2 };
        let sources: Vec<_> = values[..used].iter().map(|v| v.source).collect();
        let spelling = format!("{}.{}.{}", self.opcode, self.space, self.operation);
        let what = if cas {
            format!("{}, {}", values[1].register, values[2].register)
        } else {
            values[1].register.clone()
        };
        let after = b.reserve(
            width,
            &format!("{spelling} (word after)"),
            "",
            sources.clone(),
        );
        let place = if self.space == "shared" {
            if b.variables.is_empty() {
                b.variables =
                    "    .shared .align 8 .b8 words[1024];\n    .reg .b32 %word;\n".to_owned();
                b.line("mov.u32 %t0, words;");
                b.line("mad.lo.u32 %word, %t2, 8, %t0;");
            }
            "[%word]".to_owned()
        } else {
            b.place(after)
        };
        b.line(&format!(
            "st.{}.{ty} {place}, {};",
            self.space, values[0].register
        ));
        let old = b.register(width);
        let text = if self.opcode == "atom" {
            format!("{spelling} {old}, {place}, {what};")
        } else {
            format!("{spelling} {place}, {what};")
        };
        b.line(&text);
        b.describe(after, &text);
        if self.space == "shared" {
            let word = b.register(width);
            b.line(&format!("ld.shared.{ty} {word}, {place};"));
            let to = b.place(after);
            b.line(&format!("st.global.{ty} {to}, {word};"));
        }
        if self.opcode == "atom" {
            b.store(
                &old,
                width,
                &format!("{spelling} (old value)"),
                &text,
                sources,
            );
        }
        debug_assert_ne!(width, Width::Pred);
    }
}

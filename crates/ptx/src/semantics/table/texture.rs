//! "Texture Instructions", "Surface Instructions". Both reach memory through a proxy of their own.

use super::super::Opcode::*;
use super::{Effect, Proxy, Row, Space, row};

pub(super) fn rows() -> Vec<Row> {
    let image = |opcode, spelling, operands, effect| {
        row(opcode, spelling, operands)
            .memory(effect)
            .space(Space::Texture)
            .proxy(Proxy::Texture)
    };
    vec![
        // "tex": d|p tells whether the memory is resident
        image(Tex, "tex", "=d|p, [a], e:o, f:o", Effect::Load),
        // "tld4"
        image(Tld4, "tld4", "=d|p, [a], e:o, f:o", Effect::Load),
        // "txq": asks about the texture, not its memory
        row(Txq, "txq", "=d, [a], lod:32"),
        // "istypep"
        row(Istypep, "istypep", "=p:p, a:o"),
        // "suld", "sust", "sured"
        image(Suld, "suld", "=d, [a]", Effect::Load),
        image(Sust, "sust", "[a], c", Effect::Store),
        image(Sured, "sured", "[a], c", Effect::Reduction),
        // "suq"
        row(Suq, "suq", "=d, [a]"),
    ]
}

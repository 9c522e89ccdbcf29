//! Values that change hands: through shared memory, and between the lanes of a warp.

use super::Writer;
use crate::conformance::kind::Width;

impl Writer<'_> {
    /// Values change hands through shared memory.
    pub(super) fn shared(&mut self) {
        let from = self.b.position();
        let wide = self.random.percent(30);
        let vector = self.random.percent(50);
        let (x, y) = (self.pick(Width::B32), self.pick(Width::B32));
        let d = self.pick(Width::B64);
        self.b.line("mov.u32 %from, words;");
        self.b.line("mad.lo.u32 %word, %t2, 8, %from;");
        match (wide, vector) {
            (true, _) => self
                .b
                .line(&format!("st.shared.b64 [%word], {};", d.register)),
            (_, true) => self.b.line(&format!(
                "st.shared.v2.b32 [%word], {{{}, {}}};",
                x.register, y.register
            )),
            _ => {
                self.b
                    .line(&format!("st.shared.b32 [%word], {};", x.register));
                self.b
                    .line(&format!("st.shared.b32 [%word+4], {};", y.register));
            }
        }
        self.b.line("bar.sync 0;");
        let by = self.random.below(128);
        if self.random.percent(50) {
            self.b.line(&format!("xor.b32 %from, %t2, {by};"));
        } else {
            self.b
                .line(&format!("mad.lo.u32 %from, %t2, {}, {by};", 2 * by + 1));
            self.b.line("and.b32 %from, %from, 127;");
        }
        self.b.line("mov.u32 %word, words;");
        self.b.line("mad.lo.u32 %word, %from, 8, %word;");
        let mut results = Vec::new();
        if self.random.percent(50) {
            let to = self.b.register(Width::B64);
            self.b.line(&format!("ld.shared.b64 {to}, [%word];"));
            results.push((to, Width::B64));
        } else {
            let (a, b) = (self.b.register(Width::B32), self.b.register(Width::B32));
            let ty = *self.random.choose(&["s8", "u8", "s16", "u16"]);
            self.b.line(&format!("ld.shared.b32 {a}, [%word];"));
            self.b.line(&format!(
                "ld.shared.{ty} {b}, [%word+{}];",
                2 * self.random.below(4)
            ));
            results.extend([(a, Width::B32), (b, Width::B32)]);
        }
        self.b.line("bar.sync 0;");
        let text = self.b.since(from);
        let sources = vec![x.source, y.source, d.source];
        for (register, width) in results {
            let value = self
                .b
                .store(&register, width, "shared memory", &text, sources.clone());
            self.pool.push(value);
        }
    }

    pub(super) fn warp(&mut self) {
        let a = self.pick(Width::B32);
        let p = self.pick(Width::Pred);
        let d = self.b.register(Width::B32);
        let mut sources = vec![a.source];
        let text = match self.random.below(6) {
            0 | 1 => {
                let mode = *self.random.choose(&["up", "down", "bfly", "idx"]);
                let from = self.pick(Width::B32);
                sources.push(from.source);
                let width = 1 << self.random.below(6);
                let clamp = (32 - width) << 8 | if mode == "up" { 0 } else { 31 };
                let from = match self.random.percent(50) {
                    true => from.register,
                    false => self.random.below(32).to_string(),
                };
                format!(
                    "shfl.sync.{mode}.b32 {d}, {}, {from}, {clamp:#x}, 0xffffffff;",
                    a.register
                )
            }
            2 => {
                sources = vec![p.source];
                format!("vote.sync.ballot.b32 {d}, {}, 0xffffffff;", p.register)
            }
            3 => format!("match.any.sync.b32 {d}, {}, 0xffffffff;", a.register),
            4 => {
                let ty = *self
                    .random
                    .choose(&["add.u32", "min.s32", "max.s32", "min.u32", "max.u32"]);
                format!("redux.sync.{ty} {d}, {}, 0xffffffff;", a.register)
            }
            _ => {
                let op = *self.random.choose(&["and", "or", "xor"]);
                format!("redux.sync.{op}.b32 {d}, {}, 0xffffffff;", a.register)
            }
        };
        self.b.line(&text);
        let spelling = text.split(' ').next().unwrap_or_default().to_owned();
        let value = self.b.store(&d, Width::B32, &spelling, &text, sources);
        self.pool.push(value);
    }

    /// Warp operations in both sides of a branch, by the lanes of each.
    pub(super) fn masked(&mut self) {
        let (p, a) = (self.pick(Width::Pred), self.pick(Width::B32));
        let q = self.pick(Width::Pred);
        let from = self.b.position();
        let (d, e) = (self.b.register(Width::B32), self.b.register(Width::B32));
        let (other, end) = (self.b.label(), self.b.label());
        let ty = *self
            .random
            .choose(&["add.u32", "min.s32", "max.u32", "xor.b32"]);
        self.b.line(&format!(
            "vote.sync.ballot.b32 %warp, {}, 0xffffffff;",
            p.register
        ));
        for line in [
            "and.b32 %word, %t2, 31;",
            "shr.b32 %word, %warp, %word;",
            "and.b32 %word, %word, 1;",
            "setp.ne.u32 %side, %word, 0;",
        ] {
            self.b.line(line);
        }
        self.b.line(&format!("@%side bra {other};"));
        self.b.line("not.b32 %warp, %warp;");
        self.b
            .line(&format!("redux.sync.{ty} {d}, {}, %warp;", a.register));
        self.b
            .line(&format!("match.any.sync.b32 {e}, {}, %warp;", a.register));
        self.b.line(&format!("bra {end};"));
        self.b.line(&format!("{other}:"));
        self.b
            .line(&format!("vote.sync.ballot.b32 {e}, {}, %warp;", q.register));
        self.b.line(&format!("redux.sync.{ty} {d}, {e}, %warp;"));
        self.b.line(&format!("{end}:"));
        let text = self.b.since(from);
        for register in [d, e] {
            let sources = vec![p.source, a.source, q.source];
            let value = self.b.store(
                &register,
                Width::B32,
                "warp operations in a branch",
                &text,
                sources,
            );
            self.pool.push(value);
        }
    }
}

//! Values of several words: local memory, carries, vectors.

use super::Writer;
use crate::conformance::build::Value;
use crate::conformance::kind::Width;

impl Writer<'_> {
    /// Values through an array in local memory, at places that depend on the lane.
    pub(super) fn local(&mut self) {
        let (i, j) = (self.pick(Width::B32), self.pick(Width::B32));
        let (x, y) = (self.pick(Width::B64), self.pick(Width::B64));
        let from = self.b.position();
        for n in 0..8 {
            self.b.line(&format!(
                "st.local.b64 [cells+{}], {};",
                8 * n,
                if n % 2 == 0 { &x } else { &y }.register
            ));
        }
        for (index, value) in [(&i, &x), (&j, &y)] {
            self.b
                .line(&format!("and.b32 %word, {}, 7;", index.register));
            self.b.line("mul.wide.u32 %cell, %word, 8;");
            self.b.line("add.u64 %cell, %cell, %cells;");
            self.b
                .line(&format!("st.local.b64 [%cell], {};", value.register));
        }
        let (d, low) = (self.b.register(Width::B64), self.b.register(Width::B32));
        self.b
            .line(&format!("xor.b32 %word, {}, {};", i.register, j.register));
        self.b.line("and.b32 %word, %word, 7;");
        self.b.line("mul.wide.u32 %cell, %word, 8;");
        self.b.line("add.u64 %cell, %cell, %cells;");
        self.b.line(&format!("ld.local.b64 {d}, [%cell];"));
        self.b.line(&format!("ld.local.s16 {low}, [%cell+2];"));
        let text = self.b.since(from);
        for (register, width) in [(d, Width::B64), (low, Width::B32)] {
            let sources = vec![i.source, j.source, x.source, y.source];
            let value = self
                .b
                .store(&register, width, "local memory", &text, sources);
            self.pool.push(value);
        }
    }

    pub(super) fn carry(&mut self) {
        let all: Vec<Value> = (0..4).map(|_| self.pick(Width::B32)).collect();
        let r: Vec<String> = (0..3).map(|_| self.b.register(Width::B32)).collect();
        let op = *self.random.choose(&["add", "sub"]);
        let from = self.b.position();
        self.b.line(&format!(
            "{op}.cc.u32 {}, {}, {};",
            r[0], all[0].register, all[1].register
        ));
        self.b.line(&format!(
            "{op}c.cc.u32 {}, {}, {};",
            r[1], all[2].register, all[3].register
        ));
        self.b
            .line(&format!("{op}c.u32 {}, {}, 0;", r[2], all[0].register));
        let text = self.b.since(from);
        for register in r {
            let sources = all.iter().map(|v| v.source).collect();
            let value = self
                .b
                .store(&register, Width::B32, "carries", &text, sources);
            self.pool.push(value);
        }
    }

    /// `mov` with vectors.
    pub(super) fn pack(&mut self) {
        let (x, y) = (self.pick(Width::B32), self.pick(Width::B32));
        let (h, d) = (self.pick(Width::B16), self.pick(Width::B64));
        let from = self.b.position();
        let (d1, r1) = (self.b.register(Width::B64), self.b.register(Width::B32));
        let (r2, r3) = (self.b.register(Width::B32), self.b.register(Width::B32));
        let (h1, h2) = (self.b.register(Width::B16), self.b.register(Width::B16));
        self.b.line(&format!(
            "mov.b64 {d1}, {{{}, {}}};",
            x.register, y.register
        ));
        self.b
            .line(&format!("mov.b32 {{{h1}, {h2}}}, {};", x.register));
        self.b
            .line(&format!("mov.b32 {r1}, {{{}, {h2}}};", h.register));
        self.b
            .line(&format!("mov.b64 {{{r2}, {r3}}}, {};", d.register));
        let text = self.b.since(from);
        let sources = vec![x.source, y.source, h.source, d.source];
        for (register, width) in [
            (d1, Width::B64),
            (r1, Width::B32),
            (h1, Width::B16),
            (r2, Width::B32),
            (r3, Width::B32),
        ] {
            let value = self
                .b
                .store(&register, width, "mov of vectors", &text, sources.clone());
            self.pool.push(value);
        }
    }
}

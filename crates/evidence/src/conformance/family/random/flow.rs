//! Branches and loops that lanes take apart.

use super::Writer;
use crate::conformance::build::{Source, Value};
use crate::conformance::kind::Width;

impl Writer<'_> {
    /// A few instructions that see what was there before and each other.
    fn block(&mut self, depth: u32) -> usize {
        let known = self.pool.len();
        for _ in 0..1 + self.random.below(3) {
            if depth < 2 && self.random.percent(20) {
                self.fork(depth + 1);
                continue;
            }
            let i = self.simple();
            let operands = self.operands(&i, true);
            let (text, register, width) = self.compose(&i, &operands);
            self.b.line(&text);
            self.doubts.note(&i.spelling, false, &operands, &register);
            self.settle(&i.spelling, &register);
            self.pool.push(Value {
                register,
                width,
                source: Source::Other,
            });
        }
        known
    }

    /// Two sides, and registers that both write. They are in the pool afterwards.
    fn fork(&mut self, depth: u32) -> Vec<Value> {
        let guard = self.pick(Width::Pred);
        let (other, end) = (self.b.label(), self.b.label());
        let mut merged = Vec::new();
        for width in [
            Width::B32,
            *self
                .random
                .clone()
                .choose(&[Width::B64, Width::B16, Width::Pred, Width::B32]),
        ] {
            let register = self.b.register(width);
            merged.push(Value {
                register,
                width,
                source: Source::Other,
            });
        }
        self.b.line(&format!("@{} bra {other};", guard.register));
        for side in 0..2 {
            let known = self.block(depth);
            for m in &merged {
                let from = self.pick(m.width);
                self.doubts.copy(&from.register, &m.register);
                self.b.line(&format!(
                    "mov.{} {}, {};",
                    m.width.untyped(),
                    m.register,
                    from.register
                ));
            }
            self.pool.truncate(known);
            if side == 0 {
                self.b.line(&format!("bra {end};"));
                self.b.line(&format!("{other}:"));
            }
        }
        self.b.line(&format!("{end}:"));
        self.pool.extend(merged.clone());
        merged
    }

    pub(super) fn branch(&mut self) {
        let sources: Vec<Source> = self.pool.iter().map(|v| v.source).collect();
        let from = self.b.position();
        let merged = self.fork(0);
        let text = self.b.since(from);
        self.pool.truncate(self.pool.len() - merged.len());
        for m in merged {
            let value = self
                .b
                .store(&m.register, m.width, "branch", &text, sources.clone());
            self.pool.push(value);
        }
    }

    pub(super) fn repeat(&mut self) {
        let count = self.pick(Width::B32);
        let start = self.pick(Width::B32);
        let sources: Vec<Source> = self.pool.iter().map(|v| v.source).collect();
        let from = self.b.position();
        let (n, sum, more, again) = (
            self.b.register(Width::B32),
            self.b.register(Width::B32),
            self.b.register(Width::Pred),
            self.b.label(),
        );
        self.b.line(&format!("and.b32 {n}, {}, 7;", count.register));
        self.b.line(&format!("mov.b32 {sum}, {};", start.register));
        self.b.line(&format!("{again}:"));
        let known = self.pool.len();
        let carried = Value {
            register: sum.clone(),
            width: Width::B32,
            source: Source::Other,
        };
        self.pool.extend([carried.clone(), carried]);
        self.block(1);
        let last = self.pick(Width::B32);
        self.b
            .line(&format!("xor.b32 {sum}, {sum}, {};", last.register));
        self.b
            .line(&format!("shf.l.wrap.b32 {sum}, {sum}, {sum}, 5;"));
        self.pool.truncate(known);
        self.b.line(&format!("setp.ne.u32 {more}, {n}, 0;"));
        self.b.line(&format!("sub.u32 {n}, {n}, 1;"));
        self.b.line(&format!("@{more} bra {again};"));
        let text = self.b.since(from);
        let value = self.b.store(&sum, Width::B32, "loop", &text, sources);
        self.pool.push(value);
    }
}

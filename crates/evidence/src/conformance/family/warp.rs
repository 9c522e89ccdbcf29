//! PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync", "activemask", and `bar.red`: with all lanes of a
//! warp, and with each half of them in a branch of its own.

use crate::conformance::build::{Builder, Source};
use crate::conformance::kind::{Kind, Width};
use crate::conformance::values::Random;

/// Which lanes take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    /// All of the warp.
    All,
    /// Those whose lane number has that bit, and apart from them those that don't.
    Halves(u32),
}

/// One operation to try.
#[derive(Clone, Debug)]
pub struct Trial {
    spelling: &'static str,
    among: Among,
    /// `c` of a shuffle, where it is the same for all.
    clamp: Option<u32>,
}

const SHUFFLES: [&str; 4] = [
    "shfl.sync.up.b32",
    "shfl.sync.down.b32",
    "shfl.sync.bfly.b32",
    "shfl.sync.idx.b32",
];

const OTHERS: [&str; 20] = [
    "vote.sync.all.pred",
    "vote.sync.any.pred",
    "vote.sync.uni.pred",
    "vote.sync.ballot.b32",
    "match.any.sync.b32",
    "match.any.sync.b64",
    "match.all.sync.b32",
    "match.all.sync.b64",
    "redux.sync.add.u32",
    "redux.sync.add.s32",
    "redux.sync.min.u32",
    "redux.sync.min.s32",
    "redux.sync.max.u32",
    "redux.sync.max.s32",
    "redux.sync.and.b32",
    "redux.sync.or.b32",
    "redux.sync.xor.b32",
    "elect.sync",
    "activemask.b32",
    "bar.red",
];

/// All of them.
pub fn trials() -> Vec<Trial> {
    let mut all = Vec::new();
    for spelling in SHUFFLES {
        for width in [32, 16, 8, 4, 2, 1] {
            let end = if spelling.contains("up") { 0 } else { 0x1f };
            let clamp = Some((32 - width) << 8 | end);
            all.push(Trial {
                spelling,
                among: Among::All,
                clamp,
            });
        }
        // Any clamp and segment mask, another for each lane.
        all.push(Trial {
            spelling,
            among: Among::All,
            clamp: None,
        });
    }
    for bit in 0..5 {
        for spelling in ["shfl.sync.bfly.b32", "shfl.sync.idx.b32"] {
            all.push(Trial {
                spelling,
                among: Among::Halves(bit),
                clamp: Some(0x1f),
            });
        }
    }
    for spelling in OTHERS {
        all.push(Trial {
            spelling,
            among: Among::All,
            clamp: None,
        });
        if !spelling.starts_with("bar") && !spelling.starts_with("activemask") {
            for bit in [0, 2, 4] {
                all.push(Trial {
                    spelling,
                    among: Among::Halves(bit),
                    clamp: None,
                });
            }
        }
    }
    all
}

/// The lanes whose number has a bit.
fn lanes_with(bit: u32) -> u32 {
    [
        0xaaaa_aaaa,
        0xcccc_cccc,
        0xf0f0_f0f0,
        0xff00_ff00,
        0xffff_0000,
    ][bit as usize]
}

impl Trial {
    /// Writes the operation with what it needs.
    pub fn write(&self, b: &mut Builder, random: &mut Random) {
        match self.among {
            Among::All => self.operation(b, 0xffff_ffff, random),
            Among::Halves(bit) => {
                let (lane, has) = (b.register(Width::B32), b.register(Width::Pred));
                let (other, end) = (b.label(), b.label());
                // What both branches use is loaded before.
                self.sources(b);
                b.line(&format!("mov.u32 {lane}, %laneid;"));
                b.line(&format!("and.b32 {lane}, {lane}, {};", 1 << bit));
                b.line(&format!("setp.eq.u32 {has}, {lane}, 0;"));
                let saved = random.clone();
                let results = self.results();
                let texts: Vec<_> = results.iter().map(|(w, _)| (b.register(*w), *w)).collect();
                b.line(&format!("@{has} bra {other};"));
                let text = self.text(b, &texts, lanes_with(bit), Some((bit, true)), random);
                b.line(&format!("bra {end};"));
                b.line(&format!("{other}:"));
                *random = saved;
                self.text(b, &texts, !lanes_with(bit), Some((bit, false)), random);
                b.line(&format!("{end}:"));
                self.store(b, &texts, &text, "in halves");
            }
        }
    }

    fn operation(&self, b: &mut Builder, mask: u32, random: &mut Random) {
        self.sources(b);
        let destinations: Vec<_> = self
            .results()
            .iter()
            .map(|(w, _)| (b.register(*w), *w))
            .collect();
        let text = self.text(b, &destinations, mask, None, random);
        self.store(b, &destinations, &text, "");
    }

    fn store(&self, b: &mut Builder, destinations: &[(String, Width)], text: &str, how: &str) {
        let sources = self.sources(b);
        for ((register, width), (_, what)) in destinations.iter().zip(self.results()) {
            let spelling = format!("{} {what} {how}", self.spelling);
            b.store(register, *width, spelling.trim(), text, sources.clone());
        }
    }

    /// Widths of the results, and what each is.
    fn results(&self) -> Vec<(Width, &'static str)> {
        match self.spelling {
            s if s.starts_with("shfl") || s.starts_with("elect") || s.starts_with("match.all") => {
                vec![(Width::B32, ""), (Width::Pred, "(predicate)")]
            }
            s if s.ends_with(".pred") => vec![(Width::Pred, "")],
            "bar.red" => vec![
                (Width::B32, "popc"),
                (Width::Pred, "and"),
                (Width::Pred, "or"),
            ],
            _ => vec![(Width::B32, "")],
        }
    }

    fn sources(&self, b: &mut Builder) -> Vec<Source> {
        let mut of = |kind, index| b.input(kind, index).source;
        match self.spelling {
            s if s.starts_with("shfl") => {
                vec![
                    of(Kind::Int(32), 0),
                    of(Kind::Position, 0),
                    of(Kind::Int(32), 1),
                ]
            }
            s if s.starts_with("vote") || s == "bar.red" => vec![of(Kind::Pred, 0)],
            s if s.contains("b64") => vec![of(Kind::Int(64), 0)],
            s if s.starts_with("elect") || s.starts_with("activemask") => vec![],
            _ => vec![of(Kind::Int(32), 0)],
        }
    }

    fn text(
        &self,
        b: &mut Builder,
        to: &[(String, Width)],
        mask: u32,
        half: Option<(u32, bool)>,
        random: &mut Random,
    ) -> String {
        let d = |n: usize| to[n].0.as_str();
        let text = match self.spelling {
            s if s.starts_with("shfl") => {
                let a = b.input(Kind::Int(32), 0).register;
                let from = self.shuffled_from(b, half, random);
                let clamp = match self.clamp {
                    Some(c) => format!("{c:#x}"),
                    None => b.input(Kind::Int(32), 1).register,
                };
                format!("{s} {}|{}, {a}, {from}, {clamp}, {mask:#x};", d(0), d(1))
            }
            s if s.starts_with("vote") => {
                let p = b.input(Kind::Pred, 0).register;
                let not = if random.percent(50) { "!" } else { "" };
                format!("{s} {}, {not}{p}, {mask:#x};", d(0))
            }
            s if s.starts_with("match") => {
                let wide = s.contains("b64");
                let (kind, width) = if wide {
                    (Kind::Int(64), Width::B64)
                } else {
                    (Kind::Int(32), Width::B32)
                };
                // Few values, so that some are equal; in some warps all of them.
                let (a, few) = (b.input(kind, 0).register, b.register(width));
                let bits = *random.choose(&[0, 1, 3, 5]);
                b.line(&format!("and.{} {few}, {a}, {bits};", width.untyped()));
                if s.contains("all") {
                    format!("{s} {}|{}, {few}, {mask:#x};", d(0), d(1))
                } else {
                    format!("{s} {}, {few}, {mask:#x};", d(0))
                }
            }
            "elect.sync" => format!("elect.sync {}|{}, {mask:#x};", d(0), d(1)),
            "activemask.b32" => format!("activemask.b32 {};", d(0)),
            "bar.red" => {
                let p = b.input(Kind::Pred, 0).register;
                b.line(&format!("bar.red.popc.u32 {}, 0, {p};", d(0)));
                b.line(&format!("bar.red.and.pred {}, 0, !{p};", d(1)));
                format!("bar.red.or.pred {}, 0, {p};", d(2))
            }
            s => {
                let a = b.input(Kind::Int(32), 0).register;
                format!("{s} {}, {a}, {mask:#x};", d(0))
            }
        };
        b.line(&text);
        text
    }

    /// `b` of a shuffle. In halves the source lane must be of the same half.
    fn shuffled_from(
        &self,
        b: &mut Builder,
        half: Option<(u32, bool)>,
        random: &mut Random,
    ) -> String {
        let Some((bit, has)) = half else {
            return b.input(Kind::Position, 0).register;
        };
        if self.spelling.contains("bfly") {
            return format!("{}", random.bits() as u32 & 31 & !(1 << bit));
        }
        let (any, from) = (b.input(Kind::Position, 0).register, b.register(Width::B32));
        b.line(&format!("and.b32 {from}, {any}, {};", 31 & !(1 << bit)));
        if has {
            b.line(&format!("or.b32 {from}, {from}, {};", 1 << bit));
        }
        from
    }
}

//! Arithmetic: rows in, rows out.

use super::Core;
use crate::alu::compare::write_set_pair;
use crate::alu::{AluOp, Mask, Row32, Row64};
use crate::hooks::Hooks;
use crate::ids::LANES;
use crate::op::*;
use crate::state::*;

impl<O: Hooks> Core<'_, O> {
    // Out of the execution loop, whose vector registers are for what is inlined there.
    #[inline(never)]
    pub(super) fn alu(
        &mut self,
        warp: &mut Warp,
        f: &AluOp,
        d: Slot,
        s: &[Slot; 5],
        active: Mask,
        dead: Mask,
    ) {
        use AluOp::*;
        let (cw, cd) = (self.const_w, self.const_d);
        let (t32, t64) = (&mut self.t32, &mut self.t64);
        let w = |k: usize| -> &Row32 { row(&warp.w, cw, s[k]) };
        let q = |k: usize| -> &Row64 { row(&warp.d, cd, s[k]) };
        let p = |k: usize| -> Mask { predicate(&warp.p, s[k]) };
        let d = d.0 as usize;
        macro_rules! to_w {
            ($call:expr) => {{
                $call;
                blend(&mut warp.w[d], t32, active, dead);
            }};
        }
        macro_rules! to_d {
            ($call:expr) => {{
                $call;
                blend(&mut warp.d[d], t64, active, dead);
            }};
        }
        macro_rules! to_p {
            ($call:expr) => {{
                let value = $call;
                blend_mask(&mut warp.p[d], value, active);
            }};
        }
        macro_rules! carrying {
            ($to:ident, $call:expr) => {{
                let carry;
                $to!(carry = $call);
                blend_mask(&mut warp.carry, carry, active);
            }};
        }
        let cc = warp.carry;
        match f {
            W_W(f) => to_w!(f(w(0), t32)),
            WW_W(f) => to_w!(f(w(0), w(1), t32)),
            WWW_W(f) => to_w!(f(w(0), w(1), w(2), t32)),
            WWWW_W(f) => to_w!(f(w(0), w(1), w(2), w(3), t32)),
            WWWWW_W(f) => to_w!(f(w(0), w(1), w(2), w(3), w(4), t32)),
            D_D(f) => to_d!(f(q(0), t64)),
            DD_D(f) => to_d!(f(q(0), q(1), t64)),
            DDD_D(f) => to_d!(f(q(0), q(1), q(2), t64)),
            W_D(f) => to_d!(f(w(0), t64)),
            D_W(f) => to_w!(f(q(0), t32)),
            WW_D(f) => to_d!(f(w(0), w(1), t64)),
            DD_W(f) => to_w!(f(q(0), q(1), t32)),
            WWD_D(f) => to_d!(f(w(0), w(1), q(2), t64)),
            DW_D(f) => to_d!(f(q(0), w(1), t64)),
            DWW_D(f) => to_d!(f(q(0), w(1), w(2), t64)),
            DDWW_D(f) => to_d!(f(q(0), q(1), w(2), w(3), t64)),
            DDW_D(f) => to_d!(f(q(0), q(1), w(2), t64)),
            WWD_W(f) => to_w!(f(w(0), w(1), q(2), t32)),
            // Decoded into operations of their own.
            WW_PP(_) | WWWWP_WP(_) => {}
            WW_P(f) => to_p!(f(w(0), w(1))),
            DD_P(f) => to_p!(f(q(0), q(1))),
            W_P(f) => to_p!(f(w(0))),
            D_P(f) => to_p!(f(q(0))),
            WWP_W(f) => to_w!(f(w(0), w(1), p(2), t32)),
            DDP_D(f) => to_d!(f(q(0), q(1), p(2), t64)),
            P_P(f) => to_p!(f(p(0))),
            PP_P(f) => to_p!(f(p(0), p(1))),
            WW_W_Carry(f) => carrying!(to_w, f(w(0), w(1), cc, t32)),
            DD_D_Carry(f) => carrying!(to_d, f(q(0), q(1), cc, t64)),
            WWW_W_Carry(f) => carrying!(to_w, f(w(0), w(1), w(2), cc, t32)),
            DDD_D_Carry(f) => carrying!(to_d, f(q(0), q(1), q(2), cc, t64)),
        }
    }

    /// Operations made of several rows.
    #[inline(never)]
    pub(super) fn compound(&mut self, warp: &mut Warp, op: &Op, active: Mask, dead: Mask) {
        match op {
            Op::Setp {
                f,
                p,
                q,
                s,
                combine,
            } => {
                let (holds, fails) = self.compare(warp, f, s);
                let (a, b) = (
                    combined(warp, *combine, holds),
                    combined(warp, *combine, fails),
                );
                if *p != Slot::NONE {
                    blend_mask(&mut warp.p[p.0 as usize], a, active);
                }
                if *q != Slot::NONE {
                    blend_mask(&mut warp.p[q.0 as usize], b, active);
                }
            }
            Op::Set {
                f,
                d,
                s,
                combine,
                truth,
            } => {
                let (lower, upper) = self.compare(warp, f, s);
                let upper = if matches!(f, AluOp::WW_PP(_)) {
                    upper
                } else {
                    lower
                };
                let (lower, upper) = (
                    combined(warp, *combine, lower),
                    combined(warp, *combine, upper),
                );
                write_set_pair(*truth, lower, upper, &mut self.t32);
                blend(&mut warp.w[d.0 as usize], &self.t32, active, dead);
            }
            Op::Cvta { d, a, add } => {
                let a = row(&warp.d, self.const_d, *a);
                for l in 0..LANES {
                    self.t64[l] = a[l].wrapping_add(*add);
                }
                blend(&mut warp.d[d.0 as usize], &self.t64, active, dead);
            }
            Op::IsSpace {
                p,
                a,
                wide,
                space,
                own,
            } => {
                let mut value = 0;
                for l in lanes_of(active) {
                    let address = if *wide {
                        row(&warp.d, self.const_d, *a)[l]
                    } else {
                        u64::from(row(&warp.w, self.const_w, *a)[l])
                    };
                    let far = *own && address >= crate::memory::SHARED_BASE + crate::memory::FAR;
                    value |= u32::from(super::memory::belongs(address, *space) && !far) << l;
                }
                if *p != Slot::NONE {
                    blend_mask(&mut warp.p[p.0 as usize], value, active);
                }
            }
            Op::Lop3Test { f, d, p, s } => {
                let w = |k: usize| row(&warp.w, self.const_w, s[k]);
                let value = f(
                    w(0),
                    w(1),
                    w(2),
                    w(3),
                    predicate(&warp.p, s[4]),
                    &mut self.t32,
                );
                blend(&mut warp.w[d.0 as usize], &self.t32, active, dead);
                if *p != Slot::NONE {
                    blend_mask(&mut warp.p[p.0 as usize], value, active);
                }
            }
            Op::Pack { d, s } => self.pack(warp, d, s, active, dead),
            _ => {}
        }
    }

    /// Whether a comparison holds, and whether its negation does (for packed types: whether it
    /// holds in the upper half), lane by lane.
    fn compare(&self, warp: &Warp, f: &AluOp, s: &[Slot; 2]) -> (Mask, Mask) {
        let w = |k: usize| row(&warp.w, self.const_w, s[k]);
        let d = |k: usize| row(&warp.d, self.const_d, s[k]);
        let holds = match f {
            AluOp::WW_P(f) => f(w(0), w(1)),
            AluOp::DD_P(f) => f(d(0), d(1)),
            AluOp::WW_PP(f) => return f(w(0), w(1)),
            _ => 0,
        };
        (holds, !holds)
    }

    /// Concatenates the sources' bits, lowest first, and cuts them into the destinations.
    fn pack(&mut self, warp: &mut Warp, d: &[Part], s: &[Part], active: Mask, dead: Mask) {
        // 128 bits at most, a word of all lanes after the other.
        let mut words = [[0; LANES]; 4];
        let mut at = 0;
        for part in s {
            let (word, shift, bits) = (at / 32 % 4, at as u32 % 32, u32::from(part.bits));
            match part.class {
                RegisterClass::W(_) => {
                    let from = row(&warp.w, self.const_w, part.slot);
                    let keep = u32::MAX >> (32 - bits.clamp(1, 32));
                    for l in 0..LANES {
                        words[word][l] |= (from[l] & keep) << shift;
                    }
                }
                _ => {
                    let from = row(&warp.d, self.const_d, part.slot);
                    let keep = u64::MAX >> (64 - bits.clamp(1, 64));
                    for l in 0..LANES {
                        let value = from[l] & keep;
                        words[word][l] |= (value as u32) << shift;
                        if bits > 32 {
                            words[(word + 1) % 4][l] |= (value >> 32) as u32;
                        }
                    }
                }
            }
            at += usize::from(part.bits);
        }
        at = 0;
        for part in d {
            let (word, shift, bits) = (at / 32 % 4, at as u32 % 32, u32::from(part.bits));
            at += usize::from(part.bits);
            if part.slot == Slot::NONE {
                continue;
            }
            let to = part.slot.0 as usize;
            let keep = u32::MAX >> (32 - bits.clamp(1, 32));
            let low: Row32 = std::array::from_fn(|l| words[word][l] >> shift & keep);
            match part.class {
                RegisterClass::W(_) => blend(&mut warp.w[to], &low, active, dead),
                _ => {
                    let high = if bits > 32 {
                        words[(word + 1) % 4]
                    } else {
                        [0; LANES]
                    };
                    for l in 0..LANES {
                        self.t64[l] = u64::from(low[l]) | u64::from(high[l]) << 32;
                    }
                    blend(&mut warp.d[to], &self.t64, active, dead);
                }
            }
        }
    }
}

/// The comparison's outcome with `.and c`, `.or c` or `.xor c` where written.
fn combined(warp: &Warp, combine: Option<(BoolOp, Slot)>, value: Mask) -> Mask {
    let Some((op, c)) = combine else {
        return value;
    };
    let c = predicate(&warp.p, c);
    match op {
        BoolOp::And => value & c,
        BoolOp::Or => value | c,
        BoolOp::Xor => value ^ c,
    }
}

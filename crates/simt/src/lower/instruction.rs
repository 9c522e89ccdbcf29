//! One instruction: which file decodes it, and arithmetic.

use super::Lowering;
use super::operand::{Decoded, literal_type, scalar_type};
use crate::alu::{self, AluOp};
use crate::op::*;
use ptx::ast::{Instruction, Operand, ScalarType};

impl<'m> Lowering<'m> {
    /// Decodes an instruction and appends it to the function at hand. What can't
    /// be decoded becomes [`Op::Unsupported`].
    pub(super) fn instruction(&mut self, i: &'m Instruction) {
        let text = self.text(i.span);
        self.site = self.new_site(i.span, text);
        self.guard = Slot::TRUE;
        let (code, jumps) = (self.code.len(), self.jumps.len());
        let decoded = self.guard_of(i).and_then(|guard| {
            self.guard = guard;
            self.decode(i)
        });
        if let Err(why) = decoded {
            self.program.sites[self.site.0 as usize].missing = Some(why);
            self.code.truncate(code);
            self.jumps.truncate(jumps);
            self.emit(Op::Unsupported);
        }
    }

    fn guard_of(&mut self, i: &Instruction) -> Decoded<Slot> {
        let Some(guard) = &i.guard else {
            return Ok(Slot::TRUE);
        };
        let name = Operand::Name(guard.register.clone(), None);
        match self.register(&name) {
            Some((slot, RegisterClass::P)) => {
                Ok(if guard.negated { slot.inverted() } else { slot })
            }
            _ => Err(String::from("a guard that is not a predicate")),
        }
    }

    fn decode(&mut self, i: &'m Instruction) -> Decoded<()> {
        match i.opcode.as_str() {
            "ld" | "ldu" | "st" => self.load_store(i),
            "atom" | "red" => self.atomic(i),
            "fence" | "membar" => self.fence(i),
            "bar" | "barrier" => self.barrier(i),
            "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => self.warp_operation(i),
            "bra" | "brx" => self.branch(i),
            "call" => self.call(i),
            "ret" => self.single(Op::Return),
            "exit" => self.single(Op::Exit),
            "trap" => self.single(Op::Trap),
            "nanosleep" | "brkpt" | "pmevent" => self.single(Op::Yield),
            "prefetch" | "prefetchu" | "applypriority" | "discard" | "setmaxnreg"
            | "griddepcontrol" => self.single(Op::Nop),
            "createpolicy" => {
                let d = self.operand(i, 0)?.clone();
                let (d, _) = self.destination(&d, RegisterClass::D)?;
                let zero = self.constants.d(0);
                self.emit(Op::Cvta { d, a: zero, add: 0 });
                Ok(())
            }
            "mov" => self.mov(i),
            "cvta" => self.cvta(i),
            "isspacep" => self.is_space(i),
            "alloca" => self.alloca(i),
            "setp" => self.setp(i),
            "set" => self.set(i),
            _ => self.arithmetic(i),
        }
    }

    fn single(&mut self, op: Op) -> Decoded<()> {
        self.emit(op);
        Ok(())
    }

    pub(super) fn operand<'i>(&self, i: &'i Instruction, index: usize) -> Decoded<&'i Operand> {
        i.operands
            .get(index)
            .ok_or_else(|| String::from("too few operands"))
    }

    fn lookup(&self, i: &Instruction) -> Decoded<AluOp> {
        let modifiers: Vec<&str> = i.modifiers.iter().map(String::as_str).collect();
        alu::lookup(&i.opcode, &modifiers, i.operands.len())
            .ok_or_else(|| String::from("not implemented"))
    }

    fn arithmetic(&mut self, i: &Instruction) -> Decoded<()> {
        let f = self.lookup(i)?;
        let (out, ins) = signature(&f);
        let ty = literal_type(&i.modifiers);
        let mut s = [Slot::NONE; 5];
        if let (AluOp::WWWWP_WP(f), Operand::Pair(d, p)) = (f, self.operand(i, 0)?) {
            return self.lop3_test(i, f, d, p);
        }
        let mut sources: Vec<&Operand> = i.operands.iter().skip(1).collect();
        if sources.len() != ins.len() {
            // `cvt.rs.satfinite.e4m3x4.f32 d, {a, b, e, f}, rbits`.
            sources = sources.into_iter().flat_map(elements).collect();
        }
        if sources.len() != ins.len() {
            return Err(String::from("an operand count that is not implemented"));
        }
        for (k, class) in ins.iter().enumerate() {
            s[k] = self.source(sources[k], *class, ty)?;
        }
        if let Some(extend) = self.sign_extension(i)? {
            let narrow = self.temporary(out);
            self.emit(Op::Alu { f, d: narrow, s });
            let mut s = [Slot::NONE; 5];
            s[0] = narrow;
            return self.finish(&i.operands[0], extend, s);
        }
        self.finish(&i.operands[0], f, s)
    }

    /// Appends an operation with its destination.
    fn finish(&mut self, destination: &Operand, f: AluOp, s: [Slot; 5]) -> Decoded<()> {
        let (d, after) = self.destination(destination, signature(&f).0)?;
        self.emit(Op::Alu { f, d, s });
        if let Some(after) = after {
            self.emit(after);
        }
        Ok(())
    }

    /// What brings the result of `cvt` to a destination register wider than its
    /// signed type (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
    fn sign_extension(&mut self, i: &Instruction) -> Decoded<Option<AluOp>> {
        if i.opcode != "cvt" || i.modifiers.iter().any(|m| m == "pack") {
            return Ok(None);
        }
        let result = i.modifiers.iter().find(|m| scalar_type(m).is_some());
        let (from, bits) = match result.map(String::as_str) {
            Some("s8") => ("s8", 8),
            Some("s16") => ("s16", 16),
            Some("s32") => ("s32", 32),
            _ => return Ok(None),
        };
        let to = match self.register(self.operand(i, 0)?) {
            Some((_, RegisterClass::W(16))) if bits < 16 => "s16",
            Some((_, RegisterClass::W(32))) if bits < 32 => "s32",
            Some((_, RegisterClass::D)) => "s64",
            _ => return Ok(None),
        };
        Ok(alu::lookup("cvt", &[to, from], 2))
    }

    /// `lop3.BoolOp.b32 d|p, a, b, c, immLut, q`.
    fn lop3_test(
        &mut self,
        i: &Instruction,
        f: alu::Lop3Test,
        d: &Operand,
        p: &Operand,
    ) -> Decoded<()> {
        let mut s = [Slot::NONE; 5];
        for (k, class) in [
            RegisterClass::W(32),
            RegisterClass::W(32),
            RegisterClass::W(32),
            RegisterClass::W(32),
            RegisterClass::P,
        ]
        .into_iter()
        .enumerate()
        {
            s[k] = self.source(self.operand(i, k + 1)?, class, ScalarType::B32)?;
        }
        let p = self.predicate(p)?;
        let (d, _) = self.destination(d, RegisterClass::W(32))?;
        self.emit(Op::Lop3Test { f, d, p, s });
        Ok(())
    }

    /// `setp.CmpOp{.BoolOp}{.ftz}.type p[|q], a, b{, {!}c}`.
    fn setp(&mut self, i: &Instruction) -> Decoded<()> {
        let f = self.lookup(i)?;
        let (_, ins) = signature(&f);
        let ty = literal_type(&i.modifiers);
        let a = self.source(self.operand(i, 1)?, ins[0], ty)?;
        let b = self.source(self.operand(i, 2)?, ins[1], ty)?;
        let (p, q) = match self.operand(i, 0)? {
            Operand::Pair(p, q) => (self.predicate(p)?, self.predicate(q)?),
            p => (self.predicate(p)?, Slot::NONE),
        };
        let combine = match (bool_op(i), i.operands.get(3)) {
            (Some(op), Some(c)) => Some((op, self.source(c, RegisterClass::P, ScalarType::Pred)?)),
            (None, None) => None,
            _ => return Err(String::from("a combination that is not implemented")),
        };
        if combine.is_none() && q == Slot::NONE && matches!(f, AluOp::WW_P(_) | AluOp::DD_P(_)) {
            self.emit(Op::Alu {
                f,
                d: p,
                s: [a, b, Slot::NONE, Slot::NONE, Slot::NONE],
            });
        } else {
            self.emit(Op::Setp {
                f,
                p,
                q,
                s: [a, b],
                combine,
            });
        }
        Ok(())
    }

    /// `set.CmpOp{.BoolOp}{.ftz}.dtype.stype d, a, b{, {!}c}`.
    fn set(&mut self, i: &Instruction) -> Decoded<()> {
        let modifiers: Vec<&str> = i.modifiers.iter().map(String::as_str).collect();
        let f = self.lookup(i)?;
        let truth = alu::compare::set_truth(&modifiers).ok_or("not implemented")?;
        let from = literal_type(&i.modifiers);
        let (_, ins) = signature(&f);
        let a = self.source(self.operand(i, 1)?, ins[0], from)?;
        let b = self.source(self.operand(i, 2)?, ins[1], from)?;
        let combine = match bool_op(i) {
            Some(op) => {
                let c = self.source(self.operand(i, 3)?, RegisterClass::P, ScalarType::Pred)?;
                Some((op, c))
            }
            None => None,
        };
        let (d, after) = self.destination(self.operand(i, 0)?, RegisterClass::W(32))?;
        self.emit(Op::Set {
            f,
            d,
            s: [a, b],
            combine,
            truth,
        });
        after.into_iter().for_each(|op| self.emit(op));
        Ok(())
    }

    /// A predicate destination, or none for `_`.
    pub(super) fn predicate(&mut self, operand: &Operand) -> Decoded<Slot> {
        match self.register(operand) {
            Some((slot, RegisterClass::P)) => Ok(slot),
            None if matches!(operand, Operand::Name(n, None) if n == "_") => Ok(Slot::NONE),
            _ => Err(String::from("a destination that is not a predicate")),
        }
    }

    /// `mov` of registers, immediates, addresses, special registers and vectors.
    fn mov(&mut self, i: &Instruction) -> Decoded<()> {
        let ty = literal_type(&i.modifiers);
        let class = self.type_class(ty)?;
        let (to, from) = (self.operand(i, 0)?, self.operand(i, 1)?);
        if let Operand::Name(name, component) = from
            && self.scopes.lookup(name).is_none()
            && let Some((which, wide)) = special(name, component.as_deref())
        {
            let has = if wide {
                RegisterClass::D
            } else {
                RegisterClass::W(32)
            };
            let (d, after) = self.destination(to, has)?;
            self.emit(Op::Special { which, d, wide });
            after.into_iter().for_each(|op| self.emit(op));
            return Ok(());
        }
        if matches!(to, Operand::Vector(_))
            || matches!(from, Operand::Vector(_))
            || class == RegisterClass::Q
        {
            let d = self.vector_or_register(to)?;
            let s = self.vector_or_register(from)?;
            self.emit(Op::Pack {
                d: d.into(),
                s: s.into(),
            });
            return Ok(());
        }
        let s = self.source(from, class, ty)?;
        let (d, after) = self.destination(to, class)?;
        let f = match class {
            RegisterClass::W(8) => return Err(String::from("mov of 8 bits")),
            _ => self.lookup(i)?,
        };
        self.emit(Op::Alu {
            f,
            d,
            s: [s, Slot::NONE, Slot::NONE, Slot::NONE, Slot::NONE],
        });
        after.into_iter().for_each(|op| self.emit(op));
        Ok(())
    }

    fn vector_or_register(&mut self, operand: &Operand) -> Decoded<Vec<Part>> {
        match operand {
            Operand::Vector(parts) => self.parts(parts),
            _ => match self.register(operand) {
                Some((slot, RegisterClass::Q)) => Ok(vec![
                    Part {
                        slot,
                        class: RegisterClass::D,
                        bits: 64,
                    },
                    Part {
                        slot: Slot(slot.0 + 1),
                        class: RegisterClass::D,
                        bits: 64,
                    },
                ]),
                Some(_) => self.parts(std::slice::from_ref(operand)),
                None => {
                    let slot = self.source(operand, RegisterClass::D, ScalarType::B64)?;
                    Ok(vec![Part {
                        slot,
                        class: RegisterClass::D,
                        bits: 64,
                    }])
                }
            },
        }
    }
}

use super::operand::special;

fn bool_op(i: &Instruction) -> Option<BoolOp> {
    i.modifiers.iter().find_map(|m| match m.as_str() {
        "and" => Some(BoolOp::And),
        "or" => Some(BoolOp::Or),
        "xor" => Some(BoolOp::Xor),
        _ => None,
    })
}

/// An operand, or the elements of a vector.
fn elements(operand: &Operand) -> Vec<&Operand> {
    match operand {
        Operand::Vector(parts) => parts.iter().collect(),
        _ => vec![operand],
    }
}

/// Classes of the result and of the sources of a table entry.
pub(crate) fn signature(f: &AluOp) -> (RegisterClass, &'static [RegisterClass]) {
    use AluOp::*;
    const W: RegisterClass = RegisterClass::W(32);
    const D: RegisterClass = RegisterClass::D;
    const P: RegisterClass = RegisterClass::P;
    match f {
        W_W(_) => (W, &[W]),
        WW_W(_) | WW_W_Carry(_) => (W, &[W, W]),
        WWW_W(_) | WWW_W_Carry(_) => (W, &[W, W, W]),
        WWWW_W(_) => (W, &[W, W, W, W]),
        WWWWW_W(_) => (W, &[W, W, W, W, W]),
        D_D(_) => (D, &[D]),
        DD_D(_) | DD_D_Carry(_) => (D, &[D, D]),
        DDD_D(_) | DDD_D_Carry(_) => (D, &[D, D, D]),
        W_D(_) => (D, &[W]),
        D_W(_) => (W, &[D]),
        WW_D(_) => (D, &[W, W]),
        DD_W(_) => (W, &[D, D]),
        WWD_D(_) => (D, &[W, W, D]),
        DW_D(_) => (D, &[D, W]),
        DWW_D(_) => (D, &[D, W, W]),
        DDWW_D(_) => (D, &[D, D, W, W]),
        DDW_D(_) => (D, &[D, D, W]),
        WWD_W(_) => (W, &[W, W, D]),
        WW_P(_) | WW_PP(_) => (P, &[W, W]),
        WWWWP_WP(_) => (W, &[W, W, W, W, P]),
        DD_P(_) => (P, &[D, D]),
        W_P(_) => (P, &[W]),
        D_P(_) => (P, &[D]),
        WWP_W(_) => (W, &[W, W, P]),
        DDP_D(_) => (D, &[D, D, P]),
        P_P(_) => (P, &[P]),
        PP_P(_) => (P, &[P, P]),
    }
}

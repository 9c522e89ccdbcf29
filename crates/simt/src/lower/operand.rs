//! Operands: registers, immediates, addresses and special registers.

use super::Lowering;
use super::scope::{Binding, class_of};
use super::symbols::{DYNAMIC_SHARED, literal_bits};
use crate::children::KERNEL_BASE;
use crate::ids::LANES;
use crate::memory::FUNCTION_BASE;
use crate::op::*;
use crate::program::{Program, Relocation};
use ptx::ast::{Operand, ScalarType};
use std::collections::HashMap;

/// What is decoded of an instruction, or why that can't be.
pub(super) type Decoded<T> = Result<T, Undecodable>;

/// What an instruction has that can't be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Undecodable {
    /// A form that is not implemented.
    #[error("{0}")]
    Form(&'static str),
    /// A selector of parts of a register.
    #[error("the selector `.{0}`")]
    Selector(String),
    /// A name that nothing declares.
    #[error("`{0}`, which is not declared")]
    Undeclared(String),
    /// A name of something that has no address here.
    #[error("the address of `{0}` in this place")]
    Address(String),
    /// A call of a function without a body.
    #[error("the function `{0}`, which this PTX does not define")]
    NoBody(String),
}

impl From<&'static str> for Undecodable {
    fn from(form: &'static str) -> Undecodable {
        Undecodable::Form(form)
    }
}

/// The constant pool while it grows.
#[derive(Default)]
pub(crate) struct Constants {
    w: Vec<u32>,
    d: Vec<u64>,
    w_index: HashMap<u32, usize>,
    d_index: HashMap<u64, usize>,
    relocations: Vec<Relocation>,
    dynamic_w: Vec<usize>,
    dynamic_d: Vec<usize>,
}

impl Constants {
    pub fn w(&mut self, value: u32) -> Slot {
        let w = &mut self.w;
        Slot::constant(*self.w_index.entry(value).or_insert_with(|| {
            w.push(value);
            w.len() - 1
        }))
    }

    pub fn d(&mut self, value: u64) -> Slot {
        let d = &mut self.d;
        Slot::constant(*self.d_index.entry(value).or_insert_with(|| {
            d.push(value);
            d.len() - 1
        }))
    }

    fn dynamic(&mut self, wide: bool, extra: i64) -> Slot {
        let value = i64::from(DYNAMIC_SHARED) + extra;
        if wide {
            self.d.push(value as u64);
            self.dynamic_d.push(self.d.len() - 1);
            Slot::constant(self.d.len() - 1)
        } else {
            self.w.push(value as u32);
            self.dynamic_w.push(self.w.len() - 1);
            Slot::constant(self.w.len() - 1)
        }
    }

    fn symbol(&mut self, symbol: usize, addend: i64) -> Slot {
        self.d.push(0);
        let row = self.d.len() - 1;
        self.relocations.push(Relocation {
            row,
            symbol,
            addend,
        });
        Slot::constant(row)
    }

    pub fn move_dynamic_shared(&mut self, start: u32) {
        for row in &self.dynamic_w {
            self.w[*row] = self.w[*row]
                .wrapping_sub(DYNAMIC_SHARED)
                .wrapping_add(start);
        }
        for row in &self.dynamic_d {
            self.d[*row] = self.d[*row]
                .wrapping_sub(u64::from(DYNAMIC_SHARED))
                .wrapping_add(u64::from(start));
        }
    }

    pub fn finish(&mut self, program: &mut Program) {
        program.const_w = self.w.iter().map(|v| [*v; 32]).collect();
        program.const_d = self.d.iter().map(|v| [*v; 32]).collect();
        program.relocations = std::mem::take(&mut self.relocations);
    }
}

impl Lowering<'_> {
    /// A fresh row.
    pub(super) fn temporary(&mut self, class: RegisterClass) -> Slot {
        self.scopes.rows(class, 1)
    }

    /// The elements of a vector: those of `{a, b}`, or of a register that is one (PTX ISA, "Vectors").
    pub(super) fn elements(&self, operand: &Operand) -> Option<Vec<Operand>> {
        match operand {
            Operand::Vector(parts) => Some(parts.clone()),
            Operand::Name(name, None) => match self.scopes.lookup(name)? {
                Binding::Register { elements, .. } if elements > 1 => {
                    let component = |c: &str| Operand::Name(name.clone(), Some(c.to_owned()));
                    let all = ["x", "y", "z", "w"].iter().take(elements as usize);
                    Some(all.map(|c| component(c)).collect())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The register that a name means.
    pub(super) fn register(&mut self, operand: &Operand) -> Option<(Slot, RegisterClass)> {
        let Operand::Name(name, component) = operand else {
            return None;
        };
        if name == "_" {
            return None;
        }
        match self.scopes.lookup(name)? {
            Binding::Register { slot, class, .. } => {
                let lane = match component.as_deref() {
                    None | Some("x" | "r") => 0,
                    Some("y" | "g") => 1,
                    Some("z" | "b") => 2,
                    Some("w" | "a") => 3,
                    Some(_) => return None,
                };
                let each = if class == RegisterClass::Q { 2 } else { 1 };
                Some((Slot(slot.0 + lane * each), class))
            }
            _ => None,
        }
    }

    /// A source operand as a row of the class asked for; literals are of type `ty`.
    pub(super) fn source(
        &mut self,
        operand: &Operand,
        class: RegisterClass,
        ty: ScalarType,
    ) -> Decoded<Slot> {
        if let Some((slot, has)) = self.register(operand) {
            return self.converted(slot, has, class);
        }
        if let Operand::Name(name, None) = operand
            && let Some(reserved) = self.reserved_shared(name)
        {
            return self.literal(&reserved, class, ty);
        }
        if let Operand::Name(name, component) = operand
            && let Some((which, wide)) = Special::named(name, component.as_deref())
        {
            let has = if wide {
                RegisterClass::D
            } else {
                RegisterClass::W(32)
            };
            let d = self.temporary(has);
            self.emit(Op::Special { which, d, wide });
            return self.converted(d, has, class);
        }
        match operand {
            Operand::Not(inner) => Ok(self.source(inner, class, ty)?.inverted()),
            // PTX ISA, "Predefined Constants".
            Operand::Name(name, None) if name == "WARP_SZ" => {
                self.literal(&Operand::Int(LANES as u64, false), class, ty)
            }
            Operand::Name(name, None) => self.address_constant(name, 0, class),
            Operand::Offset(name, offset) => self.address_constant(name, *offset, class),
            Operand::Vector(parts) => self.packed(parts, class),
            Operand::Expr(e) => match &**e {
                ptx::ast::Expr::Leaf(leaf) => {
                    let leaf = leaf.clone();
                    self.source(&leaf, class, ty)
                }
                _ => self.literal(operand, class, ty),
            },
            _ => self.literal(operand, class, ty),
        }
    }

    fn literal(
        &mut self,
        operand: &Operand,
        class: RegisterClass,
        ty: ScalarType,
    ) -> Decoded<Slot> {
        // Narrow and packed floating types take their bits as integers.
        let bits = literal_bits(operand, ty)
            .ok_or(Undecodable::Form("an operand that is not implemented"))?;
        match class {
            RegisterClass::W(_) => Ok(self.constants.w(bits as u32)),
            RegisterClass::D => Ok(self.constants.d(bits)),
            RegisterClass::P => Ok(if bits != 0 { Slot::TRUE } else { Slot::FALSE }),
            RegisterClass::Q => Err("a 128-bit literal".into()),
        }
    }

    /// A row in the class asked for: as it is, or truncated or zero-extended into a temporary
    /// (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
    fn converted(&mut self, slot: Slot, has: RegisterClass, want: RegisterClass) -> Decoded<Slot> {
        match (has, want) {
            (RegisterClass::W(_), RegisterClass::W(_))
            | (RegisterClass::D, RegisterClass::D)
            | (RegisterClass::P, RegisterClass::P)
            | (RegisterClass::Q, RegisterClass::Q) => Ok(slot),
            (RegisterClass::D, RegisterClass::W(_)) => {
                let d = self.temporary(RegisterClass::W(32));
                self.emit(Op::Pack {
                    d: [
                        Part {
                            slot: d,
                            class: RegisterClass::W(32),
                            bits: 32,
                        },
                        Part {
                            slot: Slot::NONE,
                            class: RegisterClass::W(32),
                            bits: 32,
                        },
                    ]
                    .into(),
                    s: [Part {
                        slot,
                        class: RegisterClass::D,
                        bits: 64,
                    }]
                    .into(),
                });
                Ok(d)
            }
            (RegisterClass::W(_), RegisterClass::D) => {
                let d = self.temporary(RegisterClass::D);
                let zero = self.constants.w(0);
                self.emit(Op::Pack {
                    d: [Part {
                        slot: d,
                        class: RegisterClass::D,
                        bits: 64,
                    }]
                    .into(),
                    s: [
                        Part {
                            slot,
                            class: RegisterClass::W(32),
                            bits: 32,
                        },
                        Part {
                            slot: zero,
                            class: RegisterClass::W(32),
                            bits: 32,
                        },
                    ]
                    .into(),
                });
                Ok(d)
            }
            _ => Err("a register of the wrong kind".into()),
        }
    }

    fn packed(&mut self, parts: &[Operand], class: RegisterClass) -> Decoded<Slot> {
        let s = self.parts(parts)?;
        let d = self.temporary(class);
        let bits = if class == RegisterClass::D { 64 } else { 32 };
        self.emit(Op::Pack {
            d: [Part {
                slot: d,
                class,
                bits,
            }]
            .into(),
            s: s.into(),
        });
        Ok(d)
    }

    /// The registers of a vector, with the bits each contributes.
    pub(super) fn parts(&mut self, parts: &[Operand]) -> Decoded<Vec<Part>> {
        let width = parts
            .iter()
            .find_map(|p| self.register(p).map(|(_, c)| c))
            .unwrap_or(RegisterClass::W(32));
        parts
            .iter()
            .map(|p| {
                let (slot, class) = match self.register(p) {
                    Some(found) => found,
                    None if matches!(p, Operand::Name(n, None) if n == "_") => (Slot::NONE, width),
                    None => (self.source(p, width, ScalarType::B64)?, width),
                };
                let bits = match class {
                    RegisterClass::W(bits) => bits,
                    RegisterClass::D => 64,
                    RegisterClass::Q | RegisterClass::P => {
                        return Err("a vector of this type".into());
                    }
                };
                Ok(Part { slot, class, bits })
            })
            .collect()
    }

    /// The address of a variable or function.
    pub(super) fn address_constant(
        &mut self,
        name: &str,
        offset: i64,
        class: RegisterClass,
    ) -> Decoded<Slot> {
        let wide = class == RegisterClass::D;
        if wide
            && self.scopes.lookup(name).is_none()
            && let Some(index) = self.kernel_index(name)
        {
            return Ok(self.constants.d(KERNEL_BASE + index as u64));
        }
        let binding = self
            .binding(name)
            .ok_or_else(|| Undecodable::Undeclared(name.to_owned()))?;
        match binding {
            Binding::Shared(DYNAMIC_SHARED) => Ok(self.constants.dynamic(wide, offset)),
            Binding::Shared(at) => Ok(self.number(i64::from(at) + offset, wide)),
            Binding::Global { index, .. } if wide => Ok(self.constants.symbol(index, offset)),
            Binding::Function(index) if wide => Ok(self.constants.d(FUNCTION_BASE + index as u64)),
            Binding::EntryParam(at) => Ok(self.number(i64::from(at) + offset, wide)),
            Binding::Frame { offset: at, .. } => {
                let d = self.temporary(class);
                self.emit(Op::FrameAddress {
                    d,
                    wide,
                    offset: (i64::from(at) + offset) as u32,
                });
                Ok(d)
            }
            _ => Err(Undecodable::Address(name.to_owned())),
        }
    }

    fn number(&mut self, value: i64, wide: bool) -> Slot {
        if wide {
            self.constants.d(value as u64)
        } else {
            self.constants.w(value as u32)
        }
    }

    /// A destination row of the class asked for, with what has to be emitted
    /// behind the operation when the register is of another class.
    pub(super) fn destination(
        &mut self,
        operand: &Operand,
        class: RegisterClass,
    ) -> Decoded<(Slot, Option<Op>)> {
        if matches!(operand, Operand::Name(n, None) if n == "_") {
            return Ok((self.temporary(class), None));
        }
        if let Operand::Vector(parts) = operand {
            let d = self.parts(parts)?;
            let slot = self.temporary(class);
            let bits = if class == RegisterClass::D { 64 } else { 32 };
            let s = [Part { slot, class, bits }];
            return Ok((
                slot,
                Some(Op::Pack {
                    d: d.into(),
                    s: s.into(),
                }),
            ));
        }
        let (slot, has) = self
            .register(operand)
            .ok_or("a destination that is not a register")?;
        match (has, class) {
            (RegisterClass::W(_), RegisterClass::W(_))
            | (RegisterClass::D, RegisterClass::D)
            | (RegisterClass::P, RegisterClass::P)
            | (RegisterClass::Q, RegisterClass::Q) => Ok((slot, None)),
            (RegisterClass::D, RegisterClass::W(_)) => {
                let t = self.temporary(class);
                let zero = self.constants.w(0);
                let low = Part {
                    slot: t,
                    class: RegisterClass::W(32),
                    bits: 32,
                };
                let high = Part {
                    slot: zero,
                    class: RegisterClass::W(32),
                    bits: 32,
                };
                let d = Part {
                    slot,
                    class: RegisterClass::D,
                    bits: 64,
                };
                Ok((
                    t,
                    Some(Op::Pack {
                        d: [d].into(),
                        s: [low, high].into(),
                    }),
                ))
            }
            _ => Err("a destination of the wrong kind".into()),
        }
    }

    /// Class of a type modifier.
    pub(super) fn type_class(&self, ty: ScalarType) -> Decoded<RegisterClass> {
        class_of(ty).ok_or(Undecodable::Form("an opaque type"))
    }
}

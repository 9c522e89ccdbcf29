//! Variables: where they lie (PTX ISA, "State Spaces").

use super::scope::{Binding, bytes_of, class_of, variable_align, variable_bytes};
use super::{LowerError, Lowering};
use crate::op::{Base, Carried};
use crate::program::{GlobalVariable, ParamInfo, SharedVariable, Target};
use ptx::ast::{
    Expr, Function, Initializer, Item, Linkage, Operand, ScalarType, StateSpace, Variable,
};
use ptx::semantics::{ReservedShared, Special};

/// Parameters of a kernel with their offsets in the parameter block.
fn placed(params: &[Variable]) -> impl Iterator<Item = (&Variable, u32)> {
    let mut end = 0u32;
    params.iter().map(move |v| {
        let offset = end.next_multiple_of(variable_align(v));
        end = offset + variable_bytes(v) as u32;
        (v, offset)
    })
}

/// Bytes of a kernel's parameter block.
pub(super) fn parameter_bytes(function: &Function) -> u32 {
    let last = placed(&function.params).last();
    last.map_or(0, |(v, offset)| offset + variable_bytes(v) as u32)
}

/// Largest frame of a function, bytes (CUDA C++ Programming Guide, "Compute
/// Capabilities": local memory per thread is 512 KB).
const FRAME_LIMIT: u64 = 512 << 10;

impl<'m> Lowering<'m> {
    pub(super) fn module_variables(&mut self) -> Result<(), LowerError> {
        let module = self.module;
        let variables = module.items.iter().filter_map(|item| match item {
            Item::Variable(v) => Some(v),
            _ => None,
        });
        for v in variables.clone() {
            match v.space {
                StateSpace::Global | StateSpace::Const => self.global_variable(v)?,
                StateSpace::Shared => {
                    self.module_shared.insert(&v.name, (v, None));
                }
                _ => {}
            }
        }
        // Initialisers may name variables that come later.
        for v in variables {
            if let (Some(Binding::Global { index, .. }), Some(init)) =
                (self.scopes.lookup(&v.name), &v.init)
            {
                self.initialise(index, v, init)?;
            }
        }
        Ok(())
    }

    fn global_variable(&mut self, v: &Variable) -> Result<(), LowerError> {
        let index = self.program.globals.len();
        let constant = v.space == StateSpace::Const;
        let mut bytes = variable_bytes(v);
        if bytes == 0 {
            bytes = initialiser_bytes(v);
        }
        if bytes > 1 << 32 {
            return Err(self.declaration(v, format!("`{}` is larger than 4 GiB", v.name)));
        }
        self.program.globals.push(GlobalVariable {
            name: v.name.clone(),
            bytes,
            align: variable_align(v),
            constant,
            init: Vec::new(),
            addresses: Vec::new(),
        });
        self.scopes
            .bind(&v.name, Binding::Global { index, constant });
        Ok(())
    }

    fn declaration(&self, v: &Variable, what: String) -> LowerError {
        LowerError::Declaration {
            line: self.line(v.span),
            what,
        }
    }

    fn initialise(
        &mut self,
        index: usize,
        v: &'m Variable,
        init: &'m Initializer,
    ) -> Result<(), LowerError> {
        let mut bytes = vec![0u8; self.program.globals[index].bytes as usize];
        let mut addresses = Vec::new();
        let mut at = 0usize;
        self.initial_values(v, init, &mut at, &mut bytes, &mut addresses)?;
        let global = &mut self.program.globals[index];
        global.init = bytes;
        global.addresses = addresses;
        Ok(())
    }

    fn initial_values(
        &mut self,
        v: &'m Variable,
        init: &'m Initializer,
        at: &mut usize,
        bytes: &mut [u8],
        addresses: &mut Vec<(u64, Target, i64)>,
    ) -> Result<(), LowerError> {
        match init {
            Initializer::List(list) => list
                .iter()
                .try_for_each(|i| self.initial_values(v, i, at, bytes, addresses)),
            Initializer::Field(..) => Ok(()),
            Initializer::Value(value) => {
                let size = bytes_of(v.ty) as usize;
                if let Some((name, addend)) = address_of(value) {
                    let target = self.address_target(name).ok_or_else(|| {
                        self.declaration(
                            v,
                            format!(
                                "`{name}` in the initialiser of `{}` is not a variable",
                                v.name
                            ),
                        )
                    })?;
                    addresses.push((*at as u64, target, addend));
                } else {
                    let bits = literal_bits(value, v.ty).ok_or_else(|| {
                        self.declaration(
                            v,
                            format!("racetrap can't evaluate the initialiser of `{}`", v.name),
                        )
                    })?;
                    let place =
                        bytes
                            .get_mut(*at..*at + size)
                            .ok_or_else(|| LowerError::Declaration {
                                line: 0,
                                what: format!(
                                    "the initialiser of `{}` is longer than the variable",
                                    v.name
                                ),
                            })?;
                    place.copy_from_slice(&bits.to_le_bytes()[..size]);
                }
                *at += size;
                Ok(())
            }
        }
    }

    fn address_target(&mut self, name: &str) -> Option<Target> {
        match self.scopes.lookup(name) {
            Some(Binding::Global { index, .. }) => Some(Target::Variable(index)),
            _ => {
                let function = self.definition(name)?;
                Some(Target::Function(self.named_function(function)))
            }
        }
    }

    /// What a name means, laying out module-scope shared variables when they are first used.
    pub(super) fn binding(&mut self, name: &str) -> Option<Binding> {
        if let Some(found) = self.scopes.lookup(name) {
            return Some(found);
        }
        if let Some((v, offset)) = self.module_shared.get(name).copied() {
            let offset = match offset {
                Some(offset) => offset,
                None => {
                    let offset = self.shared_variable(v);
                    self.module_shared.get_mut(name)?.1 = Some(offset);
                    offset
                }
            };
            return Some(Binding::Shared(offset));
        }
        let function = self.definition(name)?;
        Some(Binding::Function(self.function_index(function)))
    }

    /// Offset of a new shared variable. Dynamic ones (`.extern … []`) all start
    /// behind the static ones, whose end is not known yet: they get an offset in
    /// the upper half of the 32-bit range that [`Self::place_dynamic_shared`] moves.
    fn shared_variable(&mut self, v: &Variable) -> u32 {
        // More than any GPU has; a launch refuses it, and dynamic variables' offsets are beyond.
        const MOST: u32 = 1 << 30;
        let bytes = variable_bytes(v).min(u64::from(MOST)) as u32;
        let align = variable_align(v);
        if v.linkage == Some(Linkage::Extern) || bytes == 0 {
            self.dynamic_shared.push((v.name.clone(), align));
            return DYNAMIC_SHARED;
        }
        let offset = self.program.shared_bytes.next_multiple_of(align).min(MOST);
        self.program.shared_bytes = (offset + bytes).min(MOST);
        self.program.shared.push(SharedVariable {
            name: v.name.clone(),
            offset,
            bytes: Some(bytes),
        });
        offset
    }

    /// What a special register says of the shared memory that the system reserves, as a literal. It lies among the static variables; a kernel
    /// that does not ask has none. Each use of it has half.
    pub(super) fn reserved_shared(&mut self, name: &str) -> Option<Operand> {
        const BYTES: u32 = 1 << 10;
        let Some((Special::ReservedShared(which), _)) = Special::named(name, None) else {
            return None;
        };
        if self.scopes.lookup(name).is_some() {
            return None;
        }
        let begin = match self.reserved_shared {
            Some(begin) => begin,
            None => {
                let offset = self.program.shared_bytes.next_multiple_of(16);
                self.program.shared_bytes = offset + BYTES;
                self.program.shared.push(SharedVariable {
                    name: "reserved_shared_memory".to_owned(),
                    offset,
                    bytes: Some(BYTES),
                });
                self.program.reserved_shared = offset.into()..(offset + BYTES).into();
                *self.reserved_shared.insert(offset)
            }
        };
        let value = match which {
            ReservedShared::Begin => begin,
            ReservedShared::End => begin + BYTES,
            ReservedShared::Size => BYTES,
            ReservedShared::Use(n) => begin + u32::from(n.min(1)) * (BYTES / 2),
        };
        Some(Operand::Int(u64::from(value), true))
    }

    /// Puts dynamic shared memory behind the static one.
    pub(super) fn place_dynamic_shared(&mut self) {
        let align = self
            .dynamic_shared
            .iter()
            .map(|(_, a)| *a)
            .max()
            .unwrap_or(1);
        let start = self.program.shared_bytes.next_multiple_of(align);
        self.program.shared_bytes = start;
        for (name, _) in std::mem::take(&mut self.dynamic_shared) {
            self.program.shared.push(SharedVariable {
                name,
                offset: start,
                bytes: None,
            });
        }
        self.constants.move_dynamic_shared(start);
        for op in &mut self.program.memory_ops {
            move_dynamic_shared(&mut op.offset, op.base, start);
        }
        for op in &mut self.program.atomic_ops {
            move_dynamic_shared(&mut op.offset, op.base, start);
        }
    }

    pub(super) fn parameters(&mut self, function: &'m Function) -> Result<(), LowerError> {
        if self.function == 0 {
            return self.kernel_parameters(function);
        }
        let (mut results, mut params) = (Vec::new(), Vec::new());
        for v in &function.returns {
            self.carried(v, &mut results)?;
        }
        for v in &function.params {
            self.carried(v, &mut params)?;
        }
        let info = &mut self.program.functions[self.function];
        info.results = results;
        info.params = params;
        Ok(())
    }

    /// What a parameter or result is to a call: of a vector, one register after the other.
    fn carried(&mut self, v: &'m Variable, to: &mut Vec<Carried>) -> Result<(), LowerError> {
        if v.space == StateSpace::Reg {
            self.scopes.registers(v);
            let name = Operand::Name(v.name.clone(), None);
            let parts = self.elements(&name).unwrap_or_else(|| vec![name]);
            let registers = parts.iter().map(|part| self.register(part));
            if let Some(all) = registers.collect::<Option<Vec<_>>>() {
                let all = all.into_iter();
                to.extend(all.map(|(slot, class)| Carried::Register(slot, class)));
                return Ok(());
            }
        }
        to.push(self.frame_variable(v, true)?);
        Ok(())
    }

    fn kernel_parameters(&mut self, function: &'m Function) -> Result<(), LowerError> {
        for (v, offset) in placed(&function.params) {
            let (bytes, align) = (variable_bytes(v) as u32, variable_align(v));
            self.scopes.bind(&v.name, Binding::EntryParam(offset));
            self.program.params.push(ParamInfo {
                name: v.name.clone(),
                ty: v.ty,
                count: v.dims.iter().map(|d| d.unwrap_or(0)).product(),
                offset,
                bytes,
                align,
                declared_pointer: v.pointer.is_some(),
            });
        }
        self.program.param_bytes = parameter_bytes(function);
        Ok(())
    }

    pub(super) fn local_variable(&mut self, v: &'m Variable) -> Result<(), LowerError> {
        match v.space {
            StateSpace::Reg => {
                if class_of(v.ty).is_none() {
                    return Err(self.declaration(
                        v,
                        format!("racetrap has no registers of the type of `{}`", v.name),
                    ));
                }
                self.scopes.registers(v);
            }
            StateSpace::Shared => {
                let offset = self.shared_variable(v);
                self.scopes.bind(&v.name, Binding::Shared(offset));
            }
            StateSpace::Local => {
                self.frame_variable(v, false)?;
            }
            StateSpace::Param => {
                self.frame_variable(v, true)?;
            }
            StateSpace::Global | StateSpace::Const => {
                self.global_variable(v)?;
                if let (Some(Binding::Global { index, .. }), Some(init)) =
                    (self.scopes.lookup(&v.name), &v.init)
                {
                    self.initialise(index, v, init)?;
                }
            }
            StateSpace::Sreg | StateSpace::Tex => {}
        }
        Ok(())
    }

    fn frame_variable(&mut self, v: &Variable, param: bool) -> Result<Carried, LowerError> {
        let bytes = variable_bytes(v);
        let frame = &mut self.program.functions[self.function].frame;
        let offset = frame.next_multiple_of(variable_align(v));
        if u64::from(offset) + bytes > FRAME_LIMIT {
            return Err(self.declaration(
                v,
                format!("`{}` does not fit into 512 KiB of local memory", v.name),
            ));
        }
        let bytes = bytes as u32;
        *frame = offset + bytes;
        self.scopes.bind(
            &v.name,
            Binding::Frame {
                offset,
                bytes,
                param,
            },
        );
        Ok(Carried::Frame { offset, bytes })
    }
}

/// Where dynamic shared memory stands until its place is known.
pub(super) const DYNAMIC_SHARED: u32 = 0x4000_0000;

fn initialiser_bytes(v: &Variable) -> u64 {
    fn leaves(i: &Initializer) -> u64 {
        match i {
            Initializer::Value(_) => 1,
            Initializer::Field(..) => 0,
            Initializer::List(list) => list.iter().map(leaves).sum(),
        }
    }
    v.init.as_ref().map_or(0, leaves) * u64::from(bytes_of(v.ty))
}

/// `sym`, `sym+8`, `generic(sym)`, `generic(sym)+8`.
fn address_of(value: &Operand) -> Option<(&str, i64)> {
    match value {
        Operand::Name(name, None) => Some((name, 0)),
        Operand::Offset(name, offset) => Some((name, *offset)),
        Operand::Expr(e) => match &**e {
            Expr::Leaf(leaf) => address_of(leaf),
            Expr::Call(f, inner) if f == "generic" => match &**inner {
                Expr::Leaf(leaf) => address_of(leaf),
                _ => None,
            },
            Expr::Binary(op, a, b) if op == "+" || op == "-" => {
                let (name, offset) = match &**a {
                    Expr::Leaf(leaf) => address_of(leaf)?,
                    Expr::Call(f, inner) if f == "generic" => match &**inner {
                        Expr::Leaf(leaf) => address_of(leaf)?,
                        _ => return None,
                    },
                    _ => return None,
                };
                let Expr::Leaf(Operand::Int(n, _)) = &**b else {
                    return None;
                };
                let n = *n as i64;
                Some((
                    name,
                    offset.wrapping_add(if op == "+" { n } else { n.wrapping_neg() }),
                ))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The bits of a literal as a value of a type.
pub(super) fn literal_bits(value: &Operand, ty: ScalarType) -> Option<u64> {
    use ScalarType::{F32, F64};
    Some(match value {
        Operand::Int(n, _) => match ty {
            F32 => u64::from((*n as f32).to_bits()),
            F64 => (*n as f64).to_bits(),
            _ => *n,
        },
        Operand::F32(bits) => match ty {
            F64 => f64::from(f32::from_bits(*bits)).to_bits(),
            _ => u64::from(*bits),
        },
        Operand::F64(bits) => match ty {
            F32 => u64::from((f64::from_bits(*bits) as f32).to_bits()),
            _ => *bits,
        },
        Operand::Neg(inner) => {
            let bits = literal_bits(inner, ty)?;
            match ty {
                F32 => bits ^ 0x8000_0000,
                F64 => bits ^ (1 << 63),
                _ => bits.wrapping_neg(),
            }
        }
        Operand::Expr(e) => expression(e)?,
        _ => return None,
    })
}

/// Integer constant expressions (PTX ISA, "Constant Expressions").
fn expression(e: &Expr) -> Option<u64> {
    Some(match e {
        Expr::Leaf(Operand::Expr(inner)) => expression(inner)?,
        Expr::Leaf(leaf) => literal_bits(leaf, ScalarType::U64)?,
        Expr::Unary(op, a) => {
            let a = expression(a)?;
            match op.as_str() {
                "-" => a.wrapping_neg(),
                "~" => !a,
                "!" => u64::from(a == 0),
                _ => a,
            }
        }
        Expr::Conditional(c, a, b) => {
            if expression(c)? != 0 {
                expression(a)?
            } else {
                expression(b)?
            }
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (expression(a)?, expression(b)?);
            let (sa, sb) = (a as i64, b as i64);
            match op.as_str() {
                "+" => a.wrapping_add(b),
                "-" => a.wrapping_sub(b),
                "*" => a.wrapping_mul(b),
                "/" => sa.checked_div(sb)? as u64,
                "%" => sa.checked_rem(sb)? as u64,
                "&" => a & b,
                "|" => a | b,
                "^" => a ^ b,
                "<<" => a.checked_shl(b as u32).unwrap_or(0),
                ">>" => sa.checked_shr(b as u32).unwrap_or(sa >> 63) as u64,
                "&&" => u64::from(a != 0 && b != 0),
                "||" => u64::from(a != 0 || b != 0),
                "==" => u64::from(a == b),
                "!=" => u64::from(a != b),
                "<" => u64::from(sa < sb),
                ">" => u64::from(sa > sb),
                "<=" => u64::from(sa <= sb),
                ">=" => u64::from(sa >= sb),
                _ => return None,
            }
        }
        Expr::Call(..) => return None,
    })
}

/// Moves a direct address in dynamic shared memory to its place.
pub(super) fn move_dynamic_shared(offset: &mut i64, base: Base, start: u32) {
    let dynamic = i64::from(DYNAMIC_SHARED);
    if base == Base::Zero && *offset >= dynamic / 2 && *offset < 2 * dynamic {
        *offset += i64::from(start) - dynamic;
    }
}

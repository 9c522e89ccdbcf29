//! Texture and surface instructions (PTX ISA, "Texture Instructions", "Surface Instructions"), as nvcc writes them: the image is a number
//! in a register, or in a variable of type `.texref` or `.surfref`, and brings its sampler along ("Texturing Modes": unified).

use super::Lowering;
use super::operand::Decoded;
use super::scope::{Binding, bytes_of};
use crate::observer::{Order, Scope};
use crate::op::*;
use crate::texture::Geometry;
use ptx::ast::{Address, Instruction, Operand, ScalarType};
use ptx::semantics::{Modifier, Opcode, TypedInstruction};

fn geometry(t: &TypedInstruction) -> Decoded<Geometry> {
    let all = [
        (Modifier::D1, Geometry::D1),
        (Modifier::D2, Geometry::D2),
        (Modifier::D3, Geometry::D3),
        (Modifier::A1d, Geometry::A1d),
        (Modifier::A2d, Geometry::A2d),
        (Modifier::Cube, Geometry::Cube),
        (Modifier::Acube, Geometry::Acube),
    ];
    let found = all.into_iter().find(|(modifier, _)| t.has(*modifier));
    Ok(found.ok_or("an image of this geometry")?.1)
}

fn parts(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

impl Lowering<'_> {
    /// `tex`, `tld4`, `suld.b`, `sust.b`.
    pub(super) fn image(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let kind = match t.opcode {
            Opcode::Tex => ImageKind::Sample,
            Opcode::Tld4 => ImageKind::Gather(component(t)),
            Opcode::Suld => ImageKind::Load,
            _ => ImageKind::Store,
        };
        let fetches = matches!(kind, ImageKind::Sample | ImageKind::Gather(_));
        if !fetches && t.has(Modifier::P) {
            return Err("a formatted access to a surface".into());
        }
        let geometry = geometry(t)?;
        let mut types = t.modifiers.types();
        let value = types.next().and_then(|ty| ty.scalar());
        let value = value.ok_or("a type that is not implemented")?;
        let whole = !fetches || types.next().and_then(|ty| ty.scalar()) != Some(ScalarType::F32);
        let (at, values) = match kind {
            ImageKind::Store => (0, 1),
            _ => (1, 0),
        };
        let ((handle, reference), layer, at) = self.image_place(self.operand(i, at)?, geometry)?;
        let level = match i.operands.get(2..).unwrap_or_default() {
            [] => LevelOf::Base,
            [level] if t.has(Modifier::Level) && !whole => {
                LevelOf::Row(self.source(level, RegisterClass::W(32), ScalarType::F32)?)
            }
            [x, y] if t.has(Modifier::Grad) && !whole => {
                LevelOf::Gradients([self.gradient(x, geometry)?, self.gradient(y, geometry)?])
            }
            _ => return Err("a fetch of this form".into()),
        };
        let values = parts(self.operand(i, values)?).to_vec();
        let natural = self.type_class(value)?;
        if fetches && natural != RegisterClass::W(32) {
            return Err("a fetch of this type".into());
        }
        let mut slots = [Slot::NONE; 4];
        if values.len() > slots.len() {
            return Err("a vector of this length".into());
        }
        let mut class = natural;
        for (slot, operand) in slots.iter_mut().zip(&values) {
            *slot = match self.register(operand) {
                Some((slot, has)) => {
                    class = has;
                    slot
                }
                None if matches!(operand, Operand::Name(n, None) if n == "_") => Slot::NONE,
                None if kind == ImageKind::Store => self.source(operand, natural, value)?,
                None => return Err("a destination that is not a register".into()),
            };
        }
        self.program.image_ops.push(ImageOp {
            kind,
            geometry,
            handle,
            reference,
            layer,
            at,
            whole,
            level,
            outside: match () {
                () if t.has(Modifier::Clamp) => Outside::Clamp,
                () if t.has(Modifier::Zero) => Outside::Zero,
                () => Outside::Trap,
            },
            element: bytes_of(value) as u8,
            count: values.len() as u8,
            values: slots,
            class,
        });
        self.emit(Op::Image(self.program.image_ops.len() as u32 - 1));
        Ok(())
    }

    /// Handle, layer and coordinates of `[a, {c}]`.
    fn image_place(
        &mut self,
        operand: &Operand,
        geometry: Geometry,
    ) -> Decoded<((Slot, bool), Slot, [Slot; 3])> {
        let (handle, rest) = self.image_itself(operand)?;
        let [coordinates] = rest else {
            return Err("an image with a sampler of its own".into());
        };
        let mut all = parts(coordinates).iter();
        let mut next = |l: &mut Self| -> Decoded<Slot> {
            let one = all.next().ok_or("too few coordinates")?;
            l.source(one, RegisterClass::W(32), ScalarType::B32)
        };
        let layer = match geometry.is_layered() {
            true => next(self)?,
            false => Slot::NONE,
        };
        let mut at = [Slot::NONE; 3];
        for slot in &mut at[..geometry.coordinates()] {
            *slot = next(self)?;
        }
        Ok((handle, layer, at))
    }
}

impl Lowering<'_> {
    /// `txq`
    pub(super) fn query(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        // A driver of CUDA has no others: to it, a kernel that asks for more is not there.
        let all = [Modifier::Width, Modifier::Height, Modifier::Depth];
        let dimension = all.iter().position(|modifier| t.has(*modifier));
        let dimension = dimension.ok_or("a query that no driver of CUDA answers")?;
        let ((handle, reference), rest) = self.image_itself(self.operand(i, 1)?)?;
        if !rest.is_empty() {
            return Err("an image of this form".into());
        }
        let level = match i.operands.get(2) {
            Some(level) if t.has(Modifier::Level) => {
                LevelOf::Row(self.source(level, RegisterClass::W(32), ScalarType::B32)?)
            }
            None => LevelOf::Base,
            _ => return Err("a query of this form".into()),
        };
        let Some((to, class @ RegisterClass::W(32))) = self.register(self.operand(i, 0)?) else {
            return Err("a destination that is not a register".into());
        };
        self.program.image_ops.push(ImageOp {
            kind: ImageKind::Size(dimension as u8),
            geometry: Geometry::D1,
            handle,
            reference,
            layer: Slot::NONE,
            at: [Slot::NONE; 3],
            whole: true,
            level,
            outside: Outside::Trap,
            element: 4,
            count: 1,
            values: [to, Slot::NONE, Slot::NONE, Slot::NONE],
            class,
        });
        self.emit(Op::Image(self.program.image_ops.len() as u32 - 1));
        Ok(())
    }

    /// How coordinates change from one pixel to the next.
    fn gradient(&mut self, operand: &Operand, geometry: Geometry) -> Decoded<[Slot; 3]> {
        let mut slots = [Slot::NONE; 3];
        let count = geometry.coordinates();
        let parts = parts(operand).get(..count).ok_or("too few gradients")?;
        for (slot, part) in slots.iter_mut().zip(parts) {
            *slot = self.source(part, RegisterClass::W(32), ScalarType::F32)?;
        }
        Ok(slots)
    }

    /// The row with an image's number and whether it comes from a variable; and what follows in the brackets.
    fn image_itself<'o>(&mut self, operand: &'o Operand) -> Decoded<((Slot, bool), &'o [Operand])> {
        let Operand::Address(Address {
            base,
            offset: 0,
            rest,
        }) = operand
        else {
            return Err("an image of this form".into());
        };
        let handle = match (self.register(base), &**base) {
            (Some((handle, RegisterClass::D)), _) => (handle, false),
            (None, Operand::Name(name, None)) => (self.image_of_variable(name)?, true),
            _ => return Err("an image that is not in a register".into()),
        };
        Ok((handle, rest))
    }

    /// The number that a variable of type `.texref` or `.surfref` holds (PTX ISA, "Texture, Sampler and Surface Types"): whoever binds an image
    /// to it, outside of the kernel, writes it there.
    fn image_of_variable(&mut self, name: &str) -> Decoded<Slot> {
        let Some(Binding::Global { index, .. }) = self.binding(name) else {
            return Err("an image that is not in a register".into());
        };
        let bytes = self.program.globals[index].bytes;
        if bytes != 8 {
            return Err("an image in an array".into());
        }
        let place = self.variable(name, 0, AddressSpace::Global)?;
        let handle = self.temporary(RegisterClass::D);
        let mut regs = [Slot::NONE; 8];
        regs[0] = handle;
        self.program.memory_ops.push(MemoryOp {
            word: false,
            run: RunPlace::default(),
            store: false,
            space: place.space,
            base: place.base,
            offset: place.offset,
            element: 8,
            count: 1,
            signed: false,
            regs,
            class: RegisterClass::D,
            order: Order::Weak,
            scope: Scope::Sys,
            non_coherent: false,
            private: false,
            copies: false,
            fragment: false,
            asynchronous: false,
            used_if: Slot::TRUE,
        });
        self.emit(Op::Memory(self.program.memory_ops.len() as u32 - 1));
        Ok(handle)
    }
}

/// The channel that `tld4` gathers.
fn component(t: &TypedInstruction) -> u8 {
    let all = [Modifier::R, Modifier::G, Modifier::B, Modifier::A];
    all.iter().position(|m| t.has(*m)).unwrap_or(0) as u8
}

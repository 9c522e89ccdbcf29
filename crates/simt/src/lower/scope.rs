//! Names: which register, variable or label a name means where it stands
//! (PTX ISA, "Identifiers", and scoping by `{ }`).

use crate::op::{RegisterClass, Slot};
use ptx::ast::{ScalarType, Variable};
use std::collections::HashMap;

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binding {
    /// A register, or a vector of adjacent ones.
    Register {
        /// First slot.
        slot: Slot,
        /// Class of each.
        class: RegisterClass,
        /// Elements of the vector; 1 for a plain register.
        elements: u32,
    },
    /// A local variable or a parameter of a device function.
    Frame {
        /// Bytes from the frame's base.
        offset: u32,
        /// Size.
        bytes: u32,
        /// Parameters are never shared with anybody.
        param: bool,
    },
    /// A shared variable: its offset.
    Shared(u32),
    /// Index of a global or constant variable, and which.
    Global {
        /// Index into the program's globals.
        index: usize,
        /// Constant memory.
        constant: bool,
    },
    /// A parameter of the kernel: its offset.
    EntryParam(u32),
    /// Index of a function.
    Function(usize),
}

/// Register class of a type; `None` for opaque types.
pub fn class_of(ty: ScalarType) -> Option<RegisterClass> {
    use ScalarType::*;
    Some(match ty {
        S8 | U8 | B8 => RegisterClass::W(8),
        S16 | U16 | B16 | F16 | Bf16 => RegisterClass::W(16),
        S32 | U32 | B32 | F32 | F16x2 | Bf16x2 => RegisterClass::W(32),
        S64 | U64 | B64 | F64 => RegisterClass::D,
        B128 => RegisterClass::Q,
        Pred => RegisterClass::P,
        Texref | Samplerref | Surfref => return None,
    })
}

/// Bytes of a type in memory; 8 for opaque handles, 1 for predicates.
pub fn bytes_of(ty: ScalarType) -> u32 {
    match class_of(ty) {
        Some(RegisterClass::W(bits)) => u32::from(bits) / 8,
        Some(RegisterClass::D) | None => 8,
        Some(RegisterClass::Q) => 16,
        Some(RegisterClass::P) => 1,
    }
}

/// Bytes of a variable: element, vector and dimensions multiplied (0 for `[]`).
pub fn variable_bytes(v: &Variable) -> u64 {
    let element = u64::from(bytes_of(v.ty)) * u64::from(v.vector.unwrap_or(1));
    v.dims
        .iter()
        .fold(element, |size, d| size.saturating_mul(d.unwrap_or(0)))
}

/// Alignment of a variable in bytes.
pub fn variable_align(v: &Variable) -> u32 {
    v.align
        .unwrap_or(bytes_of(v.ty) * v.vector.unwrap_or(1))
        .max(1)
}

#[derive(Default)]
struct Scope {
    parent: Option<usize>,
    names: HashMap<String, Binding>,
    /// Numbered registers, by what stands before the number; of several, those with more registers than the ones before.
    families: HashMap<String, Vec<Family>>,
    labels: HashMap<String, u32>,
    lists: HashMap<String, Vec<String>>,
}

/// `.reg .b32 %r<100>`.
struct Family {
    count: u32,
    first: u32,
    class: RegisterClass,
    /// Elements of each.
    elements: u32,
}

/// All scopes of a module; scope 0 is the module itself.
pub struct Scopes {
    all: Vec<Scope>,
    current: usize,
    /// Rows handed out so far: W, D, P.
    pub rows: [u32; 3],
}

impl Default for Scopes {
    fn default() -> Scopes {
        Scopes::new()
    }
}

impl Scopes {
    /// The module's scope, empty.
    pub fn new() -> Scopes {
        Scopes {
            all: vec![Scope::default()],
            current: 0,
            rows: [0; 3],
        }
    }

    /// Enters a new scope inside the current one and returns the one to go back to.
    pub fn enter(&mut self) -> usize {
        let back = self.current;
        self.all.push(Scope {
            parent: Some(back),
            ..Scope::default()
        });
        self.current = self.all.len() - 1;
        back
    }

    /// Goes back to a scope.
    pub fn leave(&mut self, back: usize) {
        self.current = back;
    }

    /// The current scope, to resolve labels later.
    pub fn here(&self) -> usize {
        self.current
    }

    /// Declares a name.
    pub fn bind(&mut self, name: &str, binding: Binding) {
        self.all[self.current]
            .names
            .insert(name.to_owned(), binding);
    }

    /// Hands out adjacent rows of a class.
    pub fn rows(&mut self, class: RegisterClass, count: u32) -> Slot {
        let (kind, each) = match class {
            RegisterClass::W(_) => (0, 1),
            RegisterClass::D => (1, 1),
            RegisterClass::Q => (1, 2),
            RegisterClass::P => (2, 1),
        };
        let first = self.rows[kind];
        self.rows[kind] += count * each;
        Slot(first)
    }

    /// Declares registers.
    pub fn registers(&mut self, v: &Variable) {
        let Some(class) = class_of(v.ty) else { return };
        let elements = v.vector.unwrap_or(1);
        match v.count {
            Some(count) => {
                let first = self.rows(class, count.saturating_mul(elements)).0;
                let families = &mut self.all[self.current].families;
                let of_name = families.entry(v.name.clone()).or_default();
                // Of two that have a number, the first is meant.
                if of_name.last().is_none_or(|before| before.count < count) {
                    of_name.push(Family {
                        count,
                        first,
                        class,
                        elements,
                    });
                }
            }
            None => {
                let slot = self.rows(class, elements);
                let register = Binding::Register {
                    slot,
                    class,
                    elements,
                };
                self.bind(&v.name, register);
            }
        }
    }

    /// Declares a label at an instruction index.
    pub fn label(&mut self, name: &str, index: u32) {
        self.all[self.current].labels.insert(name.to_owned(), index);
    }

    /// Declares a list of branch or call targets.
    pub fn list(&mut self, name: &str, targets: Vec<String>) {
        self.all[self.current]
            .lists
            .insert(name.to_owned(), targets);
    }

    fn outward(&self, from: usize) -> impl Iterator<Item = &Scope> {
        std::iter::successors(Some(&self.all[from]), |s| s.parent.map(|p| &self.all[p]))
    }

    /// What a name means in the current scope.
    pub fn lookup(&self, name: &str) -> Option<Binding> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        let number: Option<u32> = number.parse().ok();
        self.outward(self.current).find_map(|s| {
            s.names.get(name).copied().or_else(|| {
                let number = number?;
                let of_name = s.families.get(prefix)?;
                let f = of_name.get(of_name.partition_point(|f| f.count <= number))?;
                let each = if f.class == RegisterClass::Q { 2 } else { 1 };
                Some(Binding::Register {
                    slot: Slot(f.first + number * f.elements * each),
                    class: f.class,
                    elements: f.elements,
                })
            })
        })
    }

    /// The instruction that a label names, seen from a scope.
    pub fn find_label(&self, name: &str, from: usize) -> Option<u32> {
        self.outward(from).find_map(|s| s.labels.get(name).copied())
    }

    /// A list of targets, seen from a scope.
    pub fn find_list(&self, name: &str, from: usize) -> Option<&Vec<String>> {
        self.outward(from).find_map(|s| s.lists.get(name))
    }
}

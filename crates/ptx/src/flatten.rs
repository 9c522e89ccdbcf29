//! A function body as one list of instructions, with its names resolved.
//!
//! PTX bodies nest: `{ … }` opens a scope in which registers, variables and
//! labels of their own can be declared (PTX ISA, "Statements", "Labels"), which is
//! how nvcc wraps inline assembly and call sequences. Execution does not nest, so
//! [`Flat`] puts the instructions in a row, remembers the scope of each, and
//! looks names up innermost scope first. Two scopes that declare the same name
//! are told apart by the [`ScopeId`] that [`Declared`] carries.
//!
//! Scopes are whole: a name can be looked up from anywhere in its scope, also in
//! front of its declaration. Compilers declare before use, so no difference shows.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::ast::*;

/// A function body, flattened.
#[derive(Clone, Debug)]
pub struct Flat<'a> {
    /// All instructions in textual order.
    pub instructions: Vec<FlatInstr<'a>>,
    /// The instruction that each label stands in front of; the number of
    /// instructions where it stands at the end of the body.
    pub labels: HashMap<(ScopeId, &'a str), usize>,
    /// All scopes. The first two are [`ScopeId::PARAMETERS`] and [`ScopeId::BODY`].
    pub scopes: Vec<Scope<'a>>,
}

/// An instruction with what the text around it says about it.
#[derive(Clone, Copy, Debug)]
pub struct FlatInstr<'a> {
    /// The instruction.
    pub instr: &'a Instruction,
    /// The `.loc` in force: the last one before it in the text.
    pub loc: Option<&'a Loc>,
    /// The scope that it stands in.
    pub scope: ScopeId,
}

/// Number of a scope: an index into [`Flat::scopes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub u32);

impl ScopeId {
    /// The function's parameters and return parameters.
    pub const PARAMETERS: ScopeId = ScopeId(0);
    /// The outermost braces of the body.
    pub const BODY: ScopeId = ScopeId(1);
}

/// One scope.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    /// The scope around it; `None` for the parameters.
    pub parent: Option<ScopeId>,
    /// Variables declared directly in it, in order.
    pub variables: Vec<&'a Variable>,
    names: HashMap<&'a str, Declared<'a>>,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Declared<'a> {
    /// A register, parameter or other variable.
    Variable {
        /// Its declaration.
        variable: &'a Variable,
        /// Where in a parameterised declaration: 3 for `%r3` of `%r<10>`.
        element: Option<u32>,
        /// The scope that declares it.
        scope: ScopeId,
    },
    /// A label.
    Label {
        /// The instruction behind it, as in [`Flat::labels`].
        index: usize,
        /// The scope that declares it.
        scope: ScopeId,
    },
    /// `.branchtargets`.
    BranchTargets(&'a TargetList),
    /// `.calltargets`.
    CallTargets(&'a TargetList),
    /// `.callprototype`.
    CallPrototype(&'a CallPrototype),
}

/// Two declarations of one name in one scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is declared twice in the same scope of `{function}`")]
pub struct DuplicateName {
    /// The name.
    pub name: String,
    /// The function.
    pub function: String,
    /// Its second declaration.
    pub span: Span,
}

impl<'a> Flat<'a> {
    /// Flattens the body of `function`; a declaration has no instructions.
    ///
    /// # Errors
    ///
    /// A name that one scope declares twice. (Of parameterised names only the
    /// declarations are compared, not what they expand to.)
    pub fn of(function: &'a Function) -> Result<Flat<'a>, DuplicateName> {
        let mut builder = Builder {
            function,
            flat: Flat {
                instructions: Vec::new(),
                labels: HashMap::new(),
                scopes: Vec::new(),
            },
            loc: None,
        };
        let parameters = builder.open(None);
        for variable in function.returns.iter().chain(&function.params) {
            builder.variable(parameters, variable)?;
        }
        let body = builder.open(Some(parameters));
        builder.block(body, function.body.as_deref().unwrap_or_default())?;
        Ok(builder.flat)
    }

    /// What `name` stands for in `scope`, the innermost declaration first. `None`
    /// for names of the module (variables, functions) and special registers.
    pub fn lookup(&self, scope: ScopeId, name: &str) -> Option<Declared<'a>> {
        let mut next = Some(scope);
        while let Some(id) = next {
            let scope = self.scopes.get(id.0 as usize)?;
            if let Some(declared) = scope.find(id, name) {
                return Some(declared);
            }
            next = scope.parent;
        }
        None
    }

    /// The instruction that the label `name` stands in front of, seen from `scope`.
    pub fn label(&self, scope: ScopeId, name: &str) -> Option<usize> {
        match self.lookup(scope, name)? {
            Declared::Label { index, .. } => Some(index),
            _ => None,
        }
    }
}

impl<'a> Scope<'a> {
    fn find(&self, id: ScopeId, name: &str) -> Option<Declared<'a>> {
        match self.names.get(name) {
            Some(Declared::Variable { variable, .. }) if variable.count.is_some() => {}
            Some(declared) => return Some(*declared),
            None => {}
        }
        // PTX ISA, "Parameterized Variable Names": `%r<10>` declares %r0 … %r9.
        // Try `%r1` + `2` as well as `%r` + `12`.
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (name.len() - digits..name.len()).find_map(|split| {
            let (prefix, element) = name.split_at(split);
            let Some(Declared::Variable { variable, .. }) = self.names.get(prefix) else {
                return None;
            };
            let canonical = element == "0" || !element.starts_with('0');
            let element = element.parse::<u32>().ok().filter(|_| canonical)?;
            let declared = Declared::Variable {
                variable,
                element: Some(element),
                scope: id,
            };
            (element < variable.count?).then_some(declared)
        })
    }
}

struct Builder<'a> {
    function: &'a Function,
    flat: Flat<'a>,
    loc: Option<&'a Loc>,
}

impl<'a> Builder<'a> {
    fn open(&mut self, parent: Option<ScopeId>) -> ScopeId {
        let id = ScopeId(self.flat.scopes.len() as u32);
        self.flat.scopes.push(Scope {
            parent,
            variables: Vec::new(),
            names: HashMap::new(),
        });
        id
    }

    fn block(&mut self, scope: ScopeId, statements: &'a [Stmt]) -> Result<(), DuplicateName> {
        for statement in statements {
            match statement {
                Stmt::Instruction(instr) => {
                    self.flat.instructions.push(FlatInstr {
                        instr,
                        loc: self.loc,
                        scope,
                    });
                }
                Stmt::Loc(loc) => self.loc = Some(loc),
                Stmt::Label(label) => {
                    let index = self.flat.instructions.len();
                    let declared = Declared::Label { index, scope };
                    self.declare(scope, &label.name, label.span, declared)?;
                    self.flat.labels.insert((scope, label.name.as_str()), index);
                }
                Stmt::Variable(variable) => self.variable(scope, variable)?,
                Stmt::Block(inner) => {
                    let inner_scope = self.open(Some(scope));
                    self.block(inner_scope, inner)?;
                }
                Stmt::BranchTargets(list) => {
                    self.declare(scope, &list.name, list.span, Declared::BranchTargets(list))?;
                }
                Stmt::CallTargets(list) => {
                    self.declare(scope, &list.name, list.span, Declared::CallTargets(list))?;
                }
                Stmt::CallPrototype(prototype) => {
                    let declared = Declared::CallPrototype(prototype);
                    self.declare(scope, &prototype.name, prototype.span, declared)?;
                }
                Stmt::Directive(_) => {}
            }
        }
        Ok(())
    }

    fn variable(&mut self, scope: ScopeId, variable: &'a Variable) -> Result<(), DuplicateName> {
        let declared = Declared::Variable {
            variable,
            element: None,
            scope,
        };
        self.declare(scope, &variable.name, variable.span, declared)?;
        self.flat.scopes[scope.0 as usize].variables.push(variable);
        Ok(())
    }

    fn declare(
        &mut self,
        scope: ScopeId,
        name: &'a str,
        span: Span,
        declared: Declared<'a>,
    ) -> Result<(), DuplicateName> {
        match self.flat.scopes[scope.0 as usize].names.entry(name) {
            // `_` is a place holder, as often as wanted.
            _ if name == "_" => Ok(()),
            Entry::Vacant(entry) => {
                entry.insert(declared);
                Ok(())
            }
            Entry::Occupied(_) => {
                let function = self.function.name.clone();
                Err(DuplicateName {
                    name: name.to_owned(),
                    function,
                    span,
                })
            }
        }
    }
}

//! What the names in a function stand for, as its checks want to know.

use crate::points_to::PointsTo;
use ptx::ast::*;
use std::cell::RefCell;
use std::collections::HashMap;

/// What is declared in a function: register widths, spaces of variables.
#[derive(Default)]
pub struct Names {
    /// Whether registers have 64 bits, by name.
    pub wide: HashMap<String, bool>,
    /// Spaces of variables and parameters, by name.
    pub spaces: HashMap<String, StateSpace>,
    /// Registers that are written once, by a move of a constant.
    pub constants: HashMap<String, u64>,
    /// How often registers are named.
    pub uses: HashMap<String, u32>,
    /// Whether a caller wants the thread's state back.
    pub returns: bool,
    /// Of a kernel, where its addresses come from.
    pub points_to: Option<RefCell<PointsTo>>,
}

impl Names {
    /// Adds what a body declares.
    pub fn declare(body: &[Stmt], names: &mut Names) {
        for statement in body {
            match statement {
                Stmt::Variable(v) if v.space == StateSpace::Reg => {
                    let wide = matches!(
                        v.ty,
                        ScalarType::B64 | ScalarType::U64 | ScalarType::S64 | ScalarType::F64
                    );
                    match v.count {
                        Some(count) => {
                            for number in 0..count {
                                names.wide.insert(format!("{}{number}", v.name), wide);
                            }
                        }
                        None => drop(names.wide.insert(v.name.clone(), wide)),
                    }
                }
                Stmt::Variable(v) => drop(names.spaces.insert(v.name.clone(), v.space)),
                Stmt::Block(inner) => Names::declare(inner, names),
                _ => {}
            }
        }
    }
}

//! A block of PTX, compiled by Cranelift.
//!
//! Cranelift's types go up to 256 lanes, but its x86-64 backend has registers for vectors of up to 128 bits alone (`rc_for_type` in
//! cranelift-codegen's `src/isa/x64/inst/mod.rs`; [`refusal`] asks it). A row of 32 lanes is therefore eight vectors.
//!
//! There are no gathers either. So the code is specialised for how the addresses lay when it was compiled, half a warp at a time,
//! as the simulator's own fast path is: adjacent words, or one word. It checks that they still do, and that they are in
//! range, and else leaves without having done anything, for the simulator to go on. Neither whether the words had
//! been written is checked, nor is anybody told of the loads: a compiler for racetrap would have to do both.

use crate::block::{Block, LANES, Op, Row};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, F32X4, I8, I32, I32X4, I64};
use cranelift_codegen::ir::{self, AbiParam, ConstantData, InstBuilder, MemFlagsData, Type, Value};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};
use std::time::{Duration, Instant};

/// Vectors of a row.
const VECTORS: usize = LANES / 4;

/// Where a block's values are while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// Each instruction loads its operands' rows and stores its result's.
    Memory,
    /// An instruction after the other, in vectors; rows are loaded and stored at the block's ends.
    Rows,
    /// Four lanes after the other: the whole block for each four. Right only where lanes do not meet inside the block.
    Strips,
}

/// How the words of half a warp lie.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Adjacent,
    Same,
}

/// Layouts that a register's addresses have.
fn layouts(row: &Row) -> [Layout; 2] {
    [0, LANES / 2].map(|first| {
        let half = &row.0[first..first + LANES / 2];
        let like = |step: u32| (0..).zip(half).all(|(l, a)| *a == half[0] + step * l);
        match (like(4), like(0)) {
            (true, _) => Layout::Adjacent,
            (_, true) => Layout::Same,
            _ => panic!("this benchmark's addresses lie in one of two ways"),
        }
    })
}

/// How Cranelift compiles.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Its `opt_level`.
    pub level: &'static str,
    /// Its `regalloc_algorithm`.
    pub allocator: &'static str,
}

/// The signature of the compiled code: rows, shared memory; 0, or 1 if it left without having done anything.
type Code = unsafe extern "C" fn(*mut Row, *const u32) -> u32;

/// Machine code.
pub struct Compiled {
    code: Code,
    module: Option<JITModule>,
    registers: usize,
    shared_words: usize,
    /// Its length.
    pub bytes: usize,
    /// How long Cranelift took, from nothing of the block to code that can be called.
    pub time: Duration,
}

impl Drop for Compiled {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: `code` is private and is called by `run` alone, which borrows what is dropped here.
            unsafe { module.free_memory() };
        }
    }
}

impl Compiled {
    /// Runs the block once: false if the addresses no longer lie as they did.
    pub fn run(&self, rows: &mut [Row], shared: &[u32]) -> bool {
        assert!(rows.len() == self.registers && shared.len() == self.shared_words);
        // SAFETY: the code reads and writes the rows of the block's registers alone, and reads shared memory where it has checked the
        // address against the length that it was compiled for.
        unsafe { (self.code)(rows.as_mut_ptr(), shared.as_ptr()) == 0 }
    }
}

/// A module for this processor.
fn module(options: Options) -> JITModule {
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", options.level),
        ("regalloc_algorithm", options.allocator),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_verifier", "false"),
    ] {
        flags.set(name, value).expect("Cranelift has this setting");
    }
    let isa = cranelift_native::builder()
        .expect("Cranelift has a backend for this machine")
        .finish(settings::Flags::new(flags))
        .expect("the settings fit");
    JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()))
}

/// Compiles a block for the layouts that `rows` shows.
pub fn compile(
    block: &Block,
    rows: &[Row],
    shared_words: usize,
    form: Form,
    options: Options,
) -> Compiled {
    let mut module = module(options);
    let mut frontend = FunctionBuilderContext::new();
    let start = Instant::now();
    let mut context = module.make_context();
    let pointer = AbiParam::new(I64);
    context.func.signature.params.extend([pointer, pointer]);
    context.func.signature.returns.push(AbiParam::new(I32));
    let id = module
        .declare_function("block", Linkage::Local, &context.func.signature)
        .expect("the name is free");
    let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
    Translation::new(builder, block, rows, shared_words).translate(form, &module);
    module
        .define_function(id, &mut context)
        .expect("it compiles");
    let bytes = context
        .compiled_code()
        .expect("it was compiled")
        .code_buffer()
        .len();
    module
        .finalize_definitions()
        .expect("memory can be made executable");
    let code = module.get_finalized_function(id);
    let time = start.elapsed();
    // SAFETY: the function was declared with this signature, in the C calling convention of this machine.
    let code = unsafe { std::mem::transmute::<*const u8, Code>(code) };
    Compiled {
        code,
        module: Some(module),
        registers: rows.len(),
        shared_words,
        bytes,
        time,
    }
}

/// Addresses in a register.
struct Base {
    register: usize,
    largest: u32,
    layouts: [Layout; 2],
    /// Of each half, where its first word is.
    at: [Value; 2],
}

/// A block on its way to Cranelift's representation.
struct Translation<'a> {
    to: FunctionBuilder<'a>,
    block: &'a Block,
    rows: Value,
    shared: Value,
    shared_bytes: u32,
    leave: ir::Block,
    bases: Vec<Base>,
}

/// Accesses to rows.
const ROW: MemFlagsData = MemFlagsData::trusted();
/// Loads from shared memory: the block stores nothing there, and the range was checked before.
const SHARED: MemFlagsData = MemFlagsData::new()
    .with_notrap()
    .with_readonly()
    .with_can_move();

impl<'a> Translation<'a> {
    fn new(
        mut to: FunctionBuilder<'a>,
        block: &'a Block,
        rows: &[Row],
        words: usize,
    ) -> Translation<'a> {
        let (entry, leave) = (to.create_block(), to.create_block());
        to.append_block_params_for_function_params(entry);
        to.switch_to_block(entry);
        let (rows_at, shared) = (to.block_params(entry)[0], to.block_params(entry)[1]);
        let bases = block.bases();
        let base = |(register, largest): (usize, u32)| Base {
            register,
            largest,
            layouts: layouts(&rows[register]),
            at: [shared; 2],
        };
        Translation {
            to,
            block,
            rows: rows_at,
            shared,
            shared_bytes: 4 * words as u32,
            leave,
            bases: bases.into_iter().map(base).collect(),
        }
    }

    fn translate(mut self, form: Form, module: &JITModule) {
        let every = 0..VECTORS;
        match form {
            Form::Memory => {
                for op in &self.block.ops {
                    let base = match op {
                        Op::Load { base, .. } => {
                            self.bases.iter().position(|b| b.register == *base)
                        }
                        _ => None,
                    };
                    if let Some(base) = base {
                        self.check(base);
                    }
                    for k in every.clone() {
                        let mut values = vec![None; self.block.registers.len()];
                        let d = self.apply(op, k, &mut values);
                        self.store(d, k, &values);
                    }
                }
            }
            Form::Rows => {
                (0..self.bases.len()).for_each(|base| self.check(base));
                let mut values = vec![vec![None; self.block.registers.len()]; VECTORS];
                for op in &self.block.ops {
                    for k in every.clone() {
                        self.apply(op, k, &mut values[k]);
                    }
                }
                for d in self.block.results() {
                    every.clone().for_each(|k| self.store(d, k, &values[k]));
                }
            }
            Form::Strips => {
                (0..self.bases.len()).for_each(|base| self.check(base));
                for k in every {
                    let mut values = vec![None; self.block.registers.len()];
                    for op in &self.block.ops {
                        self.apply(op, k, &mut values);
                    }
                    for d in self.block.results() {
                        self.store(d, k, &values);
                    }
                }
            }
        }
        let done = self.to.ins().iconst(I32, 0);
        self.to.ins().return_(&[done]);
        self.to.switch_to_block(self.leave);
        let left = self.to.ins().iconst(I32, 1);
        self.to.ins().return_(&[left]);
        self.to.seal_all_blocks();
        self.to.finalize(module.target_config());
    }

    /// Offset of a register's `k`th vector.
    fn place(register: usize, k: usize) -> i32 {
        (register * size_of::<Row>() + 16 * k) as i32
    }

    /// The type of a register's vectors.
    fn vector(&self, register: usize) -> Type {
        if self.block.registers[register].starts_with("%f") {
            F32X4
        } else {
            I32X4
        }
    }

    fn read(&mut self, register: usize, k: usize, values: &mut [Option<Value>]) -> Value {
        let vector = self.vector(register);
        *values[register].get_or_insert_with(|| {
            let place = Self::place(register, k);
            self.to.ins().load(vector, ROW, self.rows, place)
        })
    }

    fn store(&mut self, register: usize, k: usize, values: &[Option<Value>]) {
        let value = values[register].expect("it has been computed");
        let place = Self::place(register, k);
        self.to.ins().store(ROW, value, self.rows, place);
    }

    /// Applies an instruction to the `k`th four lanes, and says which register is the result's.
    fn apply(&mut self, op: &Op, k: usize, values: &mut [Option<Value>]) -> usize {
        let (d, value) = match *op {
            Op::Add { d, a, b } => {
                let [a, b] = [a, b].map(|r| self.read(r, k, values));
                (d, self.to.ins().iadd(a, b))
            }
            Op::Fma { d, a, b, c } => {
                let [a, b, c] = [a, b, c].map(|r| self.read(r, k, values));
                (d, self.to.ins().fma(a, b, c))
            }
            Op::Load { d, base, offset } => {
                let half = k / (VECTORS / 2);
                let base = self
                    .bases
                    .iter()
                    .find(|b| b.register == base)
                    .expect("it was found");
                let (at, offset) = (base.at[half], offset as i32);
                let value = match base.layouts[half] {
                    Layout::Adjacent => {
                        let offset = offset + 16 * (k % (VECTORS / 2)) as i32;
                        self.to.ins().load(F32X4, SHARED, at, offset)
                    }
                    Layout::Same => {
                        let word = self.to.ins().load(F32, SHARED, at, offset);
                        self.to.ins().splat(F32X4, word)
                    }
                };
                (d, value)
            }
        };
        values[d] = Some(value);
        d
    }

    /// Leaves unless a register's addresses lie as they did and all offsets from them are in range.
    fn check(&mut self, base: usize) {
        let Base {
            register,
            largest,
            layouts,
            ..
        } = self.bases[base];
        let mut differ = None;
        let mut beyond = None;
        let or = |to: &mut FunctionBuilder, all: &mut Option<Value>, one: Value| {
            *all = Some(all.map_or(one, |all| to.ins().bor(all, one)));
        };
        let mut at = [self.shared; 2];
        for half in 0..2 {
            let begin = half * (VECTORS / 2);
            let to = &mut self.to;
            let first = to
                .ins()
                .load(I32, ROW, self.rows, Self::place(register, begin));
            let all = to.ins().splat(I32X4, first);
            for k in 0..VECTORS / 2 {
                let is = to
                    .ins()
                    .load(I32X4, ROW, self.rows, Self::place(register, begin + k));
                let expected = match layouts[half] {
                    Layout::Same => all,
                    Layout::Adjacent => {
                        let steps = (0..4).flat_map(|l| (16 * k as u32 + 4 * l).to_le_bytes());
                        let steps = steps.collect::<Vec<u8>>();
                        let steps = to.func.dfg.constants.insert(ConstantData::from(&steps[..]));
                        let steps = to.ins().vconst(I32X4, steps);
                        to.ins().iadd(all, steps)
                    }
                };
                let differs = to.ins().bxor(is, expected);
                or(to, &mut differ, differs);
            }
            let span = if layouts[half] == Layout::Same { 4 } else { 64 };
            let limit = i64::from(self.shared_bytes - largest - span);
            let limit = to.ins().iconst(I32, limit);
            let too_far = to.ins().icmp(IntCC::UnsignedGreaterThan, first, limit);
            or(to, &mut beyond, too_far);
            let offset = to.ins().uextend(I64, first);
            at[half] = to.ins().iadd(self.shared, offset);
        }
        let differ = self.to.ins().vany_true(differ.expect("a row has vectors"));
        let wrong = self.to.ins().bor(differ, beyond.expect("a row has halves"));
        let next = self.to.create_block();
        self.to.ins().brif(wrong, self.leave, &[], next, &[]);
        self.to.switch_to_block(next);
        self.bases[base].at = at;
    }
}

/// What Cranelift says of a sum of vectors of `lanes` 32-bit floats: nothing if it compiles it.
pub fn refusal(lanes: u32) -> Option<String> {
    let mut module = module(Options {
        level: "speed",
        allocator: "backtracking",
    });
    let mut frontend = FunctionBuilderContext::new();
    let mut context = module.make_context();
    context.func.signature.params.push(AbiParam::new(I64));
    context.func.signature.returns.push(AbiParam::new(I8));
    let id = module
        .declare_function("sum", Linkage::Local, &context.func.signature)
        .expect("the name is free");
    let mut to = FunctionBuilder::new(&mut context.func, &mut frontend);
    let entry = to.create_block();
    to.append_block_params_for_function_params(entry);
    to.switch_to_block(entry);
    let at = to.block_params(entry)[0];
    let vector = F32.by(lanes).expect("it is a type");
    let value = to.ins().load(vector, MemFlagsData::new(), at, 0);
    let sum = to.ins().fadd(value, value);
    to.ins().store(MemFlagsData::new(), sum, at, 0);
    let done = to.ins().iconst(I8, 0);
    to.ins().return_(&[done]);
    to.seal_all_blocks();
    to.finalize(module.target_config());
    let error = module.define_function(id, &mut context).err()?;
    Some(format!("{error:#}"))
}

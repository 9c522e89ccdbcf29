//! Writing a program: registers, inputs, instructions, outputs.
//!
//! Each thread of 8 blocks of 128 loads its inputs from columns of 1,024 words of 64 bits, and stores each result in
//! a column of the result's width.

use super::family::Family;
use super::kind::{Kind, Width};
use super::spec::{Instruction, Operand, Outcome};
use super::values::{self, Random, THREADS};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Threads of a block.
pub const BLOCK: u32 = 128;
/// Blocks.
pub const GRID: u32 = THREADS as u32 / BLOCK;
/// The kernel's name.
pub const ENTRY: &str = "conform";

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A column of inputs.
    Input(usize),
    /// A column of outputs: every result is stored.
    Output(usize),
    /// Neither.
    Other,
}

/// A register and what is known of it.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its name.
    pub register: String,
    /// Its width.
    pub width: Width,
    /// Where its value comes from.
    pub source: Source,
}

/// A column of inputs: threads' values for an operand of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// What it is drawn from.
    pub kind: Kind,
    /// Which operand of that kind it is for.
    pub index: u8,
}

/// A column of outputs: threads' results of an instruction.
#[derive(Clone, Debug)]
pub struct Output {
    /// Opcode and modifiers, or what else results are grouped by.
    pub spelling: String,
    /// The instruction, or the few around it, as it stands in the program.
    pub text: String,
    /// What went in.
    pub sources: Vec<Source>,
    /// Its width.
    pub width: Width,
    /// Where the column starts, bytes.
    pub offset: usize,
}

impl Output {
    /// The column's bytes.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.width.bytes() * THREADS
    }

    /// A thread's result.
    pub fn value(&self, outputs: &[u8], thread: usize) -> u64 {
        let bytes = self.width.bytes();
        let at = self.offset + thread * bytes;
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&outputs[at..at + bytes]);
        u64::from_le_bytes(word)
    }
}

/// A program with its inputs.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its number.
    pub number: u32,
    /// Its family.
    pub family: Family,
    /// Its text.
    pub ptx: String,
    /// The columns that it loads.
    pub inputs: Vec<Input>,
    /// The columns that it stores.
    pub outputs: Vec<Output>,
    /// What the inputs are drawn from.
    pub seed: u64,
}

impl Program {
    /// The values of an input column.
    pub fn column(&self, input: usize) -> Vec<u64> {
        let Input { kind, index } = self.inputs[input];
        values::column(kind, index, self.seed)
    }

    /// The input buffer.
    pub fn input_bytes(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for i in 0..self.inputs.len() {
            for value in self.column(i) {
                all.extend_from_slice(&value.to_le_bytes());
            }
        }
        all.resize(all.len().max(8 * THREADS), 0);
        all
    }

    /// Length of the output buffer.
    pub fn output_len(&self) -> usize {
        self.outputs.last().map_or(8, |o| o.range().end)
    }
}

/// See the module's page.
#[derive(Debug)]
pub struct Builder {
    body: String,
    counts: BTreeMap<Width, u32>,
    labels: u32,
    inputs: Vec<Input>,
    loaded: BTreeMap<(Kind, u8), Value>,
    outputs: Vec<Output>,
    end: usize,
    /// Declarations of variables, before the code.
    pub variables: String,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// An empty program.
    pub fn new() -> Builder {
        Builder {
            body: String::new(),
            counts: BTreeMap::new(),
            labels: 0,
            inputs: Vec::new(),
            loaded: BTreeMap::new(),
            outputs: Vec::new(),
            end: 0,
            variables: String::new(),
        }
    }

    /// A line of code.
    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.body, "    {text}");
    }

    /// Where the code has come to.
    pub fn position(&self) -> usize {
        self.body.len()
    }

    /// The code since then, on one line.
    pub fn since(&self, position: usize) -> String {
        self.body[position..]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// A new register.
    pub fn register(&mut self, width: Width) -> String {
        let n = self.counts.entry(width).or_insert(0);
        *n += 1;
        format!("{}{}", width.prefix(), *n - 1)
    }

    /// A new label.
    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    /// Loads operand `index` of a kind, once.
    pub fn input(&mut self, kind: Kind, index: u8) -> Value {
        if let Some(known) = self.loaded.get(&(kind, index)) {
            return known.clone();
        }
        let number = self.inputs.len();
        self.inputs.push(Input { kind, index });
        let at = number * 8 * THREADS;
        let width = kind.width();
        let register = self.register(width);
        match width {
            Width::Pred => {
                let word = self.register(Width::B32);
                self.line(&format!("ld.global.b32 {word}, [%in+{at}];"));
                self.line(&format!("setp.ne.b32 {register}, {word}, 0;"));
            }
            _ => self.line(&format!(
                "ld.global.{} {register}, [%in+{at}];",
                width.untyped()
            )),
        }
        let value = Value {
            register,
            width,
            source: Source::Input(number),
        };
        self.loaded.insert((kind, index), value.clone());
        value
    }

    /// Takes place for an output column and says where.
    pub fn reserve(
        &mut self,
        width: Width,
        spelling: &str,
        text: &str,
        sources: Vec<Source>,
    ) -> usize {
        let offset = self.end;
        self.end += width.bytes() * THREADS;
        self.outputs.push(Output {
            spelling: spelling.to_owned(),
            text: text.to_owned(),
            sources,
            width,
            offset,
        });
        self.outputs.len() - 1
    }

    /// The address of this thread's place in an output column.
    pub fn place(&self, output: usize) -> String {
        let output = &self.outputs[output];
        format!("[%out{}+{}]", output.width.bytes(), output.offset)
    }

    /// Says which instruction an output is of.
    pub fn describe(&mut self, output: usize, text: &str) {
        self.outputs[output].text = text.to_owned();
    }

    /// Stores a register as a result.
    pub fn store(
        &mut self,
        register: &str,
        width: Width,
        spelling: &str,
        text: &str,
        sources: Vec<Source>,
    ) -> Value {
        let output = self.reserve(width, spelling, text, sources);
        let place = self.place(output);
        let word = match width {
            Width::Pred => {
                let word = self.register(Width::B32);
                self.line(&format!("selp.b32 {word}, 1, 0, {register};"));
                word
            }
            _ => register.to_owned(),
        };
        let as_stored = if width == Width::Pred {
            Width::B32
        } else {
            width
        };
        self.line(&format!(
            "st.global.{} {place}, {word};",
            as_stored.untyped()
        ));
        Value {
            register: register.to_owned(),
            width,
            source: Source::Output(output),
        }
    }

    /// The text of an instruction with new destinations, and these.
    pub fn compose(
        &mut self,
        i: &Instruction,
        operands: &[Value],
        random: &mut Random,
    ) -> (String, Vec<(String, Width)>) {
        let mut destinations = Vec::new();
        let mut new = |width: Width, b: &mut Builder| {
            let register = b.register(width);
            destinations.push((register.clone(), width));
            register
        };
        let destination = match i.outcome {
            Outcome::Register(width) => new(width, self),
            Outcome::Pred => new(Width::Pred, self),
            Outcome::Pair => format!("{}|{}", new(Width::Pred, self), new(Width::Pred, self)),
            Outcome::WithPred(width) => format!("{}|{}", new(width, self), new(Width::Pred, self)),
        };
        let mut values = operands.iter();
        let mut text = format!("{} {destination}", i.spelling);
        for operand in &i.operands {
            let _ = match operand {
                Operand::Lut => write!(text, ", {:#04x}", random.bits() & 0xff),
                Operand::Not => write!(text, ", !{}", values.next().map_or("", |v| &v.register)),
                Operand::Register(_) => {
                    write!(text, ", {}", values.next().map_or("", |v| &v.register))
                }
            };
        }
        text.push(';');
        (text, destinations)
    }

    /// An instruction on values; its results are stored.
    pub fn apply(
        &mut self,
        i: &Instruction,
        operands: &[Value],
        random: &mut Random,
    ) -> Vec<Value> {
        let (text, destinations) = self.compose(i, operands, random);
        self.line(&text);
        let sources: Vec<Source> = operands.iter().map(|v| v.source).collect();
        destinations
            .into_iter()
            .map(|(register, width)| {
                self.store(&register, width, &i.spelling, &text, sources.clone())
            })
            .collect()
    }

    /// The program.
    pub fn finish(self, number: u32, family: Family, seed: u64) -> Program {
        let mut ptx = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n\n.visible .entry {ENTRY}(.param .u64 conform_in, .param .u64 conform_out)\n\
             .maxntid {BLOCK}, 1, 1\n{{\n{}    .reg .b32 %t<4>;\n    .reg .b64 %in, %out, %out2, %out4, %out8;\n",
            self.variables
        );
        for (width, count) in &self.counts {
            let _ = writeln!(
                ptx,
                "    .reg .{} {}<{count}>;",
                width.untyped(),
                width.prefix()
            );
        }
        ptx += "    ld.param.u64 %in, [conform_in];\n    ld.param.u64 %out, [conform_out];\n\
                \x20   mov.u32 %t0, %ctaid.x;\n    mov.u32 %t1, %ntid.x;\n    mov.u32 %t2, %tid.x;\n\
                \x20   mad.lo.u32 %t3, %t0, %t1, %t2;\n    mad.wide.u32 %in, %t3, 8, %in;\n\
                \x20   mad.wide.u32 %out2, %t3, 2, %out;\n    mad.wide.u32 %out4, %t3, 4, %out;\n\
                \x20   mad.wide.u32 %out8, %t3, 8, %out;\n";
        ptx += &self.body;
        ptx += "    ret;\n}\n";
        Program {
            number,
            family,
            ptx,
            inputs: self.inputs,
            outputs: self.outputs,
            seed,
        }
    }
}

//! Counts machine instructions, to show what `ptxas` did below PTX.
//!
//! A simple reader for the output of `nvdisasm -g -c` (CUDA Binary Utilities, "nvdisasm"): predicate, opcode, modifiers,
//! operands and source line of each instruction. It does not model values, so it aligns nothing. It counts instructions by
//! class, and by class and source line, on both sides and in both languages, and summarises the counts in sentences.
//!
//! Limitations: it does not match instructions and cannot say why `ptxas` changed them. It knows the opcodes of the
//! architectures from Turing to Blackwell ("Instruction Set Reference" of the same manual); others count as arithmetic.

use super::Side;
use super::class::{InstructionClass, Space};
use super::code::Code;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One instruction of machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SassInstr {
    /// `@!P0`, without the `@`.
    pub guard: Option<String>,
    /// `LDG`
    pub opcode: String,
    /// The modifiers after the opcode, without dots: `E`, `64`.
    pub modifiers: Vec<String>,
    /// The operands, as printed.
    pub operands: String,
    /// The source line, counted from 1, if known.
    pub line: Option<u32>,
}

/// A kernel's machine code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SassFunction {
    /// Its mangled name.
    pub name: String,
    /// Its instructions without the padding at the end.
    pub instructions: Vec<SassInstr>,
}

/// Parses the output of `nvdisasm -g -c`.
pub fn parse(text: &str) -> Vec<SassFunction> {
    let mut functions: Vec<SassFunction> = Vec::new();
    let mut line = None;
    let mut inside = false;
    for raw in text.lines() {
        let trimmed = raw.trim();
        // `.sectionflags` and `.sectioninfo` belong to the section that they stand in.
        let section = trimmed.strip_prefix(".section");
        if let Some(section) = section.filter(|rest| rest.starts_with(char::is_whitespace)) {
            inside = false;
            if let Some(name) = section.trim_start().strip_prefix(".text.") {
                let name = name.split(',').next().unwrap_or(name).trim_matches('"');
                functions.push(SassFunction {
                    name: name.to_owned(),
                    instructions: Vec::new(),
                });
                (inside, line) = (true, None);
            }
        } else if let Some(place) = trimmed.strip_prefix("//## File") {
            // `//## File "kernel.cu", line 48` and, for inlined code, `inlined at "…", line 100`.
            line = place
                .split(", line ")
                .nth(1)
                .and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        } else if inside
            && let Some(function) = functions.last_mut()
            && let Some(instr) = instruction(trimmed, line)
        {
            function.instructions.push(instr);
        }
    }
    for function in &mut functions {
        // After the last exit come a branch to itself and padding.
        let end = function
            .instructions
            .iter()
            .rposition(|i| i.opcode != "NOP")
            .map_or(0, |at| at + 1);
        function.instructions.truncate(end);
        if function
            .instructions
            .last()
            .is_some_and(|i| i.opcode == "BRA" && i.guard.is_none())
            && function.instructions.len() >= 2
        {
            function.instructions.pop();
        }
    }
    functions
}

/// `/*0090*/  @!P0 LDC.64 R2, c[0x0][0x218] ;`
fn instruction(text: &str, line: Option<u32>) -> Option<SassInstr> {
    let (_, rest) = text.strip_prefix("/*")?.split_once("*/")?;
    let rest = rest
        .trim()
        .trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    // A line with only the encoding has no mnemonic.
    let rest = rest.trim_start_matches('{').trim();
    let (guard, rest) = match rest.strip_prefix('@') {
        Some(guarded) => {
            let (guard, rest) = guarded.split_once(char::is_whitespace)?;
            (Some(guard.to_owned()), rest.trim_start())
        }
        None => (None, rest),
    };
    let (name, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let mut words = name.split('.');
    let opcode = words
        .next()
        .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))?;
    Some(SassInstr {
        guard,
        opcode: opcode.to_owned(),
        modifiers: words.map(str::to_owned).collect(),
        operands: operands.trim().to_owned(),
        line,
    })
}

/// The classes of instructions, in display order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Loads from shared memory.
    SharedLoads,
    /// Stores to shared memory.
    SharedStores,
    /// Loads from global or generic memory.
    GlobalLoads,
    /// Stores to global or generic memory.
    GlobalStores,
    /// Accesses to local memory: spilled registers and arrays.
    LocalAccesses,
    /// Atomics that return the old value.
    Atomics,
    /// Atomics without a result.
    Reductions,
    /// Barriers of the block or the cluster.
    BlockBarriers,
    /// Barriers of the warp.
    WarpBarriers,
    /// Memory fences.
    Fences,
    /// Shuffles and votes.
    WarpExchanges,
    /// Conditional branches.
    Branches,
    /// Predicated instructions other than branches and exits.
    Predicated,
    /// Calls.
    Calls,
    /// All instructions.
    Instructions,
}

impl Kind {
    /// All classes.
    pub const ALL: &'static [Kind] = &[
        Kind::SharedLoads,
        Kind::SharedStores,
        Kind::GlobalLoads,
        Kind::GlobalStores,
        Kind::LocalAccesses,
        Kind::Atomics,
        Kind::Reductions,
        Kind::BlockBarriers,
        Kind::WarpBarriers,
        Kind::Fences,
        Kind::WarpExchanges,
        Kind::Branches,
        Kind::Predicated,
        Kind::Calls,
        Kind::Instructions,
    ];

    /// The name shown to the user.
    pub fn name(self) -> &'static str {
        match self {
            Kind::SharedLoads => "shared loads",
            Kind::SharedStores => "shared stores",
            Kind::GlobalLoads => "global loads",
            Kind::GlobalStores => "global stores",
            Kind::LocalAccesses => "local accesses",
            Kind::Atomics => "atomics",
            Kind::Reductions => "reductions",
            Kind::BlockBarriers => "block barriers",
            Kind::WarpBarriers => "warp barriers",
            Kind::Fences => "fences",
            Kind::WarpExchanges => "shuffles and votes",
            Kind::Branches => "conditional branches",
            Kind::Predicated => "predicated instructions",
            Kind::Calls => "calls",
            Kind::Instructions => "instructions",
        }
    }

    fn of_sass(i: &SassInstr) -> Option<Kind> {
        Some(match i.opcode.as_str() {
            "LDS" | "LDSM" => Kind::SharedLoads,
            "STS" | "STSM" => Kind::SharedStores,
            "LDG" | "LD" => Kind::GlobalLoads,
            "STG" | "ST" => Kind::GlobalStores,
            "LDL" | "STL" => Kind::LocalAccesses,
            "ATOM" | "ATOMG" | "ATOMS" => Kind::Atomics,
            "RED" | "REDG" | "REDS" => Kind::Reductions,
            "BAR" | "UCGABAR_ARV" | "UCGABAR_WAIT" => Kind::BlockBarriers,
            "WARPSYNC" => Kind::WarpBarriers,
            "MEMBAR" | "FENCE" => Kind::Fences,
            "SHFL" | "VOTE" | "VOTEU" | "MATCH" | "REDUX" | "CREDUX" => Kind::WarpExchanges,
            "BRA" | "BRX" | "JMP" if i.guard.is_some() => Kind::Branches,
            "CALL" => Kind::Calls,
            _ => return None,
        })
    }

    fn of_ptx(class: InstructionClass) -> Option<Kind> {
        Some(match class {
            InstructionClass::Load(Space::Shared) => Kind::SharedLoads,
            InstructionClass::Store(Space::Shared) => Kind::SharedStores,
            InstructionClass::Load(Space::Local) | InstructionClass::Store(Space::Local) => {
                Kind::LocalAccesses
            }
            InstructionClass::Load(Space::Global | Space::Generic) => Kind::GlobalLoads,
            InstructionClass::Store(Space::Global | Space::Generic) => Kind::GlobalStores,
            InstructionClass::Atomic(_) => Kind::Atomics,
            InstructionClass::Reduction(_) => Kind::Reductions,
            InstructionClass::BlockBarrier => Kind::BlockBarriers,
            InstructionClass::WarpBarrier => Kind::WarpBarriers,
            InstructionClass::Fence => Kind::Fences,
            InstructionClass::WarpExchange => Kind::WarpExchanges,
            InstructionClass::Branch => Kind::Branches,
            InstructionClass::Call => Kind::Calls,
            _ => return None,
        })
    }
}

/// Counts by kind, and by kind and source line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    by_kind: BTreeMap<Kind, usize>,
    by_line: BTreeMap<(Kind, u32), usize>,
}

impl Counts {
    fn add(&mut self, kind: Kind, line: Option<u32>) {
        *self.by_kind.entry(kind).or_default() += 1;
        if let Some(line) = line {
            *self.by_line.entry((kind, line)).or_default() += 1;
        }
    }

    /// How many there are.
    pub fn of(&self, kind: Kind) -> usize {
        self.by_kind.get(&kind).copied().unwrap_or(0)
    }

    /// Counts machine code.
    pub fn of_sass(function: &SassFunction) -> Counts {
        let mut counts = Counts::default();
        for i in &function.instructions {
            let kind = Kind::of_sass(i);
            counts.add(Kind::Instructions, None);
            if let Some(kind) = kind {
                counts.add(kind, i.line);
            }
            if i.guard.is_some()
                && !matches!(i.opcode.as_str(), "BRA" | "BRX" | "JMP" | "EXIT" | "RET")
            {
                counts.add(Kind::Predicated, i.line);
            }
        }
        counts
    }

    /// Counts PTX by innermost source line, as machine code does.
    pub fn of_ptx(code: &Code) -> Counts {
        let mut counts = Counts::default();
        for i in &code.instructions {
            let line = i
                .chain
                .map(|chain| code.chains[chain][0].line)
                .filter(|line| *line > 0);
            counts.add(Kind::Instructions, None);
            if let Some(kind) = Kind::of_ptx(i.class) {
                counts.add(kind, line);
            }
            if i.instr.guard.is_some()
                && !matches!(i.class, InstructionClass::Branch | InstructionClass::Leave)
            {
                counts.add(Kind::Predicated, line);
            }
        }
        counts
    }
}

/// The counts of both languages on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MachineReport {
    /// The kinds that occur, with their counts.
    pub rows: Vec<MachineRow>,
    /// Notes on what happened below PTX.
    pub notes: Vec<String>,
    /// Whether the two sides have the same counts in machine code.
    pub same: bool,
}

/// One kind's counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MachineRow {
    /// The class.
    pub kind: Kind,
    /// In A's PTX.
    pub ptx_a: usize,
    /// In A's machine code.
    pub sass_a: usize,
    /// In B's PTX.
    pub ptx_b: usize,
    /// In B's machine code.
    pub sass_b: usize,
}

/// A listing that has no instruction of a kernel, so that nothing follows from its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the machine code of {0} has no instruction of the kernel that this program can read")]
pub struct NoInstructions(pub Side);

/// Combines the counts: PTX and machine code of A, then of B.
///
/// # Errors
///
/// The machine code of a side has no instruction.
pub fn report(
    a: (&Counts, &Counts),
    b: (&Counts, &Counts),
) -> Result<MachineReport, NoInstructions> {
    for (side, counts) in [(Side::A, a.1), (Side::B, b.1)] {
        if counts.of(Kind::Instructions) == 0 {
            return Err(NoInstructions(side));
        }
    }
    let row = |kind: &Kind| MachineRow {
        kind: *kind,
        ptx_a: a.0.of(*kind),
        sass_a: a.1.of(*kind),
        ptx_b: b.0.of(*kind),
        sass_b: b.1.of(*kind),
    };
    let all: Vec<MachineRow> = Kind::ALL.iter().map(row).collect();
    let mut notes = Vec::new();
    for (side, (ptx, sass)) in [("A", a), ("B", b)] {
        notes.extend(
            below(ptx, sass)
                .into_iter()
                .map(|note| format!("{side}: {note}")),
        );
    }
    for row in &all {
        let only_below =
            row.ptx_a == row.ptx_b && row.sass_a != row.sass_b && row.kind != Kind::Instructions;
        if only_below {
            notes.push(format!(
                "{} differ only below PTX: {} in A, {} in B; the PTX has {} on each side",
                row.kind.name(),
                row.sass_a,
                row.sass_b,
                row.ptx_a
            ));
        }
    }
    Ok(MachineReport {
        same: all.iter().all(|row| row.sass_a == row.sass_b),
        rows: all
            .into_iter()
            .filter(|r| r.ptx_a + r.sass_a + r.ptx_b + r.sass_b > 0)
            .collect(),
        notes,
    })
}

/// What `ptxas` did to one side.
fn below(ptx: &Counts, sass: &Counts) -> Vec<String> {
    let mut notes = Vec::new();
    let fewer = |kind| ptx.of(kind).saturating_sub(sass.of(kind));
    let reduced = fewer(Kind::Atomics).min(
        sass.of(Kind::Reductions)
            .saturating_sub(ptx.of(Kind::Reductions)),
    );
    if reduced > 0 {
        notes.push(format!(
            "{reduced} of {} atomics turned into reductions below PTX",
            ptx.of(Kind::Atomics)
        ));
    }
    let (gone, more) = (
        fewer(Kind::Branches),
        sass.of(Kind::Predicated)
            .saturating_sub(ptx.of(Kind::Predicated)),
    );
    if gone > 0 && more > 0 {
        notes.push(format!(
            "{gone} branches turned into predicates below PTX: {more} more instructions are predicated"
        ));
    }
    let spilled = sass
        .of(Kind::LocalAccesses)
        .saturating_sub(ptx.of(Kind::LocalAccesses));
    if spilled > 0 {
        notes.push(format!(
            "{spilled} accesses to local memory that the PTX does not have: registers were spilled"
        ));
    }
    for kind in [Kind::BlockBarriers, Kind::WarpBarriers, Kind::Fences] {
        if fewer(kind) > 0 {
            notes.push(format!(
                "{} of {} {} have no separate instruction below PTX",
                fewer(kind),
                ptx.of(kind),
                kind.name()
            ));
        }
    }
    for kind in [
        Kind::SharedLoads,
        Kind::SharedStores,
        Kind::GlobalLoads,
        Kind::GlobalStores,
    ] {
        if fewer(kind) > 0 {
            notes.push(format!(
                "{} of {} {} elided or merged below PTX",
                fewer(kind),
                ptx.of(kind),
                kind.name()
            ));
        }
    }
    // If the accesses of a line appear several times as often, a loop was unrolled.
    let mut unrolled: BTreeMap<u32, usize> = BTreeMap::new();
    for ((kind, line), count) in &sass.by_line {
        let before = ptx.by_line.get(&(*kind, *line)).copied().unwrap_or(0);
        let works = !matches!(kind, Kind::Predicated | Kind::Branches);
        if works && before > 0 && *count >= 2 * before {
            let factor = unrolled.entry(*line).or_default();
            *factor = (*factor).max(count / before);
        }
    }
    for (line, factor) in unrolled {
        notes.push(format!("line {line} appears {factor} times as often below PTX: its loop was unrolled or its code copied"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = r#"
	.target	sm_90
	.section	.text._Z4scanPi,"ax",@progbits
.text._Z4scanPi:
	//## File "scan.cu", line 48
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E R0, desc[UR6][R2.64] ;
	//## File "scan.cu", line 51 inlined at "scan.cu", line 90
        /*0020*/                   STS [R7+0x80], R0 ;
        /*0030*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
.L_x_0:
        /*0040*/               @P1 BRA `(.L_x_0) ;
        /*0050*/                   RED.E.ADD.STRONG.GPU desc[UR4][R2.64], R5 ;
        /*0060*/                   EXIT ;
.L_x_1:
        /*0070*/                   BRA `(.L_x_1);
        /*0080*/                   NOP;
"#;

    #[test]
    fn reads_what_nvdisasm_prints() {
        let functions = parse(PRINTED);
        assert_eq!(functions.len(), 1);
        let SassFunction { name, instructions } = &functions[0];
        assert_eq!(name, "_Z4scanPi");
        let opcodes: Vec<&str> = instructions.iter().map(|i| i.opcode.as_str()).collect();
        assert_eq!(opcodes, ["LDC", "LDG", "STS", "BAR", "BRA", "RED", "EXIT"]);
        assert_eq!(instructions[1].guard.as_deref(), Some("!P0"));
        assert_eq!(instructions[1].modifiers, ["E"]);
        assert_eq!(instructions[2].line, Some(51));
        assert_eq!(instructions[2].operands, "[R7+0x80], R0");
    }

    #[test]
    fn nothing_follows_from_no_instruction() {
        let (some, none) = (Counts::of_sass(&parse(PRINTED)[0]), Counts::default());
        let refused = report((&some, &some), (&some, &none));
        assert_eq!(refused, Err(NoInstructions(Side::B)));
    }

    #[test]
    fn counts_become_sentences() {
        let sass = Counts::of_sass(&parse(PRINTED)[0]);
        let mut ptx = sass.clone();
        ptx.by_kind.insert(Kind::Atomics, 1);
        ptx.by_kind.remove(&Kind::Reductions);
        ptx.by_kind.insert(Kind::Branches, 2);
        ptx.by_kind.remove(&Kind::Predicated);
        let report = report((&ptx, &sass), (&ptx, &sass)).unwrap();
        assert!(report.same);
        assert_eq!(
            report.notes[..2],
            [
                "A: 1 of 1 atomics turned into reductions below PTX",
                "A: 1 branches turned into predicates below PTX: 1 more instructions are predicated"
            ]
        );
    }
}

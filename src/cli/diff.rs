//! `racetrap diff`: compares the PTX of two kernels and reports what the compiler did.

mod across;
mod operand;

use super::progress::Progress;
use super::run::Where;
use clap::{Args, ValueEnum};
use operand::{Builder, Built, Operand, Variant};
use ptx::ast::Function;
use ptx::{demangle, matches_entry};
use ptxdiff::report::{DiffReport, FunctionReport, VERSION};
use ptxdiff::sass::{self, Counts, SassFunction};
use ptxdiff::text::{Layout, render};
use ptxdiff::{FunctionDiff, Unit};
use report::Failure;
use report::Sources;
use report::exit;
use std::path::PathBuf;
use toolchain::{Release, SassError, SassTools};

const EXAMPLES: &str = "\
An operand is one of these:
  - a case of the catalogue, by its name or an unambiguous start of it
  - a kernel with its macros: `scan/warp.cu:BUG_PLAIN_POINTER`, `mine.cu:N=4,FAST`
  - a `.cu` file or a `.ptx` file
A single operand is compared with itself, compiled in two ways (`--opt 0,3`, `--arch sm_75,sm_90`,
`--cuda 12.0,13.0` or `--b-flags=--use_fast_math`); or two of its kernels are compared (`--entry first,second`).

The comparison ignores the names of registers and labels and the order of basic blocks. It resolves
addresses to sums of symbols, parameters and special registers. Cases use their pinned PTX, so they need
no compiler. `--cuda` installs compilers from PyPI into $XDG_CACHE_HOME/racetrap.

Examples:
  racetrap diff scan/warp/plain scan/warp/volatile     which accesses does volatile keep?
  racetrap diff reduce/last_warp/plain-pointer reduce/last_warp/syncwarp
  racetrap diff mine.cu:FAST mine.cu                   what does FAST change?
  racetrap diff mine.cu --opt 0,3                      what does the optimiser do?
  racetrap diff scan/warp/volatile --cuda 12.0,13.0    do two compilers agree?
  racetrap diff mine.cu --b-flags=--use_fast_math      what does a flag change?
  racetrap diff scan/warp/plain scan/warp/volatile --sass --effects
  racetrap diff --across scan --cuda 12.0,13.0         do the cases' claims hold with both?
  racetrap diff both.ptx --entry plain,fixed           two kernels of one file
  racetrap diff old.ptx new.ptx --format json          JSON for programs (docs/diff.schema.json)
  racetrap explain store-elided                        what does this effect mean?

Exit status, as for diff(1): 0 equal, 1 different, 2 invalid input, 3 a compiler or tool is not available.";

/// Options of `racetrap diff`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DiffArgs {
    /// One or two operands; with --across, patterns of cases [default: all]
    #[arg(value_name = "A [B]", required_unless_present = "across")]
    operands: Vec<String>,
    #[command(flatten)]
    place: Where,
    /// Compare only this kernel; two names separated by a comma for A and B
    #[arg(long, value_name = "NAME[,NAME]")]
    entry: Option<String>,

    /// Optimisation level, 0 (nvcc -G) to 3; two separated by a comma for A and B
    #[arg(
        long,
        value_name = "0..3",
        value_delimiter = ',',
        help_heading = "Compiler"
    )]
    opt: Vec<u8>,
    /// GPU architecture; two separated by a comma for A and B
    #[arg(
        long,
        value_name = "sm_NN",
        value_delimiter = ',',
        help_heading = "Compiler"
    )]
    arch: Vec<String>,
    /// CUDA release, installed from PyPI on demand; two separated by a comma for A and B
    #[arg(
        long,
        value_name = "12.0",
        value_delimiter = ',',
        help_heading = "Compiler"
    )]
    cuda: Vec<Release>,
    /// Compiler flags for A alone: `--a-flags=--fmad=false`, `--a-flags="-maxrregcount=32 --ftz=true"`
    #[arg(
        long,
        value_name = "FLAGS",
        allow_hyphen_values = true,
        help_heading = "Compiler"
    )]
    a_flags: Option<String>,
    /// Compiler flags for B alone
    #[arg(
        long,
        value_name = "FLAGS",
        allow_hyphen_values = true,
        help_heading = "Compiler"
    )]
    b_flags: Option<String>,
    /// Define a macro for both operands
    #[arg(short = 'D', value_name = "NAME[=VALUE]", help_heading = "Compiler")]
    defines: Vec<String>,
    /// Add a folder of headers
    #[arg(short = 'I', value_name = "FOLDER", help_heading = "Compiler")]
    includes: Vec<PathBuf>,
    /// C++ standard: c++17, c++20
    #[arg(long, value_name = "STANDARD", help_heading = "Compiler")]
    std: Option<String>,

    /// Also count machine instructions, to show what ptxas did (installs ptxas and nvdisasm from PyPI if missing)
    #[arg(long, help_heading = "Output")]
    sass: bool,
    /// Check the `ptx` keys of cases with each CUDA release (--cuda) and target (--arch)
    #[arg(long, help_heading = "Across compilers")]
    across: bool,
    /// Write the results to across.json and across.md in this folder
    #[arg(
        long,
        value_name = "FOLDER",
        requires = "across",
        help_heading = "Across compilers"
    )]
    write: Option<PathBuf>,
    /// Cores to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Across compilers")]
    jobs: Option<u32>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    format: Format,
    /// Show all instructions, not only those near a difference
    #[arg(long, help_heading = "Output")]
    all: bool,
    /// Instructions to show around a difference
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = "Output")]
    context: usize,
    /// Show only the effects, without the instructions
    #[arg(long, help_heading = "Output", conflicts_with = "all")]
    effects: bool,
    /// Width in columns; from 100 on, the sides are shown side by side [default: the terminal's, or 120]
    #[arg(long, value_name = "COLUMNS", help_heading = "Output", value_parser = clap::value_parser!(u16).range(40..=1000))]
    width: Option<u16>,
}

/// Output formats for a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for people.
    Text,
    /// A JSON document (docs/diff.schema.json).
    Json,
}

/// Compares two operands.
///
/// # Errors
///
/// An operand is invalid, a file or compiler is not available, or the kernels cannot be matched.
pub fn diff(args: &DiffArgs, color: bool) -> Result<(String, u8), Failure> {
    let catalog = args.place.load()?;
    if args.across {
        return across::across(args, &catalog);
    }
    let (first, second) = match &args.operands[..] {
        [one] => (
            Operand::parse(one, &catalog)?,
            Operand::parse(one, &catalog)?,
        ),
        [a, b] => (Operand::parse(a, &catalog)?, Operand::parse(b, &catalog)?),
        more => {
            return Err(Failure::usage(format!(
                "expected one or two operands, got {}",
                more.len()
            ))
            .help("`racetrap diff --across` checks the `ptx` keys of many cases"));
        }
    };
    // Two kernels of one file are two operands.
    let kernels = args.entry.as_deref().and_then(two_names);
    let two = args.operands.len() == 2 || kernels.is_some_and(|(a, b)| a.trim() != b.trim());
    let variants = variants(args, two)?;
    if let (Operand::Ptx(path), [_]) = (&first, &args.operands[..])
        && (!two || variants[0] != variants[1])
    {
        return Err(Failure::usage(format!(
            "`{}` is PTX, so it cannot be compiled in two ways",
            path.display()
        ))
        .help("give a second operand, the CUDA source, or two of its kernels: `--entry A,B`"));
    }
    let mut sources = Sources::new();
    let progress = Progress::spinner(true);
    let mut builder = Builder {
        catalog: &catalog,
        defines: &args.defines,
        includes: &args.includes,
        std: args.std.as_deref(),
        say: &|text| progress.say(text),
        sources: &mut sources,
    };
    let a = builder.build(&first, &variants[0])?;
    let b = builder.build(&second, &variants[1])?;
    let tools = match args.sass {
        true => Some(SassTools::find(&|text| progress.say(text)).map_err(no_machine_code)?),
        false => None,
    };
    let report = compare(&a, &b, args.entry.as_deref(), tools.as_ref())?;
    progress.end();
    let code = match report.same {
        true => exit::OK,
        false => exit::FINDINGS,
    };
    let text = match args.format {
        Format::Json => {
            let mut text = serde_json::to_string_pretty(&report)
                .map_err(|e| Failure::inconclusive(format!("can't write JSON: {e}")))?;
            text.push('\n');
            text
        }
        Format::Text => {
            let layout = Layout {
                width: args.width.map_or_else(width, usize::from),
                context: (!args.all).then_some(args.context),
                color,
                listing: !args.effects,
            };
            render(&report, &layout, &mut |file, line| {
                sources.find(file)?.line(line).map(str::to_owned)
            })
        }
    };
    Ok((text, code))
}

/// The width of the terminal.
fn width() -> usize {
    terminal_size::terminal_size().map_or(120, |(width, _)| usize::from(width.0).max(40))
}

/// The two names around a comma outside brackets: `a,b`, `scan<int, 2>,scan<int, 4>`.
fn two_names(names: &str) -> Option<(&str, &str)> {
    let mut depth = 0i32;
    let comma = names.char_indices().find(|(_, c)| {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            _ => {}
        }
        *c == ',' && depth == 0
    })?;
    Some((&names[..comma.0], &names[comma.0 + 1..]))
}

/// How each side is compiled.
fn variants(args: &DiffArgs, two: bool) -> Result<[Variant; 2], Failure> {
    fn pick<T: Clone>(given: &[T], option: &str) -> Result<[Option<T>; 2], Failure> {
        match given {
            [] => Ok([None, None]),
            [both] => Ok([Some(both.clone()), Some(both.clone())]),
            [a, b] => Ok([Some(a.clone()), Some(b.clone())]),
            more => Err(
                Failure::usage(format!("`{option}` has {} values", more.len())).help(
                    "give one value for both sides, or one each for A and B; `racetrap diff --across` compares many",
                ),
            ),
        }
    }
    if let Some(level) = args.opt.iter().find(|level| **level > 3) {
        return Err(
            Failure::usage(format!("unknown optimisation level {level}"))
                .help("use a level from 0 to 3"),
        );
    }
    for arch in &args.arch {
        let digits = arch
            .strip_prefix("sm_")
            .is_some_and(|d| d.starts_with(|c: char| c.is_ascii_digit()));
        if !digits {
            return Err(
                Failure::usage(format!("`{arch}` is not a GPU architecture"))
                    .help("use for example `--arch sm_75,sm_90`"),
            );
        }
    }
    let [level_a, level_b] = pick(&args.opt, "--opt")?;
    let [target_a, target_b] = pick(&args.arch, "--arch")?;
    let [release_a, release_b] = pick(&args.cuda, "--cuda")?;
    let flags = |given: &Option<String>| -> Vec<String> {
        let words = given.iter().flat_map(|flags| flags.split_whitespace());
        words.map(str::to_owned).collect()
    };
    let variants = [
        Variant {
            flags: flags(&args.a_flags),
            level: level_a,
            target: target_a,
            release: release_a,
        },
        Variant {
            flags: flags(&args.b_flags),
            level: level_b,
            target: target_b,
            release: release_b,
        },
    ];
    if !two && variants[0] == variants[1] {
        return Err(Failure::usage("there is nothing to compare: one operand, compiled in one way")
            .help("give a second operand, or two levels, targets, releases, flags or kernels: `--opt 0,3`, `--arch sm_75,sm_90`, `--cuda 12.0,13.0`, `--b-flags=--use_fast_math`, `--entry first,second`"));
    }
    Ok(variants)
}

/// Compares the kernels of two modules.
fn compare(
    a: &Built,
    b: &Built,
    wanted: Option<&str>,
    tools: Option<&SassTools>,
) -> Result<DiffReport, Failure> {
    let (mine, theirs) = match wanted {
        None => (kernels(a, None)?, kernels(b, None)?),
        Some(names) => {
            let (first, second) = two_names(names).unwrap_or((names, names));
            (
                kernels(a, Some(first.trim()))?,
                kernels(b, Some(second.trim()))?,
            )
        }
    };
    let mut report = DiffReport {
        version: VERSION,
        same: false,
        a: a.operand.clone(),
        b: b.operand.clone(),
        functions: Vec::new(),
        only_a: Vec::new(),
        only_b: Vec::new(),
    };
    let mut left: Vec<&Function> = theirs.clone();
    let mut pairs = Vec::new();
    if let ([x], [y]) = (&mine[..], &theirs[..]) {
        pairs.push((*x, *y));
        left.clear();
    } else {
        for x in &mine {
            match left
                .iter()
                .position(|y| y.name == x.name || plain(y) == plain(x))
            {
                Some(at) => pairs.push((*x, left.remove(at))),
                None => report.only_a.push(demangle(&x.name)),
            }
        }
    }
    report.only_b = left.iter().map(|y| demangle(&y.name)).collect();
    if pairs.is_empty() {
        let list =
            |unit: &[&Function]| unit.iter().map(|f| plain(f)).collect::<Vec<_>>().join(", ");
        return Err(Failure::usage("A and B have no kernel of the same name")
            .text(format!("A: {}\nB: {}", list(&mine), list(&theirs)))
            .help("select the kernels: `--entry NAME_IN_A,NAME_IN_B`"));
    }
    let machine = match tools {
        Some(tools) => Some((machine_code(tools, a)?, machine_code(tools, b)?)),
        None => None,
    };
    for (x, y) in pairs {
        let diff = FunctionDiff::of((&a.unit, x), (&b.unit, y)).map_err(|error| {
            Failure::usage(error.to_string())
                .help("check with `ptxas` of the CUDA toolkit whether the file is valid PTX")
        })?;
        let mut function = FunctionReport::of(&diff, &a.unit, &b.unit);
        if let Some((first, second)) = &machine {
            let counts = |all: &[SassFunction], name: &str| {
                all.iter()
                    .find(|f| f.name == name)
                    .map(Counts::of_sass)
                    .unwrap_or_default()
            };
            let (below_a, below_b) = (counts(first, &x.name), counts(second, &y.name));
            let (above_a, above_b) = (Counts::of_ptx(&diff.a), Counts::of_ptx(&diff.b));
            let machine = sass::report((&above_a, &below_a), (&above_b, &below_b));
            let machine = machine.map_err(|error| {
                Failure::inconclusive(format!("`{}`: {error}", plain(x)))
                    .help("another release of nvdisasm may print it in another way")
            })?;
            function.same &= machine.same;
            function.machine = Some(machine);
        }
        report.functions.push(function);
    }
    report.same = report.only_a.is_empty()
        && report.only_b.is_empty()
        && report.functions.iter().all(|f| f.same);
    Ok(report)
}

/// The machine code of one side.
fn machine_code(tools: &SassTools, built: &Built) -> Result<Vec<SassFunction>, Failure> {
    let target = built
        .unit
        .module
        .target
        .first()
        .map_or("sm_75", String::as_str);
    let text = tools
        .disassemble(&built.unit.text, target, &built.operand.name)
        .map_err(no_machine_code)?;
    Ok(sass::parse(&text))
}

fn no_machine_code(error: SassError) -> Failure {
    match error {
        SassError::Install(error) => operand::not_installed(error),
        SassError::Refused { ref messages, .. } => Failure::inconclusive(error.to_string())
            .text(messages.clone())
            .help("newer PTX needs a newer `ptxas` on the PATH"),
        SassError::Start { .. } => Failure::inconclusive(error.to_string()),
    }
}

/// A kernel's name without its parameters.
fn plain(function: &Function) -> String {
    ::check::entry::plain(&function.name)
}

/// The kernels to compare: the named one, those that a case launches, or all.
fn kernels<'b>(built: &'b Built, wanted: Option<&str>) -> Result<Vec<&'b Function>, Failure> {
    let unit: &Unit = &built.unit;
    let named = |name: &str| -> Vec<&Function> {
        unit.entries()
            .filter(|f| f.name == name || matches_entry(&f.name, name))
            .collect()
    };
    let all = || unit.entries().map(plain).collect::<Vec<_>>().join("\n");
    match wanted {
        Some(name) => match named(name)[..] {
            [] => Err(
                Failure::usage(format!("`{}` has no kernel `{name}`", built.operand.name))
                    .text(all()),
            ),
            [one] => Ok(vec![one]),
            ref several => Err(Failure::usage(format!(
                "`{name}` names {} kernels of `{}`",
                several.len(),
                built.operand.name
            ))
            .text(
                several
                    .iter()
                    .map(|f| demangle(&f.name))
                    .collect::<Vec<_>>()
                    .join("\n"),
            )),
        },
        None if built.launched.is_empty() => Ok(unit.entries().collect()),
        None => {
            let found: Vec<&Function> = built
                .launched
                .iter()
                .filter_map(|name| unit.entry(name))
                .collect();
            match found.is_empty() {
                true => Err(Failure::usage(format!(
                    "`{}` defines none of the kernels that it launches",
                    built.operand.name
                ))
                .text(all())),
                false => Ok(found),
            }
        }
    }
}

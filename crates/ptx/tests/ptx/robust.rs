//! Whatever the bytes, the front end answers: a tree that prints and parses back,
//! or an error with its place. And it answers soon.

use proptest::prelude::*;
use ptx::{self, Cfg, Flat, SourceMap, ast::*};

/// Everything that is done with a file. Panics are the failures looked for.
fn exercise(bytes: &[u8]) -> Result<(), TestCaseError> {
    let module = match ptx::parse_bytes(bytes) {
        Ok(module) => module,
        Err(error) => {
            let lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count();
            prop_assert!(error.line >= 1 && error.line as usize <= lines, "{}", error);
            prop_assert!(error.column >= 1 && !error.to_string().is_empty());
            return Ok(());
        }
    };
    let text = ptx::print(&module);
    match ptx::parse(&text) {
        Ok(again) => prop_assert!(again == module, "{}", text),
        Err(error) => prop_assert!(false, "{}\n{}", error, text),
    }
    let map = SourceMap::of(&module);
    for item in &module.items {
        let Item::Function(function) = item else {
            continue;
        };
        ptx::matches_entry(&function.name, "kernel");
        let Ok(flat) = Flat::of(function) else {
            continue;
        };
        for at in &flat.instructions {
            prop_assert!(at.loc.is_none_or(|loc| !map.chain(loc).is_empty()));
            for operand in &at.instr.operands {
                if let Operand::Name(name, _) = operand {
                    flat.lookup(at.scope, name);
                }
            }
        }
        if let Ok(cfg) = Cfg::of_flat(&flat) {
            prop_assert_eq!(cfg.block_of.len(), flat.instructions.len());
            cfg.loops();
        }
    }
    Ok(())
}

/// A change to a file, at a place given as a fraction of its length.
#[derive(Clone, Debug)]
enum Edit {
    Delete(f64, usize),
    Copy(f64, f64, usize),
    Insert(f64, Vec<u8>),
    Flip(f64, u8),
    Truncate(f64),
}

/// Pieces of PTX that matter to the parser.
const PIECES: [&str; 36] = [
    "{", "}", "(", ")", "[", "]", "<", ">", ",", ";", ":", "::", "@", "!", "|", "+", "-", "\"",
    "\\", "/*", "*/", "//", "\n", ".", ".section", ".loc", ".reg", ".b32", ".entry", "call", "0x",
    "0f", "1e", "%r<4>", "é", "\0",
];

fn edit() -> impl Strategy<Value = Edit> {
    let place = || 0.0..1.0f64;
    let piece = prop::sample::select(PIECES.to_vec()).prop_map(|piece| piece.as_bytes().to_vec());
    let bytes = prop::collection::vec(any::<u8>(), 1..5);
    prop_oneof![
        2 => (place(), 1..60usize).prop_map(|(at, length)| Edit::Delete(at, length)),
        2 => (place(), place(), 1..300usize).prop_map(|(from, to, n)| Edit::Copy(from, to, n)),
        4 => (place(), piece).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        1 => (place(), bytes).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        1 => (place(), 0..8u8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        1 => place().prop_map(Edit::Truncate),
    ]
}

fn apply(text: &mut Vec<u8>, edit: &Edit) {
    let place = |at: f64| (at * text.len() as f64) as usize;
    match edit {
        Edit::Delete(at, length) => {
            let at = place(*at);
            text.drain(at..(at + length).min(text.len()));
        }
        Edit::Copy(from, to, length) => {
            let (from, to) = (place(*from), place(*to));
            let piece = text[from..(from + length).min(text.len())].to_vec();
            text.splice(to..to, piece);
        }
        Edit::Insert(at, bytes) => {
            let at = place(*at);
            text.splice(at..at, bytes.iter().copied());
        }
        Edit::Flip(at, bit) => {
            let at = place(*at);
            if let Some(byte) = text.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        Edit::Truncate(at) => text.truncate(place(*at)),
    }
}

proptest! {
    #![proptest_config(testing::random(4000))]

    #[test]
    fn mutated_samples_never_panic(
        sample in any::<prop::sample::Index>(),
        edits in prop::collection::vec(edit(), 1..6),
    ) {
        let samples = crate::samples::small();
        let mut text = samples[sample.index(samples.len())].as_bytes().to_vec();
        edits.iter().for_each(|edit| apply(&mut text, edit));
        exercise(&text)?;
    }

    #[test]
    fn random_pieces_never_panic(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..60),
    ) {
        let head = ".version 8.0\n.target sm_90\n.entry k() {\n";
        exercise(format!("{head}{}", pieces.join(" ")).as_bytes())?;
        exercise(format!("{head}{}", pieces.concat()).as_bytes())?;
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        exercise(&bytes)?;
    }
}

#[test]
fn every_prefix_of_a_sample_is_answered() {
    let sample = &crate::samples::small()[0];
    for end in 0..sample.len() {
        exercise(&sample.as_bytes()[..end]).unwrap();
    }
}

/// The time per byte must not grow with the length: texts that would trap a parser
/// that backtracks or searches, ten times as long.
#[test]
fn long_texts_take_time_in_proportion() {
    let head = ".version 8.0\n.target sm_90\n";
    let body = ".entry k() {\n.reg .b32 %r<9>;\n";
    let texts: [(&str, &str, &str); 8] = [
        (body, "add.u32 %r1, %r2, 3; // comment\n", "}"),
        (body, "call (a), f, (a, b);\n", "}"),
        (body, "call f, (1+2)*3;\n", "}"),
        (body, "call f, ((1;\n", "}"),
        (
            body,
            ".loc 1 5 3, function_name f, inlined_at 1 5 3\n",
            "ret; }",
        ),
        (body, "{ .reg .b32 t; mov.u32 t, 1; }\n", "}"),
        (".global .u32 x[] = {", "1, {2}, ", "3};"),
        (".section .debug_str {\n", "a: .b8 1 /* c */\n", "}"),
    ];
    for (open, repeat, close) in texts {
        let time = |count: usize| {
            let source = format!("{head}{open}{}{close}", repeat.repeat(count));
            let start = std::time::Instant::now();
            if let Ok(module) = ptx::parse(&source) {
                SourceMap::of(&module);
            }
            start.elapsed().as_secs_f64()
        };
        // The best of some, since the machine may be busy.
        let best = |count: usize| (0..5).map(|_| time(count)).fold(f64::INFINITY, f64::min);
        let (short, long) = (best(2_000), best(20_000));
        assert!(
            long < 60.0 * short + 0.05,
            "{repeat:?}: {short} s, then {long} s"
        );
    }
}

/// Statements may be empty, wherever one may stand.
#[test]
fn empty_statements_are_answered() {
    for sample in crate::samples::small() {
        let ends = sample.char_indices().filter(|(_, c)| ":;{}".contains(*c));
        for at in ends.map(|(at, _)| at + 1) {
            let mut text = sample.as_bytes().to_vec();
            text.insert(at, b';');
            if let Err(error) = exercise(&text) {
                let before = &sample[at.saturating_sub(60)..at];
                let after = &sample[at..(at + 60).min(sample.len())];
                panic!("`{before}` ; `{after}`: {error}");
            }
        }
    }
}

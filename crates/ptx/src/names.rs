//! C++ names: PTX has them mangled, people write them plain.

use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// The readable form of a mangled name; other names, and those whose readable form
/// is longer than 64 KiB, as they are.
///
/// ```
/// # use racetrap_ptx::demangle;
/// assert_eq!(demangle("_Z4scanPii"), "scan(int*, int)");
/// assert_eq!(demangle("plain_c"), "plain_c");
/// assert_eq!(demangle("f"), "f");
/// let numba = "_ZN6cudapy8__main__7reverseB2v1B106cw51cXTLSUwv1sCUt9Uw11Ew1dRRwGKFLSgtAWVgaQPKRwoMW3A4A4MbLeahKhGJDEkANeHAJJA8YlutDgtedSsFaDSpAyWBPONaTQA_3dEi";
/// assert_eq!(demangle(numba), "__main__::reverse(int)");
/// ```
pub fn demangle(name: &str) -> String {
    demangle_with(name, DemangleOptions::new()).unwrap_or_else(|| name.to_owned())
}

/// A mangled name without what differs from one compilation to the next: nvcc writes the process that compiled a file into the names
/// that are local to it.
///
/// ```
/// # use racetrap_ptx::stable_name;
/// let first = "_ZN33_GLOBAL__N__1631ff85_4_k_cu_86_994scanEPii";
/// let second = "_ZN34_GLOBAL__N__1631ff85_4_k_cu_86_1004scanEPii";
/// assert_eq!(stable_name(first), "_ZN12_GLOBAL__N_14scanEPii");
/// assert_eq!(stable_name(first), stable_name(second));
/// assert_eq!(stable_name("_Z4scanPii"), "_Z4scanPii");
/// ```
pub fn stable_name(mangled: &str) -> std::borrow::Cow<'_, str> {
    const LOCAL: &str = "_GLOBAL__N_";
    if !mangled.contains(LOCAL) {
        return mangled.into();
    }
    let mut out = String::with_capacity(mangled.len());
    let mut rest = mangled;
    while let Some(at) = rest.find(LOCAL) {
        let before = rest[..at].trim_end_matches(|c: char| c.is_ascii_digit());
        let length: Option<usize> = rest[before.len()..at].parse().ok();
        let end = length.and_then(|length| at.checked_add(length));
        match end.filter(|end| *end >= at + LOCAL.len() && rest.is_char_boundary(*end)) {
            Some(end) => {
                out.push_str(before);
                // What the Itanium C++ ABI calls the namespace.
                out.push_str("12_GLOBAL__N_1");
                rest = &rest[end..];
            }
            None => {
                let end = at + LOCAL.len();
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        }
    }
    out.push_str(rest);
    out.into()
}

/// A name for messages: one that fills screens (names in PTX have no limit) keeps its beginning and its end.
///
/// ```
/// # use racetrap_ptx::shortened;
/// assert_eq!(shortened("scan(int*, int)"), "scan(int*, int)");
/// assert_eq!(shortened(&"x".repeat(100_000)).chars().count(), 241);
/// ```
pub fn shortened(name: &str) -> std::borrow::Cow<'_, str> {
    const MOST: usize = 400;
    const ENDS: usize = 120;
    if name.len() <= MOST {
        return name.into();
    }
    let start = name.chars().take(ENDS);
    let mut end: Vec<char> = name.chars().rev().take(ENDS).collect();
    end.reverse();
    start.chain(['…']).chain(end).collect::<String>().into()
}

/// Whether the entry with the name `mangled` is what somebody means who writes
/// `plain`: the mangled name itself, the demangled one, or that without
/// parameters, template arguments or leading namespaces.
///
/// ```
/// # use racetrap_ptx::matches_entry;
/// assert!(matches_entry("_Z4scanPii", "scan"));
/// assert!(matches_entry("_Z4scanPii", "scan(int*, int)"));
/// assert!(matches_entry("_ZN2ns4scanIiEEvPT_i", "ns::scan<int>"));
/// assert!(matches_entry("_ZN2ns4scanIiEEvPT_i", "scan"));
/// assert!(matches_entry("_Z4scanILm128EEvPf", "scan"));
/// assert!(matches_entry("_Z4scanILm128EEvPf", "scan<128>"));
/// assert!(matches_entry("_Z4scanILm128EEvPf", "scan<(unsigned long)128>(float*)"));
/// assert!(matches_entry("_Z4scanILm128EEvPf", "scan<0x80ul>"));
/// assert!(!matches_entry("_Z4scanILm128EEvPf", "scan<64>"));
/// assert!(!matches_entry("_Z7prescanPii", "scan"));
/// ```
pub fn matches_entry(mangled: &str, plain: &str) -> bool {
    let plain = without_blanks(plain);
    if plain == without_blanks(mangled) {
        return true;
    }
    let spellings = spellings(mangled);
    spellings.iter().any(|name| is_path_suffix(name, &plain))
        || spellings.iter().any(|name| is_instance(name, &plain))
}

/// Whether an instance of a template, by its name without blanks, is the one that somebody names by its arguments as a source has them:
/// characters and numbers in any notation, enumerators by their names, and without the last ones, which may have defaults.
fn is_instance(instance: &str, plain: &str) -> bool {
    let path = &instance[..parameters_at(instance)];
    let wanted = &plain[..parameters_at(plain)];
    let parameters = &plain[wanted.len()..];
    if !parameters.is_empty() && parameters != &instance[path.len()..] {
        return false;
    }
    let (Some((name, has)), Some((wanted, asks))) = (template(path), template(wanted)) else {
        return false;
    };
    let is = |has: &&str, asks: &&str| {
        let value = without_casts(&format!("<{has}>"));
        let value = &value[1..value.len() - 1];
        let cast = value.len() < has.len();
        let enumerator = cast && asks.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let typed = enumerator && !matches!(*asks, "true" | "false");
        has == asks
            || value == *asks
            || number(asks).is_some_and(|n| number(value) == Some(n))
            || typed
    };
    is_path_suffix(name, wanted)
        && asks.len() <= has.len()
        && asks.iter().zip(&has).all(|(asks, has)| is(has, asks))
}

/// The name of a template's instance, and its arguments.
fn template(path: &str) -> Option<(&str, Vec<&str>)> {
    let inner = path.strip_suffix('>')?;
    let name = without_template_arguments(path).len();
    let inner = inner.get(name + 1..)?;
    let (mut arguments, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(&inner[from..]);
    Some((&path[..name], arguments))
}

/// The value of a literal of C++: `0x80ul`, `'x'`, `-5`, `true`.
fn number(literal: &str) -> Option<i128> {
    match literal {
        "true" => return Some(1),
        "false" => return Some(0),
        _ => {}
    }
    if let Some(inside) = literal.strip_prefix('\'') {
        let mut characters = inside.strip_suffix('\'')?.chars();
        return match (characters.next(), characters.next()) {
            (Some(c), None) => Some(i128::from(u32::from(c))),
            _ => None,
        };
    }
    let (sign, digits) = match literal.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, literal),
    };
    let digits = digits
        .trim_end_matches(['u', 'U', 'l', 'L', 'z', 'Z'])
        .replace('\'', "");
    let hexadecimal = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"));
    let value = match hexadecimal {
        Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(sign * value)
}

/// The ways in which people write an entry's name, without blanks: with and without parameters and template arguments. The return type
/// of a template counts for neither side.
pub(crate) fn spellings(mangled: &str) -> Vec<String> {
    let options = DemangleOptions::new().no_return_type();
    let (Some(full), Some(name)) = (
        demangle_with(mangled, options),
        demangle_with(mangled, options.no_params()),
    ) else {
        return vec![without_blanks(mangled)];
    };
    let all = [
        without_blanks(&full),
        without_blanks(&demangle(mangled)),
        without_blanks(&name),
    ];
    all.iter()
        .flat_map(|name| {
            [
                name.clone(),
                without_casts(name),
                without_template_arguments(name),
            ]
        })
        .collect()
}

/// Whether a function, by its name as it is or demangled, is a library's: no user has written it, and none wants it checked.
///
/// ```
/// # use racetrap_ptx::is_of_library;
/// assert!(is_of_library("_ZN3cub11EmptyKernelIvEEvv"));
/// assert!(is_of_library("void thrust::detail::fill<int>(int*)"));
/// assert!(!is_of_library("_Z4scanPii") && !is_of_library("cub_like(int*)"));
/// ```
pub fn is_of_library(name: &str) -> bool {
    const NAMESPACES: [&str; 6] = [
        "cub::",
        "thrust::",
        "cuda::",
        "nvcuda::",
        "cooperative_groups::",
        "cutlass::",
    ];
    let demangled = demangle(name);
    let path = without_signature(&demangled);
    NAMESPACES.iter().any(|one| path.starts_with(one))
}

/// A demangled function's name without its parameters and the return type that templates have.
///
/// ```
/// # use racetrap_ptx::without_signature;
/// assert_eq!(without_signature("scan(int*, int)"), "scan");
/// assert_eq!(without_signature("void ns::scan<int, 4>(int*)"), "ns::scan<int, 4>");
/// assert_eq!(without_signature("(anonymous namespace)::scan(void (*)(int))"), "(anonymous namespace)::scan");
/// assert_eq!(without_signature("plain_c"), "plain_c");
/// ```
pub fn without_signature(demangled: &str) -> &str {
    let mut depth = 0;
    let mut end = demangled.len();
    if demangled.ends_with(')') {
        for (at, c) in demangled.char_indices().rev() {
            match c {
                ')' => depth += 1,
                '(' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                end = at;
                break;
            }
        }
    }
    let name = &demangled[..end];
    let mut start = 0;
    depth = 0;
    for (at, c) in name.char_indices() {
        match c {
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth -= 1,
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    match name[start..].is_empty() {
        true => demangled,
        false => &name[start..],
    }
}

fn demangle_with(name: &str, options: DemangleOptions) -> Option<String> {
    // Itanium C++ ABI, "Mangling": without this start a name is none that was mangled, also where it looks like a type.
    if !name.starts_with("_Z") {
        return None;
    }
    let mut text = Bounded(String::new());
    let symbol = Symbol::new(name).ok()?;
    symbol.structured_demangle(&mut text, &options).ok()?;
    Some(match text.0.contains("[abi:v") {
        true => of_numba(&text.0),
        false => text.0,
    })
}

/// The name of a function of Python that Numba compiled. It puts kernels into a namespace of its own, and tells versions of a function
/// apart by ABI tags of a hundred characters: a number behind `v`, and what it depends on (numba.core.funcdesc, `default_mangler`).
fn of_numba(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, tag)) = rest.split_once("[abi:") {
        out.push_str(before);
        rest = tag.split_once(']').map_or("", |(_, behind)| behind);
    }
    out.push_str(rest);
    match out.strip_prefix("cudapy::") {
        Some(own) => own.to_owned(),
        None => out,
    }
}

/// Text of a bounded length. A mangled name refers back to parts of itself, so a
/// hostile one of a hundred characters can stand for a text that fills the memory.
struct Bounded(String);

impl Bounded {
    const LONGEST: usize = 1 << 16;
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > Bounded::LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn without_blanks(name: &str) -> String {
    name.split_whitespace().collect()
}

/// Without the types of numbers among template arguments, which nobody writes: `scan<128>` for `scan<(unsigned long)128>`.
fn without_casts(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    let mut depth = 0;
    while let Some(c) = rest.chars().next() {
        depth += i32::from(c == '<') - i32::from(c == '>');
        let cast = match (c, depth > 0) {
            ('(', true) => rest.find(')').map(|end| &rest[end + 1..]),
            _ => None,
        };
        let number = |behind: &&str| behind.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        match cast.filter(number) {
            Some(behind) => rest = behind,
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

/// Where the parameters of a function's name begin: at a bracket that is in no template argument.
fn parameters_at(name: &str) -> usize {
    let mut depth = 0;
    let open = name.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '<') - i32::from(*c == '>');
        *c == '(' && depth == 0
    });
    open.map_or(name.len(), |(at, _)| at)
}

/// `ns::scan<int>` without what stands in its last brackets.
fn without_template_arguments(name: &str) -> String {
    let (path, parameters) = name.split_at(parameters_at(name));
    let Some(inner) = path.strip_suffix('>') else {
        return name.to_owned();
    };
    let mut depth = 1;
    for (at, c) in inner.char_indices().rev() {
        match c {
            '>' => depth += 1,
            '<' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return format!("{}{parameters}", &inner[..at]);
        }
    }
    name.to_owned()
}

/// Whether `path` is `plain`, or ends in it behind a `::`.
fn is_path_suffix(path: &str, plain: &str) -> bool {
    !plain.is_empty()
        && path
            .strip_suffix(plain)
            .is_some_and(|head| head.is_empty() || head.ends_with("::"))
}

#[cfg(test)]
mod instances {
    use super::matches_entry;

    #[test]
    fn template_arguments_are_named_as_a_source_has_them() {
        // void scan<float, 64, true, (Mode)1, Pol, (char)120, (long long)-5>(float*)
        let scan = "_Z4scanIfLi64ELb1EL4Mode1E3PolLc120ELxn5EEvPT_";
        for named in [
            "scan",
            "scan<float>",
            "scan<float, 64, true, B, Pol, 'x', -5>",
            "scan<float, 0x40, true, Mode::B, Pol, 120, -5ll>",
            "scan<float, 64, 1, (Mode)1>",
            "scan<float, 64, true>(float*)",
        ] {
            assert!(matches_entry(scan, named), "{named}");
        }
        for other in [
            "scan<double>",
            "scan<float, 32>",
            "scan<float, 64, false>",
            "scan<float, 64, true, 2>",
            "scan<float, 64, true, B, Other>",
            "scan<float, 64, true, B, Pol, 'y'>",
            "scan<float, 64, true, B, Pol, 'x', -5, 1>",
            "an<float>",
            "scan<float>(int*)",
        ] {
            assert!(!matches_entry(scan, other), "{other}");
        }
        assert!(matches_entry("_ZN2ns2auILj7EEEvPi", "au<7u>"));
    }
}

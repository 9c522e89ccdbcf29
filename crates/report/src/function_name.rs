//! Names of C++ functions as people read them: what templates take fills pages in libraries that compute with types.

/// The longest name that is shown as it is.
const LONG: usize = 60;

/// A function's name without its parameters and, where that is long, without what its templates take: `void cute::copy<…>`.
pub fn short(function: &str) -> String {
    let name = &function[..parameters(function)];
    match name.len() > LONG {
        true => without_arguments(name),
        false => name.to_owned(),
    }
}

/// The same, with the parameters where they leave it readable.
pub fn readable(function: &str) -> String {
    match function.len() > 2 * LONG {
        true => short(function),
        false => function.to_owned(),
    }
}

/// Where the parameters of a demangled name begin, or it ends: at the first parenthesis outside of templates that is no part of a name itself.
fn parameters(function: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(c) = function[at..].chars().next() {
        let rest = &function[at..];
        match c {
            _ if depth == 0 && operator(rest) > 0 => {
                at += operator(rest);
                continue;
            }
            '(' if depth == 0 => match rest.strip_prefix("(anonymous namespace)") {
                Some(behind) => {
                    at = function.len() - behind.len();
                    continue;
                }
                None => return at,
            },
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += c.len_utf8();
    }
    function.len()
}

/// How long the name of an operator is that a text begins with: its brackets are no brackets.
fn operator(text: &str) -> usize {
    const SIGNS: [&str; 9] = ["()", "<=>", "<<=", ">>=", "->", "<<", ">>", "<=", ">="];
    let Some(sign) = text.strip_prefix("operator") else {
        return 0;
    };
    let signs = SIGNS.iter().chain(&["<", ">"]);
    let long = signs.filter(|s| sign.starts_with(**s)).map(|s| s.len());
    long.max().map_or(0, |long| "operator".len() + long)
}

fn without_arguments(name: &str) -> String {
    let (mut out, mut depth, mut at) = (String::new(), 0usize, 0);
    while let Some(c) = name[at..].chars().next() {
        let skip = match operator(&name[at..]) {
            0 => c.len_utf8(),
            long => long,
        };
        match c {
            _ if skip > c.len_utf8() && depth == 0 => out += &name[at..at + skip],
            _ if skip > c.len_utf8() => {}
            '<' => {
                if depth == 0 {
                    out += "<…>";
                }
                depth += 1;
            }
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
        at += skip;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_parameters_and_long_ones_what_their_templates_take() {
        let long = "cute::Layout<cute::tuple<cute::C<(int)64>, cute::C<2> >, (Major)1>";
        for (function, wanted) in [
            ("reverse(int*, int)", "reverse"),
            (
                "void scan<(unsigned int)64>(int*)",
                "void scan<(unsigned int)64>",
            ),
            ("fetch", "fetch"),
            (
                "(anonymous namespace)::fetch(int)",
                "(anonymous namespace)::fetch",
            ),
            ("Less::operator()(int, int) const", "Less::operator()"),
            ("bool operator<(A const&, B const&)", "bool operator<"),
            (&format!("void gemm<{long}>({long} const*)"), "void gemm<…>"),
            (
                &format!("S<{long}>::operator<<({long})"),
                "S<…>::operator<<",
            ),
            // A name that was cut off.
            (&format!("void explode<{long}, "), "void explode<…>"),
            ("", ""),
        ] {
            assert_eq!(short(function), wanted, "{function}");
        }
        assert_eq!(readable("reverse(int*, int)"), "reverse(int*, int)");
        assert_eq!(
            readable(&format!("void gemm<{long}>({long} const*)")),
            "void gemm<…>"
        );
    }
}

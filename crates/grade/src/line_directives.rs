//! Sources without `#line`: in a report, lines are what the student's editor shows, and nobody moves a race to another line.
//!
//! Directives become blank lines, so that all others keep their numbers. It is read as a compiler does (C++, "Phases of translation"), as
//! far as a directive can be hidden: lines that are continued, comments before, after and within, the other spellings of `#`. In a raw
//! string that has such a line, the line is lost, too.

/// A source in which each `#line`, and each line mark as preprocessors write it (`# 3 "file"`), is blank.
pub fn without(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut physical: Vec<&str> = Vec::new();
    let mut logical = String::new();
    for line in source.split_inclusive('\n') {
        physical.push(line);
        let text = line.trim_end();
        let spliced = text.strip_suffix('\\').or_else(|| text.strip_suffix("??/"));
        logical += spliced.unwrap_or(text);
        if spliced.is_some() && line.ends_with('\n') {
            continue;
        }
        match is_line_directive(&logical) {
            true => physical
                .iter()
                .for_each(|line| out.extend(line.ends_with('\n').then_some('\n'))),
            false => out.extend(physical.iter().copied()),
        }
        physical.clear();
        logical.clear();
    }
    out.extend(physical);
    out
}

fn is_line_directive(line: &str) -> bool {
    let signs = ["#", "%:", "??="];
    let found = signs
        .iter()
        .filter_map(|sign| Some((line.find(sign)?, sign.len())));
    let Some((at, length)) = found.min() else {
        return false;
    };
    let (before, after) = (&line[..at], &line[at + length..]);
    // A comment that has begun on a line before may end on this one.
    let before = before.rsplit_once("*/").map_or(before, |(_, rest)| rest);
    if !before.trim().is_empty() {
        return false;
    }
    let mut after = after.trim_start();
    while let Some(rest) = after.strip_prefix("/*") {
        after = rest
            .split_once("*/")
            .map_or("", |(_, rest)| rest)
            .trim_start();
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let word = after
        .strip_prefix("line")
        .filter(|rest| !rest.starts_with(is_name));
    word.is_some() || after.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_where_they_are() {
        for directive in [
            "#line 7",
            "# line 7 \"other.cu\"",
            "\t#\tline 7",
            "# 7 \"other.cu\" 1",
            "%: line 7",
            "??=line 7",
            "/* a */ #line 7",
            "/* a */ # /* b */ line 7",
            "end of a comment */ #line 7",
            "#li\\\nne 7",
            "#\\\nline 7",
            "#??/\nline 7",
            "#line/**/7",
            "#\\ \nline 7",
        ] {
            let source = format!("int a;\n{directive}\nint b;\n");
            let blank = "\n".repeat(1 + directive.matches('\n').count());
            assert_eq!(
                without(&source),
                format!("int a;\n{blank}int b;\n"),
                "{directive}"
            );
        }
        for kept in [
            "#include <cstdio>",
            "#define line 7",
            "#liner",
            "int x; // #line 7",
            "int line = 7;",
            "#define A \\\n    b",
            "a\\",
            "",
        ] {
            for source in [format!("int a;\n{kept}\nint b;\n"), kept.to_owned()] {
                assert_eq!(without(&source), source);
            }
        }
    }
}

//! Finds the kernel that is meant.

use super::error::{Error, ErrorKind};
use ptx::ast::{FunctionKind, Item, Module};
use ptx::{KernelFilter, demangle, is_of_library, matches_entry, shortened, stable_name};
use report::suggest;

/// The kernels that a module defines, mangled.
pub fn entries(module: &Module) -> Vec<&str> {
    module
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Function(f) if f.kind == FunctionKind::Entry && f.body.is_some() => {
                Some(f.name.as_str())
            }
            _ => None,
        })
        .collect()
}

/// The kernel of a module that another build of the same file calls `mangled`: names that are local to the file differ from one
/// compilation to the next.
pub(super) fn counterpart<'a>(module: &'a Module, mangled: &'a str) -> &'a str {
    let all = entries(module);
    if all.contains(&mangled) {
        return mangled;
    }
    let wanted = stable_name(mangled);
    let mut same = all.into_iter().filter(|name| stable_name(name) == wanted);
    same.next().unwrap_or(mangled)
}

/// The one kernel that `wanted` names, or the only one there is.
///
/// # Errors
///
/// None, or more than one: the message lists them.
pub fn choose<'a>(module: &'a Module, wanted: Option<&str>, file: &str) -> Result<&'a str, Error> {
    choose_of(&entries(module), wanted, file)
}

/// The kernels without those of libraries, such as CUB's `EmptyKernel`; all of them if there are no others.
fn without_libraries<'a>(all: &[&'a str]) -> Vec<&'a str> {
    let own: Vec<&str> = all
        .iter()
        .copied()
        .filter(|name| !is_of_library(name))
        .collect();
    match own.is_empty() {
        true => all.to_vec(),
        false => own,
    }
}

/// The kernels that a filter wants, at least one.
///
/// # Errors
///
/// It wants none, or one of its patterns matches none: the message lists the kernels.
pub fn matching<'a>(
    all: &[&'a str],
    filter: &KernelFilter,
    file: &str,
) -> Result<Vec<&'a str>, Error> {
    if all.is_empty() {
        choose_of(all, None, file)?;
    }
    let error = |message: String| {
        Error::new(ErrorKind::Kernel, message).text(format!("its kernels are:\n{}", list(all)))
    };
    if let Some(pattern) = filter.without_kernel(all) {
        let failure = error(format!("no kernel of `{file}` matches `{pattern}`"));
        let names: Vec<String> = all.iter().map(|n| plain(n)).collect();
        return Err(match suggest(pattern, names.iter().map(String::as_str)) {
            Some(near) => failure.help(near),
            None => failure.help("`*` stands for any text: `--kernel 'scan*'`"),
        });
    }
    let all = without_libraries(all);
    let wanted = all.iter().copied().filter(|name| filter.wants(name));
    let wanted: Vec<&str> = wanted.collect();
    match wanted.is_empty() {
        true => Err(error(format!(
            "`--skip-kernel` leaves out all kernels of `{file}`"
        ))),
        false => Ok(wanted),
    }
}

/// The same of kernels by their mangled names.
///
/// # Errors
///
/// As [`choose`].
pub fn choose_of<'a>(all: &[&'a str], wanted: Option<&str>, file: &str) -> Result<&'a str, Error> {
    if all.is_empty() {
        return Err(Error::new(ErrorKind::Kernel, format!("`{file}` has no kernel"))
            .help("a kernel is a `__global__` function (`.entry` in PTX); a template needs an explicit instantiation"));
    }
    let Some(wanted) = wanted else {
        let all = &without_libraries(all)[..];
        return match all {
            [only] => Ok(only),
            _ => Err(Error::new(
                ErrorKind::Kernel,
                format!("`{file}` has {} kernels", all.len()),
            )
            .text(list(all))
            .help(format!("select one: `--entry {}`", unique(all)))),
        };
    };
    let found: Vec<&str> = all
        .iter()
        .copied()
        .filter(|name| matches_entry(name, wanted))
        .collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let names: Vec<String> = all.iter().map(|n| plain(n)).collect();
            let failure = Error::new(
                ErrorKind::Kernel,
                format!("`{file}` has no kernel `{}`", shortened(wanted)),
            )
            .text(format!("its kernels are:\n{}", list(all)));
            Err(match suggest(wanted, names.iter().map(String::as_str)) {
                Some(near) => failure.help(near),
                None => failure.help(format!("for example `--entry {}`", shortened(&names[0]))),
            })
        }
        several => Err(Error::new(
            ErrorKind::Kernel,
            format!("`{wanted}` names {} kernels of `{file}`", several.len()),
        )
        .text(list(several))
        .help(format!(
            "give the full name: `--entry '{}'`",
            shortened(&demangle(several[0]))
        ))),
    }
}

/// The name alone, without parameters, return type or namespaces.
pub fn plain(mangled: &str) -> String {
    // Its bracket opens no parameters.
    let full = demangle(mangled).replace("(anonymous namespace)::", "");
    let mut depth = 0;
    let mut end = full.len();
    for (at, c) in full.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let name = &full[..end];
    let mut start = 0;
    depth = 0;
    for (at, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    name[start..].to_string()
}

/// A [`plain`] name without the namespaces before it, with template arguments: `reduce<256>`.
pub fn unqualified(plain: &str) -> &str {
    let end = plain.find('<').unwrap_or(plain.len());
    let start = plain[..end].rfind("::").map_or(0, |at| at + 2);
    &plain[start..]
}

/// The shortest way to name one of the kernels.
fn unique(all: &[&str]) -> String {
    let only = |name: &&&str| {
        all.iter()
            .filter(|other| matches_entry(other, &plain(name)))
            .count()
            == 1
    };
    match all.iter().find(only) {
        Some(name) => shortened(&plain(name)).into_owned(),
        None => format!("'{}'", shortened(&demangle(all[0]))),
    }
}

fn list(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    let mut lines: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| shortened(&demangle(name)).into_owned())
        .collect();
    if names.len() > SHOWN {
        lines.push(format!("… and {} more", names.len() - SHOWN));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(entries: &[&str]) -> Module {
        let mut text = ".version 8.0\n.target sm_75\n.address_size 64\n".to_string();
        for entry in entries {
            text += &format!(".visible .entry {entry}()\n{{\n\tret;\n}}\n");
        }
        ptx::parse(&text).unwrap()
    }

    #[test]
    fn names_are_plain() {
        assert_eq!(plain("_Z7reversePii"), "reverse");
        assert_eq!(plain("_ZN2ns4scanIiEEvPT_i"), "ns::scan<int>");
        assert_eq!(plain("kernel"), "kernel");
    }

    #[test]
    fn the_only_kernel_needs_no_name() {
        let with_library = module(&["_ZN3cub11EmptyKernelIvEEvv", "_Z1aPi"]);
        assert_eq!(choose(&with_library, None, "a.ptx"), Ok("_Z1aPi"));
        assert_eq!(choose(&module(&["_Z1aPi"]), None, "a.ptx"), Ok("_Z1aPi"));
    }

    #[test]
    fn what_is_not_unique_is_listed() {
        let two = module(&["_Z4scanPi", "_Z4scanPf", "_Z6reducePi"]);
        assert_eq!(choose(&two, Some("reduce"), "a.ptx"), Ok("_Z6reducePi"));
        assert_eq!(choose(&two, Some("scan(float*)"), "a.ptx"), Ok("_Z4scanPf"));
        insta::assert_snapshot!(
            choose(&two, Some("scan"), "a.ptx")
                .unwrap_err()
                .render(false)
        );
        insta::assert_snapshot!(
            choose(&two, Some("redcue"), "a.ptx")
                .unwrap_err()
                .render(false)
        );
        insta::assert_snapshot!(choose(&two, None, "a.ptx").unwrap_err().render(false));
        insta::assert_snapshot!(
            choose(&module(&[]), None, "a.ptx")
                .unwrap_err()
                .render(false)
        );
    }
}

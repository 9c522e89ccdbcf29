//! What to tell of a compiler that is missing or refuses a source.

use crate::error::{Error, ErrorKind};
use std::path::Path;
use toolchain::{ARCH, CompileError, CompileOptions, SOURCE_FOLDER, Searched};

pub(super) fn no_compiler(searched: Searched) -> Error {
    Error::new(ErrorKind::NoCompiler, "the CUDA compiler (nvcc), which a `.cu` file needs, was not found")
        .text(format!("looked in: {}", searched.0.join(", ")))
        .help("get it with `racetrap setup` (needs no GPU and no root), set CUDA_PATH, or check PTX compiled on another machine")
}

/// Names that CUDA has from some architecture on (CUDA C++ Programming Guide, "C++ Language Extensions"), by how they begin.
const SINCE: &[(&str, u32)] = &[
    ("__reduce_", 80),
    ("__cluster", 90),
    ("this_cluster", 90),
    ("cluster_group", 90),
];

/// What to do where the compiler misses something that GPUs newer than the one compiled for have.
pub(super) fn newer_gpu(error: &CompileError, options: &CompileOptions) -> Option<String> {
    let CompileError::Refused { messages, .. } = error else {
        return None;
    };
    let number = |name: &str| -> Option<u32> {
        let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let arch = options.arch.as_deref().unwrap_or(ARCH);
    let own = number(
        arch.trim_start_matches("sm_")
            .trim_start_matches("compute_"),
    )?;
    let missing = messages.lines().filter(|line| {
        line.contains("undefined") || line.contains("has no member") || line.contains("no instance")
    });
    let name = missing
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .map(|name| name.rsplit("::").next().unwrap_or(name))
        .find_map(|name| {
            let (_, since) = SINCE.iter().find(|(begin, _)| name.starts_with(begin))?;
            Some((name, *since))
        });
    if let Some((name, since)) = name.filter(|(_, since)| *since > own) {
        return Some(format!(
            "`{name}` needs sm_{since} or later, but this was compiled for {arch}: use `--arch sm_{since}`"
        ));
    }
    // What headers say themselves: "requires sm_80 or higher", "compute capability 9.0".
    let said = messages.lines().filter(|line| line.contains("error"));
    let wanted = said
        .flat_map(|line| line.match_indices("sm_").map(|(at, _)| &line[at + 3..]))
        .filter_map(number)
        .find(|wanted| *wanted > own);
    wanted.map(|wanted| {
        format!("this was compiled for {arch}, but the compiler mentions sm_{wanted}: use `--arch sm_{wanted}`")
    })
}

/// What to do where a source includes a header that the sandbox keeps from the compiler: `#include "../common/common.h"`.
pub(super) fn kept_from_compiler(error: &CompileError) -> Option<String> {
    let CompileError::Refused { file, messages, .. } = error else {
        return None;
    };
    let refused = messages.lines().find_map(|line| {
        let (_, rest) = line.split_once("error: ")?;
        Some(rest.split_once(": Permission denied")?.0.trim())
    })?;
    let here = file.parent().unwrap_or(Path::new(""));
    let header = match refused.strip_prefix(SOURCE_FOLDER) {
        Some(inside) => here.join(inside.trim_start_matches('/')),
        None => Path::new(refused).to_path_buf(),
    };
    let folder = header.parent()?;
    Some(format!(
        "the compiler may read the source's folder and those that `-I` names: if this header is meant, add `-I {}`",
        crate::verdict::quote(&folder.display().to_string())
    ))
}

/// The first lines of a compiler's messages: the first mistake is what there is to mend, and others may fill screens.
fn first_lines(messages: &str) -> String {
    const LINES: usize = 60;
    let mut lines: Vec<_> = messages.lines().take(LINES).map(ptx::shortened).collect();
    let more = messages.lines().count() - lines.len();
    if more > 0 {
        lines.push(format!("… and {more} more lines").into());
    }
    lines.join("\n")
}

/// What to tell of a compiler that did not compile.
pub fn refused(error: CompileError) -> Error {
    match error {
        CompileError::NoCompiler(searched) => no_compiler(searched),
        CompileError::Refused { ref messages, .. } => {
            Error::new(ErrorKind::Refused, error.to_string()).text(first_lines(messages))
        }
        CompileError::TookTooLong { .. } => {
            Error::new(ErrorKind::Time, error.to_string()).help("raise `--timeout`")
        }
        CompileError::Broken { .. } => Error::new(ErrorKind::Compiler, error.to_string())
            .help("run `racetrap doctor`, and give the compiler more memory"),
        CompileError::BadOption { .. } => Error::new(ErrorKind::Input, error.to_string())
            .help("an architecture looks like `sm_90`, a C++ standard like `c++17`"),
        CompileError::Start { .. } => Error::new(ErrorKind::NoCompiler, error.to_string())
            .help("run `racetrap doctor` to see which compiler is used"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(messages: &str, arch: Option<&str>) -> Option<String> {
        let error = CompileError::Refused {
            file: "k.cu".into(),
            build: "optimised",
            messages: messages.into(),
        };
        let options = CompileOptions {
            arch: arch.map(str::to_string),
            ..CompileOptions::default()
        };
        newer_gpu(&error, &options)
    }

    #[test]
    fn what_newer_gpus_have_needs_another_architecture() {
        let missing = "k.cu(3): error: identifier \"__reduce_add_sync\" is undefined";
        let said = help(missing, None).unwrap();
        assert!(
            said.contains("`--arch sm_80`") && said.contains("sm_75"),
            "{said}"
        );
        assert_eq!(help(missing, Some("sm_80")), None);
        let header = "x.h(9): error: #error \"this header requires sm_90 or higher\"";
        assert!(
            help(header, Some("sm_80"))
                .unwrap()
                .contains("`--arch sm_90`")
        );
        let group =
            "k.cu(3): error: namespace \"cooperative_groups\" has no member \"this_cluster\"";
        assert!(help(group, None).unwrap().contains("`--arch sm_90`"));
    }

    #[test]
    fn headers_out_of_reach_are_named_by_an_option() {
        let error = CompileError::Refused {
            file: "week 3/k.cu".into(),
            build: "optimised",
            messages: "week 3/k.cu:1:10: fatal error: source/../common/c.h: Permission denied\n    1 | #include \"../common/c.h\"".into(),
        };
        let said = kept_from_compiler(&error).unwrap();
        assert!(said.ends_with("add `-I 'week 3/../common'`"), "{said}");
    }

    #[test]
    fn other_mistakes_are_left_to_the_compiler() {
        assert_eq!(
            help("k.cu(3): error: identifier \"reduce\" is undefined", None),
            None
        );
        assert_eq!(help("k.cu(3): error: expected a \";\"", None), None);
    }
}

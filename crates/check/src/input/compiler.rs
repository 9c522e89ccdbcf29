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

/// A newer GPU than the one compiled for, which a source needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newer {
    /// What needs it, where that has a name.
    pub name: Option<String>,
    /// The GPU's number: 90 is sm_90.
    pub arch: u32,
}

impl Newer {
    /// What to do about it.
    pub(super) fn help(&self, options: &CompileOptions) -> String {
        let (wanted, arch) = (self.arch, options.arch.as_deref().unwrap_or(ARCH));
        match &self.name {
            Some(name) => format!(
                "`{name}` needs sm_{wanted} or later, but this was compiled for {arch}: use `--arch sm_{wanted}`"
            ),
            None => format!(
                "this was compiled for {arch}, but the compiler mentions sm_{wanted}: use `--arch sm_{wanted}`"
            ),
        }
    }
}

fn number(text: &str) -> Option<u32> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The number of the GPU that is compiled for.
fn own(options: &CompileOptions) -> Option<u32> {
    let arch = options.arch.as_deref().unwrap_or(ARCH);
    number(
        arch.trim_start_matches("sm_")
            .trim_start_matches("compute_"),
    )
}

/// The GPU that a source needs of which the compiler misses something.
pub(super) fn missed(error: &CompileError, options: &CompileOptions) -> Option<Newer> {
    let CompileError::Refused { messages, .. } = error else {
        return None;
    };
    let own = own(options)?;
    // `identifier "__reduce_add_sync" is undefined`, `__cluster_dims__ is not supported for this GPU architecture`
    const MISSING: [&str; 4] = [
        "undefined",
        "has no member",
        "no instance",
        "not supported for this GPU",
    ];
    let missing = messages
        .lines()
        .filter(|line| MISSING.iter().any(|words| line.contains(words)));
    let name = missing
        .filter_map(|line| Some(line.split_once("error: ")?.1))
        .flat_map(|said| {
            let quoted = said.split('"').skip(1).step_by(2);
            quoted.chain(said.split_whitespace().next())
        })
        .map(|name| name.rsplit("::").next().unwrap_or(name))
        .find_map(|name| {
            let (_, since) = SINCE.iter().find(|(begin, _)| name.starts_with(begin))?;
            Some((name, *since))
        });
    if let Some((name, arch)) = name.filter(|(_, since)| *since > own) {
        let name = Some(name.to_owned());
        return Some(Newer { name, arch });
    }
    // What headers say themselves: "requires sm_80 or higher", "compute capability 9.0".
    let said = messages.lines().filter(|line| line.contains("error"));
    let arch = said
        .flat_map(|line| line.match_indices("sm_").map(|(at, _)| &line[at + 3..]))
        .filter_map(number)
        .find(|wanted| *wanted > own)?;
    Some(Newer { name: None, arch })
}

/// The GPU that compiled code needs: where its GPU has no such instruction, libcu++ calls a function instead that nobody defines, and whose
/// name says so: `__cuda_ptx_mbarrier_init_is_not_supported_before_SM_80__` (`cuda/__ptx/instructions`).
pub(super) fn called(ptx: &[String], options: &CompileOptions) -> Option<Newer> {
    const SAYS: &str = "_is_not_supported_before_SM_";
    let own = own(options)?;
    let all = ptx.iter().flat_map(|text| {
        text.match_indices(SAYS).filter_map(|(at, _)| {
            let before = &text[..at];
            let name = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let name = name
                .map(|name| name.trim_start_matches("__cuda_ptx_"))
                .next();
            let name = name.map(|name| format!("cuda::ptx::{name}"));
            let arch = number(&text[at + SAYS.len()..])?;
            Some(Newer { name, arch })
        })
    });
    // The first of those that need the newest.
    let newest = all.reduce(|one, other| match other.arch > one.arch {
        true => other,
        false => one,
    });
    newest.filter(|newest| newest.arch > own)
}

/// Whether the compiler does not know the GPU that it is to compile for.
pub(super) fn is_unknown_gpu(error: &CompileError) -> bool {
    match error {
        CompileError::Refused { messages, .. } => messages.contains("Unsupported gpu architecture"),
        CompileError::BadOption { .. } => true,
        _ => false,
    }
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
        missed(&error, &options).map(|newer| newer.help(&options))
    }

    #[test]
    fn calls_of_what_a_gpu_lacks_name_the_newer_one() {
        let ptx = [
            "call.uni __cuda_ptx_mbarrier_init_is_not_supported_before_SM_80__, (\n);",
            "call.uni __cuda_ptx_fence_proxy_async_is_not_supported_before_SM_90__, (\n);",
        ]
        .map(str::to_owned);
        let newer = |arch: Option<&str>| {
            let arch = arch.map(str::to_owned);
            let options = CompileOptions {
                arch,
                ..CompileOptions::default()
            };
            called(&ptx, &options)
        };
        let wanted = Newer {
            name: Some("cuda::ptx::fence_proxy_async".to_owned()),
            arch: 90,
        };
        assert_eq!(newer(None), Some(wanted.clone()));
        assert_eq!(newer(Some("sm_80")), Some(wanted));
        assert_eq!(newer(Some("sm_90a")), None);
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

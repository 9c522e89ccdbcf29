//! The source line of an instruction that a reader knows: their own, not that of a function of the CUDA toolkit that they call.

use ptx::source::SourceLine;
use simt::program::SiteInfo;

/// Whether all source lines of an instruction belong to the CUDA toolkit.
pub(crate) fn is_of_toolkit(site: &SiteInfo) -> bool {
    site.lines.iter().all(|line| of_toolkit(&line.file))
}

/// The source lines of an instruction, innermost first. For a toolkit function that was not inlined, the lines of its
/// caller follow, if it has exactly one.
pub(crate) fn lines_of<'s>(
    site: &'s SiteInfo,
    all: &'s [SiteInfo],
) -> impl Iterator<Item = &'s SourceLine> {
    /// The maximum number of nested toolkit calls to follow.
    const DEPTH: usize = 16;
    let outer = |site: &&'s SiteInfo| {
        let caller = site.caller.filter(|_| is_of_toolkit(site))?;
        all.get(caller.0 as usize)
    };
    std::iter::successors(Some(site), outer)
        .take(DEPTH)
        .flat_map(|site| &site.lines)
}

/// The source line of an instruction that is shown: the innermost one outside the toolkit.
pub(crate) fn own_line<'s>(site: &'s SiteInfo, all: &'s [SiteInfo]) -> Option<&'s SourceLine> {
    lines_of(site, all).find(|line| !of_toolkit(&line.file))
}

/// The source line of an instruction that is shown, and its file as the compiler names it.
pub fn line_of(site: &SiteInfo, all: &[SiteInfo]) -> Option<(String, u32)> {
    own_line(site, all).map(|line| (line.file.clone(), line.line))
}

/// Whether a path belongs to a header of the CUDA toolkit.
pub fn of_toolkit(path: &str) -> bool {
    let path = path.replace('\\', "/");
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let mut parts = folder.split('/');
    // `/usr/local/cuda-12.8/include`, `/opt/cuda/targets/x86_64-linux/include`, `site-packages/nvidia/cu13/include`. Other folders with
    // `cuda` in their names are people's own.
    let release = |part: &str, prefix: &str| {
        let rest = part.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let toolkit = parts.any(|part| part == "cuda" || release(part, "cuda-") || release(part, "cu"));
    let include = parts.any(|part| part == "include" || part == "cccl");
    let ends = ["_functions.hpp", "_functions.h", "_intrinsics.hpp"];
    let begins = [
        "sm_", "device_", "math_", "common_", "texture_", "surface_", "vector_",
    ];
    let known = ends.iter().any(|end| name.ends_with(end))
        && begins.iter().any(|begin| name.starts_with(begin));
    let groups = "cooperative_groups";
    include && toolkit
        || known
        || name == "cooperative_groups.h"
        || folder.split('/').any(|part| part == groups)
}

#[cfg(test)]
mod tests {
    use super::{lines_of, of_toolkit};
    use ptx::source::SourceLine;
    use simt::ids::Site;
    use simt::program::SiteInfo;

    fn site(file: Option<&str>, caller: Option<u32>) -> SiteInfo {
        let line = |file: &str| SourceLine {
            file: file.into(),
            line: 7,
            column: 1,
            function: None,
        };
        SiteInfo {
            lines: file.map(line).into_iter().collect(),
            caller: caller.map(Site),
            ..SiteInfo::default()
        }
    }

    #[test]
    fn functions_of_the_toolkit_are_shown_by_their_only_caller() {
        let header = "cuda/include/device_atomic_functions.hpp";
        let sites = [
            site(None, Some(1)),
            site(Some(header), Some(2)),
            site(Some("k.cu"), Some(3)),
            site(Some("other.cu"), None),
            site(Some(header), None),
        ];
        let files = |at: usize| -> Vec<&str> {
            let lines = lines_of(&sites[at], &sites);
            lines.map(|l| l.file.as_str()).collect()
        };
        assert_eq!(files(0), [header, "k.cu"]);
        assert_eq!(
            files(2),
            ["k.cu"],
            "a function of one's own is a place itself"
        );
        assert_eq!(files(4), [header], "called from several lines");
    }

    #[test]
    fn headers_of_the_toolkit_are_known() {
        for path in [
            "/usr/local/cuda/include/sm_60_atomic_functions.hpp",
            "/p/.toolchain/cuda/include/cccl/cuda/std/atomic",
            "/site/nvidia/cu13/include/cooperative_groups/details/sync.h",
            "device_atomic_functions.hpp",
            "C:\\CUDA\\v13.0\\include\\crt\\device_functions.h",
        ] {
            assert!(of_toolkit(path), "{path}");
        }
        for path in [
            "kernel.cu",
            "include/lookup.h",
            "/home/me/cuda/kernel.cu",
            "/home/me/cuda-course/include/put.cuh",
            "/home/me/mycuda/include/put.cuh",
            "include/my_functions.h",
            "/home/me/cooperative_groups_test/k.cu",
        ] {
            assert!(!of_toolkit(path), "{path}");
        }
    }
}

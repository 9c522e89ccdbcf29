//! The language of the source that a finding is in. Diagnostics are worded in CUDA C++; where the lines are those of a Python program, the
//! functions that they name are replaced by those of the package that its kernels are written with (Numba, "Writing CUDA Kernels" and
//! "Supported Atomic Operations"; Triton, "triton.language").
//!
//! Not seen: packages other than those two; what has no counterpart (Triton's fences) keeps its name in CUDA C++.

use super::Diagnostic;
use super::source::SourceFile;

/// What the kernels of a file are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Cuda,
    Numba,
    Triton,
}

/// For each text of CUDA C++: that of Numba, that of Triton.
const WORDS: [(&str, &str, Option<&str>); 16] = [
    // Triton has one barrier, for blocks and warps alike.
    (
        " (or `__syncwarp()` if only lanes of one warp share the data)",
        " (or `cuda.syncwarp()` if only lanes of one warp share the data)",
        Some(""),
    ),
    (
        "__syncthreads()",
        "cuda.syncthreads()",
        Some("tl.debug_barrier()"),
    ),
    (
        "__syncwarp()",
        "cuda.syncwarp()",
        Some("tl.debug_barrier()"),
    ),
    ("__threadfence_block()", "cuda.threadfence_block()", None),
    ("__threadfence()", "cuda.threadfence()", None),
    (
        "atomicAdd(&…, …)",
        "cuda.atomic.add(…, …, …)",
        Some("tl.atomic_add(…, …)"),
    ),
    (
        "atomicAdd(&…, -…)",
        "cuda.atomic.sub(…, …, …)",
        Some("tl.atomic_add(…, -…)"),
    ),
    (
        "atomicSub(&…, …)",
        "cuda.atomic.sub(…, …, …)",
        Some("tl.atomic_add(…, -…)"),
    ),
    (
        "atomicMin(&…, …)",
        "cuda.atomic.min(…, …, …)",
        Some("tl.atomic_min(…, …)"),
    ),
    (
        "atomicMax(&…, …)",
        "cuda.atomic.max(…, …, …)",
        Some("tl.atomic_max(…, …)"),
    ),
    (
        "atomicAnd(&…, …)",
        "cuda.atomic.and_(…, …, …)",
        Some("tl.atomic_and(…, …)"),
    ),
    (
        "atomicOr(&…, …)",
        "cuda.atomic.or_(…, …, …)",
        Some("tl.atomic_or(…, …)"),
    ),
    (
        "atomicXor(&…, …)",
        "cuda.atomic.xor(…, …, …)",
        Some("tl.atomic_xor(…, …)"),
    ),
    ("if (index < n)", "if index < n:", Some("mask=index < n")),
    ("if (index >= 0)", "if index >= 0:", Some("mask=index >= 0")),
    (
        "compile it with `-lineinfo` to see them",
        "write `@cuda.jit(lineinfo=True)` to see them",
        None,
    ),
];

/// What all PTX of Numba names: of Numba 0.60, and of numba-cuda.
const OF_NUMBA: [&str; 2] = ["_ZN6cudapy", "_ZN08NumbaEnv"];

impl Language {
    /// By the file's ending, and by what it imports; PTX by its names.
    pub fn of(file: &SourceFile) -> Language {
        if !file.path.ends_with(".py") && !file.path.ends_with(".ipynb") {
            return match OF_NUMBA.iter().any(|name| file.text.contains(name)) {
                true => Language::Numba,
                false => Language::Cuda,
            };
        }
        let imports = |package: &str| {
            file.text.lines().any(|line| {
                let line = line.trim_start();
                let imports = line.starts_with("import ") || line.starts_with("from ");
                imports
                    && line
                        .split(|c: char| !c.is_alphanumeric())
                        .any(|word| word == package)
            })
        };
        match (imports("triton"), imports("numba")) {
            (true, _) => Language::Triton,
            (false, true) => Language::Numba,
            (false, false) => Language::Cuda,
        }
    }

    fn word(
        self,
        (cuda, numba, triton): (&'static str, &'static str, Option<&'static str>),
    ) -> &'static str {
        match self {
            Language::Cuda => cuda,
            Language::Numba => numba,
            Language::Triton => triton.unwrap_or(cuda),
        }
    }

    /// A text with the names of this language.
    pub fn says(self, text: &str) -> String {
        let mut text = text.to_owned();
        for row in WORDS {
            if text.contains(row.0) {
                text = text.replace(row.0, self.word(row));
            }
        }
        text
    }
}

/// Puts what is said of a finding in the language that its first place is written in.
pub(crate) fn translate(diagnostic: &mut Diagnostic) {
    let language = match diagnostic.labels.first() {
        Some(label) => Language::of(&label.source),
        None => Language::Cuda,
    };
    if language == Language::Cuda {
        return;
    }
    for text in diagnostic.notes.iter_mut().chain(&mut diagnostic.help) {
        *text = language.says(text);
    }
}

/// The barrier for a block that a help names, in whichever language.
pub(crate) fn block_barrier(help: &str) -> Option<&'static str> {
    let all = [Language::Cuda, Language::Numba, Language::Triton];
    let mut words = all.into_iter().map(|language| language.word(WORDS[0]));
    words.find(|word| help.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(path: &str, text: &str, help: &str) -> String {
        Language::of(&SourceFile::new(path.into(), text.into())).says(help)
    }

    #[test]
    fn advice_is_in_the_language_of_the_file() {
        let numba = "import numpy\nfrom numba import cuda\n";
        let triton = "import triton.language as tl\n";
        let help = "put `__syncthreads()` between line 6 and line 8";
        assert_eq!(says("a.cu", numba, help), help);
        assert_eq!(says("a.py", "import pycuda", help), help);
        assert_eq!(
            says("a.py", numba, help),
            "put `cuda.syncthreads()` between line 6 and line 8"
        );
        assert_eq!(
            says("a.py", triton, help),
            "put `tl.debug_barrier()` between line 6 and line 8"
        );
        assert_eq!(
            says("a.py", triton, "`atomicAdd(&…, …)`"),
            "`tl.atomic_add(…, …)`"
        );
        assert_eq!(
            says("a.py", triton, "`__threadfence()`"),
            "`__threadfence()`"
        );
    }

    #[test]
    fn numbas_ptx_is_known_by_its_names() {
        let note = "the PTX has no source lines; compile it with `-lineinfo` to see them";
        let old = ".version 8.4\n.visible .entry _ZN6cudapy8__main__1kE()";
        let new = ".version 9.5\n.common .global .u64 _ZN08NumbaEnv8__main__1kE;";
        for ptx in [old, new] {
            assert_eq!(
                says("a module (PTX)", ptx, note),
                "the PTX has no source lines; write `@cuda.jit(lineinfo=True)` to see them"
            );
        }
        assert_eq!(says("a module (PTX)", ".version 8.4", note), note);
    }

    #[test]
    fn a_barrier_is_known_in_every_language() {
        assert_eq!(
            block_barrier("put `cuda.syncthreads()` there"),
            Some("cuda.syncthreads()")
        );
        assert_eq!(
            block_barrier("put `__syncthreads()` there"),
            Some("__syncthreads()")
        );
        assert_eq!(block_barrier("let only one thread write it"), None);
    }
}

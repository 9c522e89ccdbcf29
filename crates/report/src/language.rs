//! The language of the source that a finding is in, and what each calls the functions that advice names: CUDA C++, or the package that the
//! kernels of a Python program are written with (Numba, "Writing CUDA Kernels" and "Supported Atomic Operations"; Triton,
//! "triton.language").
//!
//! Not seen: packages other than those two; what has no counterpart (Triton's fences) keeps its name in CUDA C++.

use super::source::SourceFile;

/// What the kernels of a file are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Cuda,
    Numba,
    Triton,
}

/// What advice tells a reader to write, whatever the language is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The barrier of a block.
    BlockBarrier,
    /// The barrier of a warp.
    WarpBarrier,
    /// A fence of block scope.
    BlockFence,
    /// A fence of device scope.
    DeviceFence,
    /// An atomic operation.
    Atomic(Atomic),
    /// A condition that keeps an index below the end.
    BelowEnd,
    /// A condition that keeps an index from being negative.
    NotNegative,
    /// What makes source lines known, as the rest of the sentence "… to see them".
    SourceLines,
}

/// An atomic operation that advice names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Add,
    /// A subtraction, as the addition of what is negated.
    AddNegative,
    Subtract,
    Min,
    Max,
    And,
    Or,
    Xor,
    CompareAndSwap,
}

impl Atomic {
    /// In CUDA C++, Numba and Triton.
    fn names(self) -> [&'static str; 3] {
        match self {
            Atomic::Add => [
                "atomicAdd(&…, …)",
                "cuda.atomic.add(…, …, …)",
                "tl.atomic_add(…, …)",
            ],
            Atomic::AddNegative => [
                "atomicAdd(&…, -…)",
                "cuda.atomic.sub(…, …, …)",
                "tl.atomic_add(…, -…)",
            ],
            Atomic::Subtract => [
                "atomicSub(&…, …)",
                "cuda.atomic.sub(…, …, …)",
                "tl.atomic_add(…, -…)",
            ],
            Atomic::Min => [
                "atomicMin(&…, …)",
                "cuda.atomic.min(…, …, …)",
                "tl.atomic_min(…, …)",
            ],
            Atomic::Max => [
                "atomicMax(&…, …)",
                "cuda.atomic.max(…, …, …)",
                "tl.atomic_max(…, …)",
            ],
            Atomic::And => [
                "atomicAnd(&…, …)",
                "cuda.atomic.and_(…, …, …)",
                "tl.atomic_and(…, …)",
            ],
            Atomic::Or => [
                "atomicOr(&…, …)",
                "cuda.atomic.or_(…, …, …)",
                "tl.atomic_or(…, …)",
            ],
            Atomic::Xor => [
                "atomicXor(&…, …)",
                "cuda.atomic.xor(…, …, …)",
                "tl.atomic_xor(…, …)",
            ],
            Atomic::CompareAndSwap => ["atomicCAS(&…, …, …)"; 3],
        }
    }
}

impl Word {
    /// In CUDA C++, Numba and Triton.
    fn names(self) -> [&'static str; 3] {
        match self {
            Word::BlockBarrier => [
                "__syncthreads()",
                "cuda.syncthreads()",
                "tl.debug_barrier()",
            ],
            Word::WarpBarrier => ["__syncwarp()", "cuda.syncwarp()", "tl.debug_barrier()"],
            Word::BlockFence => [
                "__threadfence_block()",
                "cuda.threadfence_block()",
                "__threadfence_block()",
            ],
            Word::DeviceFence => ["__threadfence()", "cuda.threadfence()", "__threadfence()"],
            Word::Atomic(atomic) => atomic.names(),
            Word::BelowEnd => ["if (index < n)", "if index < n:", "mask=index < n"],
            Word::NotNegative => ["if (index >= 0)", "if index >= 0:", "mask=index >= 0"],
            Word::SourceLines => [
                "compile it with `-lineinfo`",
                "write `@cuda.jit(lineinfo=True)`",
                "compile it with `-lineinfo`",
            ],
        }
    }
}

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

    /// How one writes it here.
    pub fn word(self, word: Word) -> &'static str {
        let [cuda, numba, triton] = word.names();
        match self {
            Language::Cuda => cuda,
            Language::Numba => numba,
            Language::Triton => triton,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(path: &str, text: &str, word: Word) -> &'static str {
        Language::of(&SourceFile::new(path.into(), text.into())).word(word)
    }

    #[test]
    fn words_are_those_of_the_files_language() {
        let numba = "import numpy\nfrom numba import cuda\n";
        let triton = "import triton.language as tl\n";
        let barrier = |path, text| word(path, text, Word::BlockBarrier);
        assert_eq!(barrier("a.cu", numba), "__syncthreads()");
        assert_eq!(barrier("a.py", "import pycuda"), "__syncthreads()");
        assert_eq!(barrier("a.py", numba), "cuda.syncthreads()");
        assert_eq!(barrier("a.py", triton), "tl.debug_barrier()");
        assert_eq!(
            word("a.py", triton, Word::Atomic(Atomic::Add)),
            "tl.atomic_add(…, …)"
        );
        assert_eq!(word("a.py", triton, Word::DeviceFence), "__threadfence()");
    }

    #[test]
    fn numbas_ptx_is_known_by_its_names() {
        let old = ".version 8.4\n.visible .entry _ZN6cudapy8__main__1kE()";
        let new = ".version 9.5\n.common .global .u64 _ZN08NumbaEnv8__main__1kE;";
        for ptx in [old, new] {
            assert_eq!(
                word("a module (PTX)", ptx, Word::SourceLines),
                "write `@cuda.jit(lineinfo=True)`"
            );
        }
        assert_eq!(
            word("a module (PTX)", ".version 8.4", Word::SourceLines),
            "compile it with `-lineinfo`"
        );
    }
}

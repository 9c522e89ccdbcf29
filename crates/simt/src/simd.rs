//! Vector instructions that the processor turns out to have when racetrap runs.
//!
//! The program is compiled for the oldest processor of its architecture. What takes most of the time (the execution
//! loop with what is inlined into it, and the row functions of arithmetic) is compiled again for the
//! x86-64 levels v3 (AVX2, FMA) and v4 (AVX-512), and [`at_best`] runs the best of these. Results are the same to the bit: all of
//! it is integer arithmetic, or IEEE arithmetic that each level rounds alike.
//!
//! The `unsafe` call of a function with more instructions than its caller is in `pulp`, behind a token which
//! proves that the processor has them.

/// Something to do, inlined into each of its compilations.
pub(crate) trait Work {
    /// What comes of it.
    type Output;
    /// Does it. `FMA`: whether the processor fuses multiplication and addition; `mul_add` is slow otherwise.
    fn run<const FMA: bool>(self) -> Self::Output;
}

#[cfg(target_arch = "x86_64")]
mod levels {
    use super::Work;
    use pulp::NullaryFnOnce;

    /// Work with fused multiplication and addition.
    struct Fused<W>(W);

    impl<W: Work> NullaryFnOnce for Fused<W> {
        type Output = W::Output;
        #[inline(always)]
        fn call(self) -> W::Output {
            self.0.run::<true>()
        }
    }

    #[inline(always)]
    pub(super) fn at_best<W: Work>(work: W) -> W::Output {
        if let Some(level) = pulp::x86::V4::try_new() {
            level.vectorize(Fused(work))
        } else if let Some(level) = pulp::x86::V3::try_new() {
            level.vectorize(Fused(work))
        } else {
            work.run::<false>()
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod levels {
    use super::Work;

    /// Every 64-bit Arm processor has fused multiplication and addition, and vectors of the one length.
    #[inline(always)]
    pub(super) fn at_best<W: Work>(work: W) -> W::Output {
        if cfg!(target_arch = "aarch64") {
            work.run::<true>()
        } else {
            work.run::<false>()
        }
    }
}

/// Does some work with the best instructions there are.
#[inline(always)]
pub(crate) fn at_best<W: Work>(work: W) -> W::Output {
    levels::at_best(work)
}

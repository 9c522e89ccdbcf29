//! Opcodes: one a section of the manual, so that `cp.async` and `cp.async.bulk` are two, and `bar.sync` and `barrier.sync` are one.

/// Names the opcodes and lists them.
macro_rules! opcodes {
    ($($(#[$chapter:meta])* $name:ident),* $(,)?) => {
        /// What an instruction is, by its section of the manual ("Instructions").
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Opcode {
            $($name,)*
            /// None that the table has, as written up to its first dot.
            Other(Box<str>),
        }

        impl Opcode {
            /// As PTX spells it, up to its first dot.
            pub fn name(&self) -> &str {
                match self {
                    Opcode::Other(name) => name,
                    known => super::table::name(known),
                }
            }

            /// All opcodes that have rows, in the manual's order.
            #[cfg(test)]
            pub(super) fn all() -> Vec<Opcode> {
                vec![$(Opcode::$name,)*]
            }
        }
    };
}

opcodes! {
    // Integer Arithmetic Instructions, and those of floating-point numbers and halves of the same name.
    Add, Sub, Mul, Mad, Mul24, Mad24, Sad, Div, Rem, Abs, Neg, Min, Max, Popc, Clz, Bfind, Fns, Brev, Bfe, Bfi, Szext, Bmsk, Dp4a, Dp2a,
    // Extended-Precision Integer Arithmetic Instructions.
    AddCc, Addc, SubCc, Subc, MadCc, Madc,
    // Floating-Point Instructions.
    Testp, Copysign, Fma, Rcp, Sqrt, Rsqrt, Sin, Cos, Lg2, Ex2, Tanh,
    // Comparison and Selection Instructions.
    Set, Setp, Selp, Slct,
    // Logic and Shift Instructions.
    And, Or, Xor, Not, Cnot, Lop3, Shf, Shl, Shr,
    // Data Movement and Conversion Instructions.
    Mov, Prmt, Ld, Ldu, St, StAsync, StBulk, MultimemLdReduce, MultimemSt, MultimemRed, Prefetch, Prefetchu, Applypriority, Discard,
    Createpolicy, Isspacep, Cvta, Cvt, CvtPack, Mapa, Getctarank,
    // Data Movement and Conversion Instructions: Asynchronous copy.
    CpAsync, CpAsyncCommitGroup, CpAsyncWaitGroup, CpAsyncWaitAll, CpAsyncBulk, CpReduceAsyncBulk, CpAsyncBulkPrefetch,
    MultimemCpAsyncBulk, MultimemCpReduceAsyncBulk, CpAsyncBulkTensor, CpReduceAsyncBulkTensor, CpAsyncBulkPrefetchTensor,
    CpAsyncBulkCommitGroup, CpAsyncBulkWaitGroup, TensormapReplace,
    // Texture and Surface Instructions.
    Tex, Tld4, Txq, Istypep, Suld, Sust, Sured, Suq,
    // Control Flow Instructions.
    Bra, Brx, Call, Ret, Exit,
    // Parallel Synchronization and Communication Instructions.
    Barrier, BarWarpSync, BarrierCluster, Membar, Fence, Atom, Red, RedAsync, Vote, VoteSync, Match, Activemask, Redux, Griddepcontrol,
    Elect, Shfl, ShflSync, MbarrierInit, MbarrierInval, MbarrierExpectTx, MbarrierCompleteTx, MbarrierArrive, MbarrierArriveDrop,
    CpAsyncMbarrierArrive, MbarrierTestWait, MbarrierTryWait, MbarrierPendingCount, TensormapCpFenceproxy,
    ClusterlaunchcontrolTryCancel, ClusterlaunchcontrolQueryCancel,
    // Warp Level Matrix Multiply-Accumulate Instructions.
    WmmaLoad, WmmaStore, WmmaMma, Mma, Ldmatrix, Stmatrix, Movmatrix,
    // Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions.
    WgmmaMmaAsync, WgmmaFence, WgmmaCommitGroup, WgmmaWaitGroup,
    // TensorCore 5th Generation Family Instructions.
    Tcgen05Alloc, Tcgen05Dealloc, Tcgen05Relinquish, Tcgen05Ld, Tcgen05St, Tcgen05WaitLd, Tcgen05WaitSt, Tcgen05Cp, Tcgen05Shift,
    Tcgen05Mma, Tcgen05Fence, Tcgen05Commit,
    // Stack Manipulation Instructions.
    Stacksave, Stackrestore, Alloca,
    // Video Instructions: scalar, and of two and four elements.
    Vadd, Vsub, Vabsdiff, Vmin, Vmax, Vshl, Vshr, Vmad, Vset,
    Vadd2, Vsub2, Vavrg2, Vabsdiff2, Vmin2, Vmax2, Vset2, Vadd4, Vsub4, Vavrg4, Vabsdiff4, Vmin4, Vmax4, Vset4,
    // Miscellaneous Instructions.
    Brkpt, Nanosleep, Pmevent, Trap, Setmaxnreg,
}

impl Opcode {
    /// Whether it is a scalar video instruction.
    pub fn is_video(&self) -> bool {
        use Opcode::*;
        matches!(
            self,
            Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vmad | Vset
        )
    }

    /// Whether it is a video instruction on two or four elements.
    pub fn is_simd_video(&self) -> bool {
        use Opcode::*;
        let two = matches!(
            self,
            Vadd2 | Vsub2 | Vavrg2 | Vabsdiff2 | Vmin2 | Vmax2 | Vset2
        );
        let four = matches!(
            self,
            Vadd4 | Vsub4 | Vavrg4 | Vabsdiff4 | Vmin4 | Vmax4 | Vset4
        );
        two || four
    }
}

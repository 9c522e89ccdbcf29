//! Modifiers: what follows an opcode, word by word, as values.
//!
//! A word means the same wherever it stands, but for the few that the manual uses twice (`.lo` and `.hi` are halves of a product or
//! comparisons of unsigned numbers, `.and` combines predicates or updates memory); which one is meant, the opcode says.

use super::types::Type;
use std::collections::HashMap;
use std::sync::LazyLock;

macro_rules! words {
    ($($(#[$group:meta])* $name:ident = $text:literal,)*) => {
        /// One modifier.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Modifier {
            /// A type.
            Type(Type),
            /// `.v2`, `.v4`, `.v8`: the number of elements.
            Vector(u8),
            /// `.x1` … `.x128`: how often a shape is repeated.
            Times(u8),
            /// `.m16n8k16`, `.m8n8`: the shape of a matrix operation; `k` is 0 where there is none.
            Shape(u16, u16, u16),
            $($(#[$group])* #[doc = concat!("`.", $text, "`")] $name,)*
            /// A word that the manual's tables don't have.
            Other,
        }

        const WORDS: &[(&str, Modifier)] = &[$(($text, Modifier::$name),)*];

        impl Modifier {
            /// As PTX spells it, without the dot; `None` for a word that is in no table.
            pub fn spelling(self) -> Option<std::borrow::Cow<'static, str>> {
                Some(match self {
                    $(Modifier::$name => $text.into(),)*
                    Modifier::Type(ty) => ty.name().into(),
                    Modifier::Vector(n) => format!("v{n}").into(),
                    Modifier::Times(n) => format!("x{n}").into(),
                    Modifier::Shape(m, n, 0) => format!("m{m}n{n}").into(),
                    Modifier::Shape(m, n, k) => format!("m{m}n{n}k{k}").into(),
                    Modifier::Other => return None,
                })
            }
        }
    };
}

words! {
    // Rounding (PTX ISA, "Rounding Modifiers"), and other ways to a result.
    Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp", Rna = "rna", Rs = "rs",
    Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi", Approx = "approx", Full = "full",
    // Of floating-point numbers and saturation.
    Ftz = "ftz", Noftz = "noftz", Sat = "sat", Satfinite = "satfinite", Relu = "relu", NaN = "NaN", Xorsign = "xorsign", Abs = "abs", Oob = "oob",
    // Of integers and bits.
    Lo = "lo", Hi = "hi", Wide = "wide", Cc = "cc", Shiftamt = "shiftamt", Clamp = "clamp", Wrap = "wrap", L = "l", R = "r",
    Pack = "pack", F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16",
    // Of video instructions.
    Shr7 = "shr7", Shr15 = "shr15", Po = "po",
    // Comparisons ("Comparisons", "Floating-Point Comparisons").
    Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge", Ls = "ls", Hs = "hs",
    Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu", Num = "num", Nan = "nan",
    Finite = "finite", Infinite = "infinite", Number = "number", NotANumber = "notanumber", Normal = "normal", Subnormal = "subnormal",
    // Operations of atomics, reductions and combinations.
    And = "and", Or = "or", Xor = "xor", Add = "add", Min = "min", Max = "max", Inc = "inc", Dec = "dec", Exch = "exch", Cas = "cas",
    Popc = "popc",
    // Memory order and scope ("Memory Consistency Model").
    Weak = "weak", Relaxed = "relaxed", Acquire = "acquire", Release = "release", AcqRel = "acq_rel", Sc = "sc",
    Volatile = "volatile", Mmio = "mmio",
    Cta = "cta", Cluster = "cluster", Gpu = "gpu", Gl = "gl", Sys = "sys",
    // State spaces.
    Global = "global", Shared = "shared", SharedCta = "shared::cta", SharedCluster = "shared::cluster", Local = "local", Const = "const",
    Param = "param", ParamEntry = "param::entry", ParamFunc = "param::func", To = "to",
    // Cache operators and eviction priorities ("Cache Operators").
    Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt", Nc = "nc", Unified = "unified",
    L1 = "L1", L2 = "L2", L2Bytes64 = "L2::64B", L2Bytes128 = "L2::128B", L2Bytes256 = "L2::256B", L2CacheHint = "L2::cache_hint",
    L1EvictNormal = "L1::evict_normal", L1EvictUnchanged = "L1::evict_unchanged", L1EvictFirst = "L1::evict_first",
    L1EvictLast = "L1::evict_last", L1NoAllocate = "L1::no_allocate",
    L2EvictNormal = "L2::evict_normal", L2EvictUnchanged = "L2::evict_unchanged", L2EvictFirst = "L2::evict_first",
    L2EvictLast = "L2::evict_last", Fractional = "fractional", Range = "range", Cvt = "cvt",
    // Barriers and warps.
    Sync = "sync", Aligned = "aligned", Arrive = "arrive", Red = "red", Warp = "warp", Wait = "wait",
    Up = "up", Down = "down", Bfly = "bfly", Idx = "idx", All = "all", Any = "any", Uni = "uni", Ballot = "ballot",
    // Fences of proxies ("Proxies").
    Proxy = "proxy", Alias = "alias", Async = "async", AsyncGeneric = "async::generic", Tensormap = "tensormap",
    TensormapGeneric = "tensormap::generic", ProxyTensormapGeneric = "proxy::tensormap::generic", MbarrierInit = "mbarrier_init",
    RestrictSharedCta = "sync_restrict::shared::cta", RestrictSharedCluster = "sync_restrict::shared::cluster",
    // Phases of mbarriers.
    Init = "init", Inval = "inval", ExpectTx = "expect_tx", CompleteTx = "complete_tx", ArriveDrop = "arrive_drop",
    TestWait = "test_wait", TryWait = "try_wait", PendingCount = "pending_count", Parity = "parity", Noinc = "noinc",
    NoComplete = "noComplete", Mbarrier = "mbarrier", CompleteTxBytes = "mbarrier::complete_tx::bytes",
    ArriveOne = "mbarrier::arrive::one",
    // Asynchronous copies.
    Bulk = "bulk", Tensor = "tensor", Prefetch = "prefetch", Reduce = "reduce", CommitGroup = "commit_group",
    WaitGroup = "wait_group", WaitAll = "wait_all", BulkGroup = "bulk_group", Read = "read", CpMask = "cp_mask",
    IgnoreOob = "ignore_oob", MulticastCluster = "multicast::cluster", MulticastClusterAll = "multicast::cluster::all",
    Tile = "tile", TileGather4 = "tile::gather4", TileScatter4 = "tile::scatter4", Im2col = "im2col", Im2colW = "im2col::w",
    Im2colW128 = "im2col::w::128", Im2colNoOffsets = "im2col_no_offs",
    CtaGroup1 = "cta_group::1", CtaGroup2 = "cta_group::2", Cp = "cp",
    // Tensor maps.
    Replace = "replace", CpFenceproxy = "cp_fenceproxy", GlobalAddress = "global_address", Rank = "rank", BoxDim = "box_dim",
    GlobalDim = "global_dim", GlobalStride = "global_stride", ElementStride = "element_stride", Elemtype = "elemtype",
    InterleaveLayout = "interleave_layout", SwizzleMode = "swizzle_mode", SwizzleAtomicity = "swizzle_atomicity",
    FillMode = "fill_mode",
    // Multimem.
    LdReduce = "ld_reduce", AccF16 = "acc::f16", AccF32 = "acc::f32",
    // Launches and clusters.
    LaunchDependents = "launch_dependents", TryCancel = "try_cancel", QueryCancel = "query_cancel", IsCanceled = "is_canceled",
    FirstCtaid = "get_first_ctaid", FirstCtaidX = "get_first_ctaid::x", FirstCtaidY = "get_first_ctaid::y",
    FirstCtaidZ = "get_first_ctaid::z",
    // Textures and surfaces.
    D1 = "1d", D2 = "2d", D3 = "3d", D4 = "4d", D5 = "5d", A1d = "a1d", A2d = "a2d", Cube = "cube", Acube = "acube", D2ms = "2dms",
    A2dms = "a2dms", Base = "base", Level = "level", Grad = "grad", G = "g", B = "b", A = "a", C = "c", D = "d", P = "p",
    Trap = "trap", Zero = "zero", Mask = "mask",
    Width = "width", Height = "height", Depth = "depth", ChannelDataType = "channel_data_type", ChannelOrder = "channel_order",
    NormalizedCoords = "normalized_coords", ForceUnnormalizedCoords = "force_unnormalized_coords", FilterMode = "filter_mode",
    AddrMode0 = "addr_mode_0", AddrMode1 = "addr_mode_1", AddrMode2 = "addr_mode_2", ArraySize = "array_size",
    NumMipmapLevels = "num_mipmap_levels", NumSamples = "num_samples", MemoryLayout = "memory_layout",
    // Matrices.
    Load = "load", Store = "store", Mma = "mma", Row = "row", Col = "col", Trans = "trans", Sp = "sp",
    SpOrdered = "sp::ordered_metadata", BlockScale = "block_scale", ScaleVec1 = "scale_vec::1X", ScaleVec2 = "scale_vec::2X",
    ScaleVec4 = "scale_vec::4X", Block16 = "block16", Block32 = "block32", MmaAsync = "mma_async", Fence = "fence",
    B6x16 = "b6x16_p32", B4x16 = "b4x16_p64", B8x16 = "b8x16",
    KindF16 = "kind::f16", KindTf32 = "kind::tf32", KindI8 = "kind::i8", KindF8f6f4 = "kind::f8f6f4",
    KindMxf8f6f4 = "kind::mxf8f6f4", KindMxf4 = "kind::mxf4", KindMxf4nvf4 = "kind::mxf4nvf4",
    // Tensor memory.
    Alloc = "alloc", Dealloc = "dealloc", Relinquish = "relinquish_alloc_permit", Ld = "ld", St = "st", WaitLd = "wait::ld",
    WaitSt = "wait::st", Shift = "shift", Ws = "ws", Commit = "commit", FenceBefore = "fence::before_thread_sync",
    FenceAfter = "fence::after_thread_sync", Pack16 = "pack::16b", Unpack16 = "unpack::16b", Ashift = "ashift",
    Tmem16x64 = "16x64b", Tmem16x128 = "16x128b", Tmem16x256 = "16x256b", Tmem32x32 = "32x32b", Tmem16x32x2 = "16x32bx2",
    Tmem128x256 = "128x256b", Tmem4x256 = "4x256b", Tmem128x128 = "128x128b", Tmem64x128 = "64x128b", Tmem32x128 = "32x128b",
    Warpx2Even = "warpx2::02_13", Warpx2Halves = "warpx2::01_23", Warpx4 = "warpx4",
    CollectorAFill = "collector::a::fill", CollectorAUse = "collector::a::use", CollectorALastUse = "collector::a::lastuse",
    CollectorADiscard = "collector::a::discard",
}

static BY_TEXT: LazyLock<HashMap<&'static str, Modifier>> = LazyLock::new(|| {
    let words = WORDS.iter().copied();
    let types = Type::ALL.iter().map(|ty| (ty.name(), Modifier::Type(*ty)));
    words.chain(types).collect()
});

impl Modifier {
    /// The modifier that a word is, without its dot.
    pub fn of(word: &str) -> Modifier {
        if let Some(known) = BY_TEXT.get(word) {
            return *known;
        }
        numbered(word).unwrap_or(Modifier::Other)
    }

    /// All words that stand for themselves, without types, vectors and shapes.
    pub fn words() -> impl Iterator<Item = (&'static str, Modifier)> {
        WORDS.iter().copied()
    }

    /// The type that it names.
    pub fn ty(self) -> Option<Type> {
        match self {
            Modifier::Type(ty) => Some(ty),
            _ => None,
        }
    }
}

/// `v4`, `x16`, `m16n8k32`.
fn numbered(word: &str) -> Option<Modifier> {
    let number = |digits: &str| digits.parse().ok();
    if let Some(digits) = word.strip_prefix('v') {
        return Some(Modifier::Vector(number(digits)?))
            .filter(|v| matches!(v, Modifier::Vector(2 | 4 | 8)));
    }
    if let Some(digits) = word.strip_prefix('x') {
        return Some(Modifier::Times(number(digits)?));
    }
    let size = |digits: &str| digits.parse::<u16>().ok();
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    match rest.split_once('k') {
        Some((n, k)) => Some(Modifier::Shape(size(m)?, size(n)?, size(k)?)),
        None => Some(Modifier::Shape(size(m)?, size(rest)?, 0)),
    }
}

/// How a result is brought into its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `.rn`, `.rni`: to the nearest, ties to even.
    NearestEven,
    /// `.rna`: to the nearest, ties away from zero.
    NearestAway,
    /// `.rz`, `.rzi`.
    TowardZero,
    /// `.rm`, `.rmi`.
    TowardNegative,
    /// `.rp`, `.rpi`.
    TowardPositive,
    /// `.rs`: by random bits.
    Stochastic,
    /// `.approx`: not rounded, within a bound.
    Approximate,
    /// `.full`: not rounded, within a bound over the full range.
    Full,
}

/// Relations of `setp`, `set` and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// True where an operand is NaN, as the further ones down to `Geu`.
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Neither operand is NaN.
    Num,
    /// An operand is NaN.
    Nan,
}

/// `.and`, `.or`, `.xor` between predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Combination {
    And,
    Or,
    Xor,
}

/// What an atomic operation makes of the value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum AtomicOperation {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
}

impl AtomicOperation {
    /// As PTX spells it.
    pub fn name(self) -> &'static str {
        use AtomicOperation::*;
        match self {
            Add => "add",
            Min => "min",
            Max => "max",
            Inc => "inc",
            Dec => "dec",
            And => "and",
            Or => "or",
            Xor => "xor",
            Exch => "exch",
            Cas => "cas",
        }
    }
}

/// Cache operators (PTX ISA, "Cache Operators").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CacheOperator {
    Ca,
    Cg,
    Cs,
    Lu,
    Cv,
    Wb,
    Wt,
}

/// The modifiers of an instruction, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers(pub(super) Vec<Modifier>);

impl std::ops::Deref for Modifiers {
    type Target = [Modifier];
    fn deref(&self) -> &[Modifier] {
        &self.0
    }
}

impl Modifiers {
    fn first<T>(&self, choose: impl Fn(Modifier) -> Option<T>) -> Option<T> {
        self.0.iter().copied().find_map(choose)
    }

    /// Whether one is there.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.0.contains(&modifier)
    }

    /// The types in their order.
    pub fn types(&self) -> impl DoubleEndedIterator<Item = Type> + '_ {
        self.0.iter().filter_map(|m| m.ty())
    }

    /// The type that literals among the operands have: the last fundamental type, or 64 bits where none is named.
    pub fn literal_type(&self) -> crate::ast::ScalarType {
        let last = self.types().rev().find_map(Type::scalar);
        last.unwrap_or(crate::ast::ScalarType::B64)
    }

    /// Elements of a vector access; 1 where it is none.
    pub fn vector(&self) -> u8 {
        let count = |m| match m {
            Modifier::Vector(n) => Some(n),
            _ => None,
        };
        self.first(count).unwrap_or(1)
    }

    /// How a result is rounded.
    pub fn rounding(&self) -> Option<Rounding> {
        self.first(|m| {
            Some(match m {
                Modifier::Rn | Modifier::Rni => Rounding::NearestEven,
                Modifier::Rna => Rounding::NearestAway,
                Modifier::Rz | Modifier::Rzi => Rounding::TowardZero,
                Modifier::Rm | Modifier::Rmi => Rounding::TowardNegative,
                Modifier::Rp | Modifier::Rpi => Rounding::TowardPositive,
                Modifier::Rs => Rounding::Stochastic,
                Modifier::Approx => Rounding::Approximate,
                Modifier::Full => Rounding::Full,
                _ => return None,
            })
        })
    }

    /// Whether subnormal numbers are flushed to zero.
    pub fn flushes_subnormals(&self) -> bool {
        self.has(Modifier::Ftz)
    }

    /// Whether the result is clamped, to `[0, 1]` or to the range of its type.
    pub fn saturates(&self) -> bool {
        self.has(Modifier::Sat) || self.has(Modifier::Satfinite)
    }

    /// The relation of a comparison; of unsigned types those of their own names are the plain ones.
    pub fn comparison(&self) -> Option<Comparison> {
        self.first(|m| {
            Some(match m {
                Modifier::Eq => Comparison::Eq,
                Modifier::Ne => Comparison::Ne,
                Modifier::Lt | Modifier::Lo => Comparison::Lt,
                Modifier::Le | Modifier::Ls => Comparison::Le,
                Modifier::Gt | Modifier::Hi => Comparison::Gt,
                Modifier::Ge | Modifier::Hs => Comparison::Ge,
                Modifier::Equ => Comparison::Equ,
                Modifier::Neu => Comparison::Neu,
                Modifier::Ltu => Comparison::Ltu,
                Modifier::Leu => Comparison::Leu,
                Modifier::Gtu => Comparison::Gtu,
                Modifier::Geu => Comparison::Geu,
                Modifier::Num => Comparison::Num,
                Modifier::Nan => Comparison::Nan,
                _ => return None,
            })
        })
    }

    /// How a comparison's result and a predicate are combined.
    pub fn combination(&self) -> Option<Combination> {
        self.first(|m| {
            Some(match m {
                Modifier::And => Combination::And,
                Modifier::Or => Combination::Or,
                Modifier::Xor => Combination::Xor,
                _ => return None,
            })
        })
    }

    /// What an atomic operation or a reduction does.
    pub fn atomic_operation(&self) -> Option<AtomicOperation> {
        self.first(|m| {
            Some(match m {
                Modifier::Add => AtomicOperation::Add,
                Modifier::Min => AtomicOperation::Min,
                Modifier::Max => AtomicOperation::Max,
                Modifier::Inc => AtomicOperation::Inc,
                Modifier::Dec => AtomicOperation::Dec,
                Modifier::And => AtomicOperation::And,
                Modifier::Or => AtomicOperation::Or,
                Modifier::Xor => AtomicOperation::Xor,
                Modifier::Exch => AtomicOperation::Exch,
                Modifier::Cas => AtomicOperation::Cas,
                _ => return None,
            })
        })
    }

    /// The cache operator.
    pub fn cache(&self) -> Option<CacheOperator> {
        self.first(|m| {
            Some(match m {
                Modifier::Ca => CacheOperator::Ca,
                Modifier::Cg => CacheOperator::Cg,
                Modifier::Cs => CacheOperator::Cs,
                Modifier::Lu => CacheOperator::Lu,
                Modifier::Cv => CacheOperator::Cv,
                Modifier::Wb => CacheOperator::Wb,
                Modifier::Wt => CacheOperator::Wt,
                _ => return None,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_word_is_spelled_as_it_was_read() {
        let words = Modifier::words().map(|(word, _)| word);
        let types = Type::ALL.iter().map(|ty| ty.name());
        let mut seen = HashSet::new();
        for word in words.chain(types).chain(["v2", "x128", "m16n8k16", "m8n8"]) {
            assert!(seen.insert(word), "{word} stands twice");
            let modifier = Modifier::of(word);
            assert_eq!(modifier.spelling().as_deref(), Some(word));
        }
        for word in ["v3", "vx", "bogus", "", "m16", "x", "U32"] {
            assert_eq!(Modifier::of(word), Modifier::Other, "{word}");
        }
    }
}

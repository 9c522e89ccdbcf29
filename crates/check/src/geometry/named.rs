//! Blocks that the constants of a source tell.
//!
//! `BLOCK_SIZE` is the number of a block's threads, and `BM / TM` is, where a block computes `BM` rows and a thread `TM` of them. The
//! kernel's own constants count first, and those of the rest of the file where they tell nothing.

use super::{BLOCK_THREADS, function, reads};
use crate::entry::{plain, unqualified};
use crate::input::Input;
use report::kernel_view::variable_name;
use simt::ids::Dim3;
use toolchain::cuda_text::{CudaText, scalar_bytes};

/// Constants whose quotients are tried, at most.
const QUOTIENTS: usize = 12;

/// The named integers of a source.
#[derive(Clone, Debug, Default)]
pub(super) struct Named<'a> {
    /// Those that the kernel and what it calls mention.
    own: Vec<(&'a str, i64)>,
    /// Those that are compiled for the GPU anywhere in the file.
    all: Vec<(&'a str, i64)>,
    /// The source, and the kernel's plain name.
    source: Option<(&'a CudaText, String)>,
}

/// Rows of an array of which each is for the threads, at most: stages, or fields.
const ROWS: u64 = 4;

impl<'a> Named<'a> {
    /// Those of a kernel, by its mangled name.
    pub(super) fn of(input: &'a Input, entry: &str) -> Named<'a> {
        let Some(text) = &input.source else {
            return Named::default();
        };
        let name = plain(entry);
        Named {
            own: text
                .compiled_integers_of(unqualified(&name))
                .unwrap_or_default(),
            all: text.compiled_integers(),
            source: Some((text, unqualified(&name).to_owned())),
        }
    }

    /// The elements of a row of a shared array that the kernel declares with a few rows, by its mangled name and its bytes.
    pub(super) fn rows(&self, variable: &str, bytes: u64) -> Option<u64> {
        let (text, kernel) = self.source.as_ref()?;
        let declared = text.variable_in(kernel, &variable_name(variable))??;
        let element = u64::from(scalar_bytes(&declared.ty)?);
        let dims = declared.dims.iter().map(|dim| {
            let own = text.evaluate_in(kernel, dim);
            u64::try_from(own.or_else(|| text.evaluate(dim))?).ok()
        });
        let dims: Vec<u64> = dims.collect::<Option<_>>()?;
        let (row, rows) = dims.split_last()?;
        let count: u64 = rows.iter().product();
        let whole = count.checked_mul(*row)?.checked_mul(element)? == bytes;
        (whole && !rows.is_empty() && count <= ROWS).then_some(*row)
    }

    /// The block that the names tell, where it can be launched.
    pub(super) fn block(&self, plane: bool) -> Option<Dim3> {
        let of = |named: &[(&str, i64)]| named_block(named, plane).or_else(|| tiled(named, plane));
        of(&self.own).or_else(|| of(&self.all))
    }
}

/// Constants that may be lengths of a block, the larger one first, each once.
fn lengths(named: &[(&str, i64)]) -> Vec<u32> {
    let all = named.iter();
    let mut numbers: Vec<u32> = all
        .filter_map(|(_, value)| u32::try_from(*value).ok())
        .filter(|value| (2..=1024).contains(value))
        .collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers.dedup();
    numbers
}

/// What larger constants are as multiples of smaller ones: a block of 128 rows, eight of them a thread.
fn quotients(numbers: &[u32]) -> Vec<u32> {
    let numbers = &numbers[..numbers.len().min(QUOTIENTS)];
    let of = |a: &u32| {
        let parts = numbers.iter().filter(|b| *b < a && a.is_multiple_of(**b));
        parts.map(|b| a / b).collect::<Vec<u32>>()
    };
    let all: Vec<u32> = numbers.iter().flat_map(of).collect();
    let mut found: Vec<u32> = all
        .into_iter()
        .filter(|q| *q > 1 && !numbers.contains(q))
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.dedup();
    found
}

/// Other blocks that a kernel may be made for which does not fit every block: its constants, the larger one first, what is common
/// (two tiles where it works on a plane, powers of two otherwise), quotients of its constants, and the constants of the rest of the file.
pub(crate) fn other_blocks(input: &Input, entry: &str) -> Vec<Dim3> {
    const THREADS: std::ops::RangeInclusive<u64> = 64..=BLOCK_THREADS;
    let module = &input.builds[0].module;
    let plane = function(module, entry).is_some_and(|f| reads(f, "%tid", "y"));
    let named = Named::of(input, entry);
    let (own, all) = (lengths(&named.own), lengths(&named.all));
    let quotients = quotients(&own);
    let mut blocks: Vec<Dim3> = Vec::new();
    match plane {
        true => {
            blocks.extend(pairs(&own));
            blocks.extend([(32, 8), (16, 16)].map(|(x, y)| Dim3 { x, y, z: 1 }));
            blocks.extend(pairs(&quotients));
            blocks.extend(pairs(&all));
        }
        false => {
            const COMMON: [u32; 4] = [128, 256, 512, 1024];
            let numbers = own.into_iter().chain(COMMON).chain(quotients).chain(all);
            blocks.extend(numbers.map(Dim3::linear));
        }
    }
    blocks.retain(|block| THREADS.contains(&block.count()));
    let mut once: Vec<Dim3> = Vec::new();
    for block in blocks {
        if !once.contains(&block) {
            once.push(block);
        }
    }
    once
}

/// Blocks with two of these as their lengths, in both orders.
fn pairs(numbers: &[u32]) -> Vec<Dim3> {
    let mut all = Vec::new();
    for (at, x) in numbers.iter().enumerate() {
        for y in &numbers[at..] {
            all.push(Dim3 { x: *x, y: *y, z: 1 });
            all.push(Dim3 { x: *y, y: *x, z: 1 });
        }
    }
    all
}

/// A name in small letters without underscores, and without the `k` of constants.
fn bare(name: &str) -> String {
    let plain: String = name
        .chars()
        .filter(|c| *c != '_')
        .map(|c| c.to_ascii_lowercase())
        .collect();
    match plain.strip_prefix('k') {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => plain,
    }
}

/// Whether a constant's name says that it is the number of a block's threads, or of those along `x`, `y` or both.
fn names_block(name: &str) -> Option<&'static str> {
    Some(match bare(name).as_str() {
        "blockx" | "blockdimx" | "blocksizex" | "bdimx" | "tilex" => "x",
        "blocky" | "blockdimy" | "blocksizey" | "bdimy" | "tiley" => "y",
        "block" | "blocksize" | "blockdim" | "blockwidth" | "threads" | "nthreads"
        | "numthreads" | "nrthreads" | "threadsperblock" | "threadperblock" | "blockthreads"
        | "threadsblock" | "threadnum" | "threadsnum" | "threadcount" | "numberofthreads"
        | "numthreadsperblock" | "nthreadsperblock" | "tpb" | "bs" | "bdim" | "tile"
        | "tilesize" | "tiledim" | "tilewidth" => "both",
        _ => return None,
    })
}

/// The block that the names of constants in the source tell, where it can be launched.
fn named_block(named: &[(&str, i64)], plane: bool) -> Option<Dim3> {
    let along = |axis: &str| only(named, |name| names_block(name) == Some(axis));
    let block = match (plane, along("x"), along("y"), along("both")) {
        (true, Some(x), Some(y), _) => Dim3 { x, y, z: 1 },
        (true, None, None, Some(side)) => Dim3 {
            x: side,
            y: side,
            z: 1,
        },
        (false, Some(x), None, None) | (false, None, None, Some(x)) => Dim3::linear(x),
        _ => return None,
    };
    (block.count() <= BLOCK_THREADS).then_some(block)
}

/// The value of the constants that are meant, where they have one; two that disagree say nothing.
fn only(named: &[(&str, i64)], meant: impl Fn(&str) -> bool) -> Option<u32> {
    let mut all = (named.iter())
        .filter(|(name, _)| meant(name))
        .filter_map(|(_, value)| u32::try_from(*value).ok())
        .filter(|value| (1..=1024).contains(value));
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// The block of a matrix product of which a block computes a tile and a thread a small one: `BN / TN` threads in a row, `BM / TM` rows.
fn tiled(named: &[(&str, i64)], plane: bool) -> Option<Dim3> {
    let of = |names: &[&str]| only(named, |name| names.contains(&bare(name).as_str()));
    let along = |tile: &[&str], each: &[&str]| {
        let (tile, each) = (of(tile)?, of(each)?);
        tile.is_multiple_of(each).then(|| tile / each)
    };
    let x = along(
        &[
            "bn",
            "blockn",
            "blocksizen",
            "tilen",
            "blocktilen",
            "blocktilex",
        ],
        &[
            "tn",
            "threadn",
            "threadsizex",
            "threadtilen",
            "threadtilex",
            "threadsizen",
        ],
    )?;
    let y = along(
        &[
            "bm",
            "blockm",
            "blocksizem",
            "tilem",
            "blocktilem",
            "blocktiley",
        ],
        &[
            "tm",
            "threadm",
            "threadsizey",
            "threadtilem",
            "threadtiley",
            "threadsizem",
        ],
    )?;
    let block = match plane {
        true => Dim3 { x, y, z: 1 },
        false => Dim3::linear(x.checked_mul(y)?),
    };
    (32..=BLOCK_THREADS)
        .contains(&block.count())
        .then_some(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&[("BLOCK_SIZE", 128)], false, Some((128, 1)))]
    #[case(&[("kThreadsPerBlock", 96), ("N", 7)], false, Some((96, 1)))]
    #[case(&[("TILE", 16)], true, Some((16, 16)))]
    #[case(&[("BLOCK_X", 32), ("BLOCK_Y", 4)], true, Some((32, 4)))]
    #[case(&[("BLOCK", 128), ("THREADS", 64)], false, None)]
    #[case(&[("BLOCK_SIZE", 4096)], false, None)]
    #[case(&[("TILE_DIM", 64)], true, None)]
    #[case(&[("RADIUS", 8)], false, None)]
    #[case(&[("BM", 128), ("BN", 64), ("BK", 8), ("TM", 8), ("TN", 4)], true, Some((16, 16)))]
    #[case(&[("BM", 128), ("BN", 64), ("BK", 8), ("TM", 8), ("TN", 4)], false, Some((256, 1)))]
    #[case(&[("BLOCK_SIZE_M", 64), ("BLOCK_SIZE_N", 64), ("THREAD_SIZE_X", 4), ("THREAD_SIZE_Y", 8)], true, Some((16, 8)))]
    #[case(&[("BM", 128), ("BN", 100), ("TM", 8), ("TN", 8)], true, None)]
    fn names_tell_the_block(
        #[case] all: &[(&str, i64)],
        #[case] plane: bool,
        #[case] block: Option<(u32, u32)>,
    ) {
        let named = Named {
            own: Vec::new(),
            all: all.to_vec(),
            source: None,
        };
        assert_eq!(named.block(plane).map(|b| (b.x, b.y)), block);
    }

    #[test]
    fn a_kernels_own_constants_come_first() {
        let named = Named {
            own: vec![("TILE", 8)],
            all: vec![("TILE", 32), ("BLOCK_X", 32), ("BLOCK_Y", 4)],
            source: None,
        };
        assert_eq!(named.block(true), Some(Dim3 { x: 8, y: 8, z: 1 }));
    }

    #[test]
    fn quotients_are_whole() {
        assert_eq!(quotients(&[128, 8, 3]), [16]);
        assert_eq!(quotients(&[64, 32]), [2]);
        assert!(quotients(&[]).is_empty());
    }
}

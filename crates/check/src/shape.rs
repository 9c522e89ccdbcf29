//! How large a launch may be, and how its size is written.

use super::error::{Error, ErrorKind};
use simt::ids::Dim3;

/// Threads of a block, at most (CUDA C++ Programming Guide, "Features and Technical
/// Specifications").
pub const BLOCK_THREADS: u64 = 1024;
const BLOCK_LIMITS: [u32; 3] = [1024, 1024, 64];
const GRID_LIMITS: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// Why a text is no size of a block or grid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// It has more than three numbers.
    #[error("give at most three numbers: X,Y,Z")]
    TooMany,
    /// A dimension is 0.
    #[error("every dimension must be at least 1")]
    Zero,
    /// A dimension has more than 32 bits.
    #[error("{0} is more than any GPU supports")]
    TooLarge(u64),
    /// A dimension is something else.
    #[error("`{0}` is not a positive number; write X, X,Y or X,Y,Z")]
    NoNumber(String),
}

/// Reads `X[,Y[,Z]]`.
///
/// # Errors
///
/// It is no size, or one that no GPU has.
pub fn parse(text: &str) -> Result<Dim3, ShapeError> {
    let mut out = [1u32; 3];
    let parts: Vec<&str> = text.split([',', 'x']).collect();
    if parts.len() > 3 {
        return Err(ShapeError::TooMany);
    }
    for (to, part) in out.iter_mut().zip(&parts) {
        let part = part.trim();
        *to = match part.parse::<u64>() {
            Ok(0) => return Err(ShapeError::Zero),
            Ok(n) => u32::try_from(n).map_err(|_| ShapeError::TooLarge(n))?,
            Err(_) => return Err(ShapeError::NoNumber(part.to_owned())),
        };
    }
    let [x, y, z] = out;
    Ok(Dim3 { x, y, z })
}

/// Refuses what no GPU can launch.
///
/// # Errors
///
/// What is too large, and what to do instead.
pub fn check(grid: Dim3, block: Dim3) -> Result<(), Error> {
    let threads = block.count();
    if threads > BLOCK_THREADS {
        let shown = report::terminal::thousands(threads);
        let blocks = grid.count().saturating_mul(threads).div_ceil(BLOCK_THREADS);
        return Err(Error::new(
            ErrorKind::Launch,
            format!("a block of {shown} threads is too large: the maximum is 1,024"),
        )
        .help(format!(
            "split it over more blocks, for example `--grid {blocks} --block {BLOCK_THREADS}`"
        )));
    }
    for (what, size, limits) in [("block", block, BLOCK_LIMITS), ("grid", grid, GRID_LIMITS)] {
        for (axis, (length, limit)) in ["x", "y", "z"]
            .iter()
            .zip([size.x, size.y, size.z].into_iter().zip(limits))
        {
            if length > limit {
                return Err(Error::new(ErrorKind::Launch, format!("--{what} {size}: {length} in {axis} is more than the {limit} that a GPU can launch"))
                    .help(format!("put the larger length in x: `--{what} X,Y,Z`")));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("4", 4, 1, 1)]
    #[case("4,2", 4, 2, 1)]
    #[case("4, 2, 3", 4, 2, 3)]
    #[case("16x16", 16, 16, 1)]
    fn sizes_are_read(#[case] text: &str, #[case] x: u32, #[case] y: u32, #[case] z: u32) {
        assert_eq!(parse(text), Ok(Dim3 { x, y, z }));
    }

    #[rstest]
    #[case("")]
    #[case("0")]
    #[case("-1")]
    #[case("1,2,3,4")]
    #[case("5000000000")]
    #[case("a")]
    fn mistakes_are_refused(#[case] text: &str) {
        assert!(parse(text).is_err());
    }

    #[test]
    fn impossible_launches_are_refused() {
        let block = |x, y, z| check(Dim3::ONE, Dim3 { x, y, z }).map_err(|e| e.to_string());
        assert!(block(32, 32, 1).is_ok());
        assert!(block(2000, 1, 1).unwrap_err().contains("2,000 threads"));
        assert!(block(1, 1, 65).unwrap_err().contains("65 in z"));
        assert!(
            check(
                Dim3 {
                    x: 1,
                    y: 70000,
                    z: 1
                },
                Dim3::ONE
            )
            .is_err()
        );
    }
}

use super::copies::{Piece, Start};
use super::*;

/// 16-bit numbers, each stride as small as it may be.
fn arguments(dims: &[u64]) -> (Vec<u64>, Vec<u64>, Vec<u32>) {
    let mut stride = 2;
    let mut strides = Vec::new();
    for size in &dims[..dims.len() - 1] {
        stride = (stride * size).next_multiple_of(16);
        strides.push(stride);
    }
    (dims.to_vec(), strides, vec![1; dims.len()])
}

fn map(dims: &[u64], extent: &[u32], change: impl FnOnce(&mut TensorMap)) -> TensorMap {
    let (dims, strides, steps) = arguments(dims);
    let arguments = Arguments {
        element: Element::F16 as u32,
        rank: dims.len() as u32,
        address: 0x1000,
        dims: &dims,
        strides: &strides,
        steps: &steps,
        interleave: 0,
        swizzle: 0,
        l2_promotion: 0,
        fill: 0,
    };
    let mut map = TensorMap::tile(&arguments, extent).unwrap();
    change(&mut map);
    map
}

fn pieces(map: &TensorMap, at: &[i32], shared: u64) -> Vec<Piece> {
    let mut start = Start {
        shared,
        ..Start::default()
    };
    start.at[..at.len()].copy_from_slice(at);
    map.pieces(&start)
}

#[test]
fn a_map_survives_memory_and_nothing_else_is_one() {
    let tile = map(&[100, 33, 7], &[64, 8, 2], |m| {
        m.swizzle = Swizzle::Bytes128
    });
    let mut bytes = tile.to_bytes();
    assert_eq!(TensorMap::from_bytes(&bytes), Some(tile));
    for (at, bit) in [
        (0, 1),
        (127, 1),
        (8, 1),
        (16, 1),
        (70, 4),
        (88, 16),
        (92, 8),
        (97, 16),
    ] {
        bytes[at] ^= bit;
        assert_eq!(TensorMap::from_bytes(&bytes), None, "byte {at}");
        bytes[at] ^= bit;
    }
    assert_eq!(TensorMap::from_bytes(&[0; BYTES]), None);
    let (dims, strides, steps) = arguments(&[64, 20, 20, 4]);
    let arguments = Arguments {
        element: 7,
        rank: 4,
        address: 0,
        dims: &dims,
        strides: &strides,
        steps: &steps,
        interleave: 0,
        swizzle: 1,
        l2_promotion: 2,
        fill: 1,
    };
    let im2col = TensorMap::im2col(&arguments, &[-1, -2], &[1, -3], 8, 40).unwrap();
    assert_eq!(TensorMap::from_bytes(&im2col.to_bytes()), Some(im2col));
}

#[test]
fn rows_of_a_box_lie_one_after_the_other() {
    let map = map(&[64, 4], &[8, 3], |_| {});
    let piece = |shared, tensor, bytes| Piece {
        shared,
        tensor: Some(tensor),
        bytes,
    };
    assert_eq!(
        pieces(&map, &[8, 1], 256),
        [
            piece(256, 0x1000 + 128 + 16, 16),
            piece(272, 0x1000 + 256 + 16, 16),
            piece(288, 0x1000 + 384 + 16, 16)
        ]
    );
    assert_eq!(map.copied_bytes(), 48);
}

#[test]
fn what_the_tensor_has_not_is_filled() {
    let map = map(&[10, 4], &[8, 2], |_| {});
    let found = pieces(&map, &[5, 3], 0);
    let some = |p: &Piece| (p.shared, p.tensor.map(|t| t - 0x1000), p.bytes);
    let found: Vec<_> = found.iter().map(some).collect();
    assert_eq!(
        found,
        [(0, Some(3 * 32 + 10), 10), (10, None, 6), (16, None, 16)]
    );
}

#[test]
fn a_swizzle_moves_pieces_of_16_bytes() {
    let map = map(&[64, 16], &[64, 16], |m| m.swizzle = Swizzle::Bytes128);
    for piece in pieces(&map, &[0, 0], 1024) {
        let linear = piece.tensor.unwrap() - 0x1000;
        let (row, chunk) = (linear / 128, linear / 16 % 8);
        assert_eq!(piece.bytes, 16);
        assert_eq!(piece.shared, 1024 + row * 128 + (chunk ^ (row % 8)) * 16);
    }
}

#[test]
fn arguments_are_checked() {
    let (dims, strides, steps) = arguments(&[64, 20]);
    let good = Arguments {
        element: 6,
        rank: 2,
        address: 0x1000,
        dims: &dims,
        strides: &strides,
        steps: &steps,
        interleave: 0,
        swizzle: 0,
        l2_promotion: 0,
        fill: 0,
    };
    let tile = |change: &dyn Fn(&mut Arguments<'_>), extent: [u32; 2]| {
        let mut arguments = good;
        change(&mut arguments);
        TensorMap::tile(&arguments, &extent).map(|_| ())
    };
    assert_eq!(tile(&|_| {}, [8, 20]), Ok(()));
    assert_eq!(
        tile(&|a| a.address = 8, [8, 8]),
        Err(MapError::Address(8, 16))
    );
    assert_eq!(tile(&|_| {}, [8, 257]), Err(MapError::Box(1, 257)));
    assert_eq!(tile(&|_| {}, [9, 8]), Err(MapError::Row(18)));
    assert_eq!(
        tile(&|a| a.swizzle = 1, [32, 8]),
        Err(MapError::Span(64, 32))
    );
    assert_eq!(
        tile(&|a| a.strides = &[136], [8, 8]),
        Err(MapError::Stride(1, 136, 16))
    );
    assert_eq!(
        tile(&|a| a.steps = &[1, 9], [8, 8]),
        Err(MapError::Step(1, 9))
    );
    assert_eq!(
        tile(&|a| (a.element, a.fill) = (1, 1), [8, 8]),
        Err(MapError::Fill(1))
    );
    assert_eq!(
        tile(&|a| a.interleave = 1, [8, 8]),
        Err(MapError::Rank(2, "3 to 5"))
    );
}

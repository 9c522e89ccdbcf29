use super::super::Image;
use super::*;

fn texture(linear: bool, normalized: bool, mode: AddressMode) -> Texture {
    let level = Level {
        offset: 0,
        size: [4, 2, 1],
        pitch: 16,
        slice: 32,
    };
    Texture {
        image: Image {
            format: Format {
                bits: 32,
                channels: 1,
                kind: ChannelKind::Float,
            },
            levels: vec![level],
            array: false,
            shape: Some(Geometry::D2),
        },
        sampler: Sampler {
            address: [mode; 3],
            linear,
            normalized_coordinates: normalized,
            normalized_read: false,
            srgb: false,
            border: [0.0; 4],
            linear_levels: false,
            level_bias: 0.0,
            level_range: [0.0; 2],
            anisotropy: 0,
        },
    }
}

fn at(x: f32, y: f32) -> Coordinates {
    Coordinates {
        layer: 0,
        at: [x, y, 0.0],
        whole: false,
    }
}

/// Column of the texel that a fetch of the nearest one reads.
fn column(mode: AddressMode, x: f32) -> Option<u64> {
    let taps = texture(false, true, mode).taps(Geometry::D2, &at(x, 0.0), None);
    assert_eq!(taps.len(), 1);
    let nearest = texture(false, true, mode).nearest(Geometry::D2, &at(x, 0.0));
    assert_eq!(nearest, Some(taps[0].at));
    taps[0].at.map(|at| at / 4)
}

#[test]
fn coordinates_outside_go_where_the_mode_says() {
    use AddressMode::*;
    let all = [Wrap, Clamp, Mirror, Border];
    assert_eq!(all.map(|m| column(m, 0.3)), [Some(1); 4]);
    assert_eq!(
        all.map(|m| column(m, 1.3)),
        [Some(1), Some(3), Some(2), None]
    );
    assert_eq!(
        all.map(|m| column(m, -0.1)),
        [Some(3), Some(0), Some(0), None]
    );
    assert_eq!(
        all.map(|m| column(m, 2.3)),
        [Some(1), Some(3), Some(1), None]
    );
}

#[test]
fn images_repeat_only_with_normalised_coordinates() {
    let taps = texture(false, false, AddressMode::Wrap).taps(Geometry::D2, &at(5.0, 0.0), None);
    assert_eq!(taps[0].at, Some(12));
}

#[test]
fn blending_has_weights_of_eight_bits() {
    let t = texture(true, false, AddressMode::Clamp);
    let centre = t.taps(Geometry::D2, &at(1.5, 0.5), None);
    assert_eq!(
        &centre[..],
        [Tap {
            at: Some(4),
            weight: 1.0
        }]
    );
    let between = t.taps(Geometry::D2, &at(1.5 + 0.3, 1.0), None);
    let weights: Vec<f32> = between.iter().map(|t| t.weight).collect();
    let part = 77.0 / 256.0;
    assert_eq!(
        weights,
        [
            (1.0 - part) / 2.0,
            part / 2.0,
            (1.0 - part) / 2.0,
            part / 2.0
        ]
    );
    let offsets: Vec<_> = between.iter().filter_map(|t| t.at).collect();
    assert_eq!(offsets, [4, 8, 20, 24]);
}

#[test]
fn gathering_goes_counter_clockwise_from_the_lower_left() {
    let taps = texture(false, false, AddressMode::Clamp).gathered(&at(2.0, 1.0));
    let offsets: Vec<_> = taps.iter().filter_map(|t| t.at).collect();
    assert_eq!(offsets, [20, 24, 8, 4]);
}

#[test]
fn faces_of_a_cube_are_those_of_the_guide() {
    assert_eq!(face([1.0, 0.0, 0.0]), (0, [0.5, 0.5]));
    assert_eq!(face([-1.0, 0.5, 0.0]), (1, [0.5, 0.25]));
    assert_eq!(face([0.0, 1.0, 0.5]), (2, [0.5, 0.75]));
    assert_eq!(face([0.0, -1.0, 0.5]), (3, [0.5, 0.25]));
    assert_eq!(face([0.5, 0.0, 1.0]), (4, [0.75, 0.5]));
    assert_eq!(face([0.5, 0.0, -1.0]), (5, [0.25, 0.5]));
}

#[test]
fn integers_are_read_as_they_are_or_as_fractions() {
    let mut t = texture(false, false, AddressMode::Clamp);
    t.image.format = Format {
        bits: 8,
        channels: 4,
        kind: ChannelKind::Signed,
    };
    let texel = u128::from(u32::from_le_bytes([127, 0x80, 0x81, 1]));
    assert_eq!(t.channels(texel).map(|c| c as i32), [127, -128, -127, 1]);
    t.sampler.normalized_read = true;
    let fractions = t.channels(texel).map(f32::from_bits);
    assert_eq!(fractions, [1.0, -1.0, -1.0, 1.0 / 127.0]);
    assert_eq!(half(0x3c00), 1.0);
    assert_eq!(half(0xc500), -5.0);
    assert_eq!(half(0x0001), 2f32.powi(-24));
}

fn sized(shape: Option<Geometry>, size: [u32; 3], levels: u32) -> Texture {
    let mut t = texture(false, true, AddressMode::Clamp);
    let layered = !matches!(shape, Some(Geometry::D1 | Geometry::D2 | Geometry::D3));
    let level = |l: u32| Level {
        size: std::array::from_fn(|d| match d == 2 && layered {
            true => size[d],
            false => (size[d] >> l).max(1),
        }),
        ..t.image.levels[0]
    };
    t.image.levels = (0..levels).map(level).collect();
    t.image.shape = shape;
    t
}

/// As an H200 gives them (driver 580.159.04).
#[test]
fn sizes_are_those_of_a_gpu() {
    let all = [
        (Some(Geometry::D1), [64, 1, 1], [64, 1, 0]),
        (Some(Geometry::D2), [64, 16, 1], [64, 16, 0]),
        (Some(Geometry::D3), [16, 8, 4], [16, 8, 4]),
        (Some(Geometry::A1d), [64, 1, 5], [64, 5, 0]),
        (Some(Geometry::A2d), [64, 16, 5], [64, 16, 5]),
        (Some(Geometry::Cube), [8, 8, 6], [8, 8, 0]),
        (Some(Geometry::Acube), [8, 8, 18], [8, 8, 3]),
        (None, [1000, 1, 1], [1000, 0, 0]),
    ];
    let sizes = |t: &Texture, level| [0, 1, 2].map(|d| t.size(d, level));
    for (shape, size, given) in all {
        assert_eq!(sizes(&sized(shape, size, 1), 0), given, "{shape:?}");
        assert_eq!(sizes(&sized(shape, size, 1), 1), [0; 3], "{shape:?}");
    }
    let levels = sized(Some(Geometry::A2d), [64, 32, 5], 4);
    assert_eq!(sizes(&levels, 3), [8, 4, 5]);
    assert_eq!(sizes(&levels, 4), [0; 3]);
}

/// The levels that an H200 blends for gradients in texels: it rounds, and takes a short cut to the length of the ellipse.
#[test]
fn levels_of_gradients_are_near_those_of_a_gpu() {
    use Geometry::*;
    let all: [(Geometry, [f32; 3], [f32; 3], f32); 20] = [
        (D1, [2., 0., 0.], [1., 0., 0.], 1.046875),
        (D1, [3., 0., 0.], [5., 0., 0.], 2.4609375),
        (D1, [7., 0., 0.], [0., 0., 0.], 719. / 256.),
        (D1, [-6., 0., 0.], [3., 0., 0.], 2.6328125),
        (D2, [1., 0., 0.], [0., 1., 0.], 0.0),
        (D2, [2., 0., 0.], [0., 1., 0.], 1.0),
        (D2, [0., 0., 0.], [0., 2., 0.], 1.0),
        (D2, [3., 0., 0.], [0., 0., 0.], 1.5859375),
        (D2, [3., 3., 0.], [0., 0., 0.], 2.015625),
        (D2, [4., 0., 0.], [0., 8., 0.], 3.0),
        (D2, [1., 1., 0.], [1., -1., 0.], 0.4609375),
        (D2, [5., 2., 0.], [1., 6., 0.], 2.7890625),
        (D2, [-4., 0., 0.], [0., 0., 0.], 2.0),
        (D2, [6., 1., 0.], [2., 3., 0.], 2.6875),
        (D2, [1.5, 0., 0.], [0., 1.5, 0.], 0.5859375),
        (D3, [2., 0., 0.], [0., 0., 0.], 1.0),
        (D3, [2., 2., 2.], [0., 0., 0.], 429. / 256.),
        (D3, [0., 0., 3.], [0., 0., 0.], 1.5859375),
        (D3, [1., 0., 0.], [0., 0., 4.], 2.0),
        (D3, [3., 1., 2.], [1., 0., 4.], 2.390625),
    ];
    for (geometry, x, y, given) in all {
        let t = sized(Some(geometry), [64; 3], 7);
        let steps = [x, y].map(|step| step.map(|texels| texels / 64.0));
        let level = t.level_of(geometry, &at(0.5, 0.5), steps);
        assert!(
            (level - given).abs() <= 0.125,
            "{geometry:?} {x:?} {y:?}: {level}"
        );
    }
    // Of a cube with faces of 64 texels.
    let faces: [(f32, [f32; 3], [f32; 3], f32); 5] = [
        (1., [0., 4., 0.], [0.; 3], 255. / 256.),
        (2., [0., 4., 0.], [0.; 3], 0.0),
        (1., [0., 4., 4.], [0.; 3], 365. / 256.),
        (2., [0., 0., 8.], [0., 4., 0.], 255. / 256.),
        (1., [0., 0., 8.], [0., 4., 0.], 511. / 256.),
    ];
    for (major, x, y, given) in faces {
        let t = sized(Some(Cube), [64, 64, 6], 7);
        let towards = Coordinates {
            at: [major, 0.1, 0.1],
            ..at(0.0, 0.0)
        };
        let steps = [x, y].map(|step| step.map(|part| part / 64.0));
        let level = t.level_of(Cube, &towards, steps);
        assert!(
            (level - given).abs() <= 0.125,
            "{major} {x:?} {y:?}: {level}"
        );
    }
    // One that stays within a texel, or does not move at all.
    let t = sized(Some(D2), [64; 3], 7);
    assert!(t.level_of(D2, &at(0.5, 0.5), [[0.0; 3]; 2]) < 0.0);
}

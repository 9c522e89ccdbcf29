//! Compares what a kernel left in a buffer with what is expected, element by element.

use crate::assignment::Compare;
use crate::result::Difference;
use crate::view::visible;
use session::buffer::{ElementType, Elements, Number};

/// What a comparison says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// The first differences, as many as are shown.
    pub differences: Vec<Difference>,
    /// How many elements are wrong.
    pub wrong: u64,
}

/// What a kernel left in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Left<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Which of them were written, by anybody.
    pub written: &'a [bool],
}

/// Compares the first elements, as many as are expected. An element of which a byte was never written is wrong whatever lies there.
pub fn compare(
    name: &str,
    element: ElementType,
    left: Left<'_>,
    expected: &[u8],
    how: &Compare,
) -> Compared {
    let size = element.bytes();
    let found = Elements::from_bytes(element, left.bytes);
    let wanted = Elements::from_bytes(element, expected);
    let mut out = Compared::default();
    for index in 0..wanted.len() {
        let written = left.written.get(index * size..(index + 1) * size);
        let written = written.is_some_and(|bytes| bytes.iter().all(|b| *b));
        let (want, is) = (
            wanted.get(index),
            (index < found.len()).then(|| found.get(index)),
        );
        let is = is.filter(|_| written);
        if is.is_some_and(|is| close(element, is, want, how)) {
            continue;
        }
        out.wrong += 1;
        if out.differences.len() < how.show {
            out.differences.push(Difference {
                place: format!("{name}[{index}]"),
                found: is.map(|is| shown(is, element)),
                expected: shown(want, element),
            });
        }
    }
    out
}

/// Compares two texts word by word: words that are numbers in both as numbers, the others as they are.
pub fn compare_words(name: &str, found: &[u8], expected: &[u8], how: &Compare) -> Compared {
    let (found, expected) = (
        String::from_utf8_lossy(found),
        String::from_utf8_lossy(expected),
    );
    let (mut is, mut want) = (found.split_whitespace(), expected.split_whitespace());
    let mut out = Compared::default();
    let shown = |word: &str| visible(&word.chars().take(80).collect::<String>());
    let same = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => close(ElementType::F64, Number::Float(a), Number::Float(b), how),
        _ => a == b,
    };
    for index in 1.. {
        let (is, want) = (is.next(), want.next());
        match (is, want) {
            (None, None) => break,
            (Some(a), Some(b)) if same(a, b) => continue,
            _ => {}
        }
        out.wrong += 1;
        if out.differences.len() < how.show {
            out.differences.push(Difference {
                place: format!("word {index} of {name}"),
                found: is.map(shown),
                expected: want.map_or("nothing more".to_owned(), shown),
            });
        }
    }
    out
}

/// Whether two numbers are as close as they have to be. NaN is expected where the reference has it.
fn close(element: ElementType, found: Number, expected: Number, how: &Compare) -> bool {
    let (Number::Float(a), Number::Float(b)) = (found, expected) else {
        return found == expected;
    };
    let allowed = how.atol.max(how.rtol * b.abs());
    let near = |a: f64, b: f64| (a - b).abs() <= allowed && b.is_finite();
    a == b
        || (a.is_nan() && b.is_nan())
        || near(a, b)
        || how.ulp > 0 && ulps(element, a, b).is_some_and(|n| n <= how.ulp)
}

/// How many numbers of the type lie between two; `None` for NaN.
fn ulps(element: ElementType, a: f64, b: f64) -> Option<u64> {
    if a.is_nan() || b.is_nan() {
        return None;
    }
    // Bits as integers that grow with the number.
    let order = |x: f64| -> i64 {
        match element {
            ElementType::F32 => {
                let bits = i64::from((x as f32).to_bits());
                if bits >> 31 == 0 {
                    bits
                } else {
                    (1 << 31) - bits
                }
            }
            _ => {
                let bits = x.to_bits().cast_signed();
                if bits >= 0 {
                    bits
                } else {
                    i64::MIN.wrapping_sub(bits)
                }
            }
        }
    };
    Some(order(a).abs_diff(order(b)))
}

fn shown(number: Number, element: ElementType) -> String {
    match number {
        Number::Integer(n) if element == ElementType::U64 => n.cast_unsigned().to_string(),
        Number::Integer(n) => n.to_string(),
        Number::Unsigned(n) => n.to_string(),
        Number::Float(x) if element == ElementType::F32 => (x as f32).to_string(),
        Number::Float(x) => x.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn wrong(found: f32, expected: f32, how: &Compare) -> bool {
        let left = Left {
            bytes: &found.to_le_bytes(),
            written: &[true; 4],
        };
        compare("out", ElementType::F32, left, &expected.to_le_bytes(), how).wrong > 0
    }

    #[rstest]
    #[case(1.0, 1.0, false)]
    #[case(1.0, 1.0 + f32::EPSILON, true)]
    #[case(f32::NAN, f32::NAN, false)]
    #[case(f32::NAN, 0.0, true)]
    #[case(0.0, f32::INFINITY, true)]
    #[case(-0.0, 0.0, false)]
    fn without_tolerance_numbers_are_equal(#[case] a: f32, #[case] b: f32, #[case] is_wrong: bool) {
        assert_eq!(wrong(a, b, &Compare::default()), is_wrong);
    }

    #[test]
    fn tolerances_allow_what_they_say() {
        let relative = Compare {
            rtol: 1e-3,
            ..Compare::default()
        };
        assert!(
            !wrong(1000.9, 1000.0, &relative)
                && wrong(1001.1, 1000.0, &relative)
                && wrong(0.0, 1e-9, &relative)
        );
        assert!(wrong(1.0, f32::INFINITY, &relative) && wrong(f32::INFINITY, 1.0, &relative));
        let ulp = Compare {
            ulp: 2,
            ..Compare::default()
        };
        let next = |x: f32, n: u32| f32::from_bits(x.to_bits() + n);
        assert!(!wrong(next(1.5, 2), 1.5, &ulp) && wrong(next(1.5, 3), 1.5, &ulp));
        assert!(
            !wrong(f32::from_bits(1), -0.0, &ulp)
                && !wrong(-f32::from_bits(1), f32::from_bits(1), &ulp)
        );
    }

    #[test]
    fn words_are_compared_as_numbers_where_they_are() {
        let how = Compare {
            rtol: 1e-3,
            show: 5,
            ..Compare::default()
        };
        let wrong =
            |a: &str, b: &str| compare_words("stdout", a.as_bytes(), b.as_bytes(), &how).wrong;
        assert_eq!(wrong("sum = 1000.1\n", "sum  =  1000"), 0);
        assert_eq!(wrong("sum = 1002", "sum = 1000"), 1);
        assert_eq!(wrong("Sum = 1000 and more", "sum = 1000"), 3);
        assert_eq!(wrong("", "sum = 1000"), 3);
    }

    #[test]
    fn what_was_never_written_is_wrong() {
        let left = Left {
            bytes: &[0; 8],
            written: &[true, true, true, true, true, false, true, true],
        };
        let how = Compare {
            show: 5,
            ..Compare::default()
        };
        let compared = compare("out", ElementType::I32, left, &[0; 12], &how);
        assert_eq!(compared.wrong, 2);
        assert_eq!(
            compared.differences[0],
            Difference {
                place: "out[1]".into(),
                found: None,
                expected: "0".into()
            }
        );
    }
}

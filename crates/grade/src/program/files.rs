//! Files of programs: numbers as bytes, as text, as libwb has them, and as pictures.

use crate::assignment::Layout;
use session::buffer::{ElementType, Elements, Number};
use std::fmt::Write;

/// Numbers out of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// What stands before them: the length, or rows and columns, or the size of a picture.
    pub shape: Vec<u64>,
    /// The numbers as they lie in memory; for words the text.
    pub bytes: Vec<u8>,
    /// Why not all could be read.
    pub trouble: Option<String>,
}

/// Writes numbers; `columns` of a row where there are rows.
pub fn write(layout: Layout, element: ElementType, bytes: &[u8], columns: Option<u64>) -> Vec<u8> {
    let all = Elements::from_bytes(element, bytes);
    let length = all.len() as u64;
    let rows = columns.map_or(length, |columns| length / columns.max(1));
    let mut out = String::new();
    match layout {
        Layout::Binary => return bytes.to_vec(),
        Layout::Image => {
            let width = columns.unwrap_or(length) / 3;
            let mut out = format!("P6\n{width} {rows}\n255\n").into_bytes();
            out.extend(bytes);
            return out;
        }
        Layout::Wb => {
            let _ = match columns {
                Some(columns) => writeln!(out, "{rows} {columns}"),
                None => writeln!(out, "{length}"),
            };
        }
        Layout::Text | Layout::Words => {}
    }
    for index in 0..all.len() {
        let number = match all.get(index) {
            Number::Integer(n) => n.to_string(),
            Number::Unsigned(n) => n.to_string(),
            Number::Float(x) if element == ElementType::F32 => (x as f32).to_string(),
            Number::Float(x) => x.to_string(),
        };
        let ends = columns.is_none_or(|columns| (index as u64 + 1).is_multiple_of(columns.max(1)));
        out += &number;
        out.push(if ends { '\n' } else { ' ' });
    }
    out.into_bytes()
}

/// Reads numbers; `shape` is how many stand before them where there is a head.
pub fn read(layout: Layout, element: ElementType, text: &[u8], shape: usize) -> Numbers {
    let mut out = Numbers::default();
    match layout {
        Layout::Words | Layout::Binary => {
            out.bytes = text.to_vec();
            return out;
        }
        Layout::Image => return image(text),
        Layout::Text | Layout::Wb => {}
    }
    let text = String::from_utf8_lossy(text);
    let mut words = text.split_whitespace();
    if layout == Layout::Wb {
        for _ in 0..shape {
            match words.next().map(str::parse::<u64>) {
                Some(Ok(number)) => out.shape.push(number),
                _ => {
                    out.trouble = Some("its first line is not the size".into());
                    return out;
                }
            }
        }
    }
    for word in words {
        let number = match element.is_float() {
            true => word.parse::<f64>().ok().map(Number::Float),
            false => Number::parse(word),
        };
        match number.and_then(|number| number.bytes(element)) {
            Some(bytes) => out.bytes.extend(bytes),
            None => {
                let word: String = word.chars().take(40).collect();
                out.trouble = Some(format!("`{word}` is not a number of this type"));
                break;
            }
        }
    }
    out
}

/// A picture in the binary formats PGM and PPM (netpbm, "ppm(5)"), with up to 255 for white.
fn image(text: &[u8]) -> Numbers {
    let mut out = Numbers {
        trouble: Some("it is no picture in a binary PGM or PPM format".into()),
        ..Numbers::default()
    };
    let mut at = 0;
    let mut words = Vec::new();
    while words.len() < 4 {
        while text.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        if text.get(at) == Some(&b'#') {
            while text.get(at).is_some_and(|b| *b != b'\n') {
                at += 1;
            }
            continue;
        }
        let start = at;
        while text.get(at).is_some_and(|b| !b.is_ascii_whitespace()) {
            at += 1;
        }
        if start == at {
            return out;
        }
        words.push(String::from_utf8_lossy(&text[start..at]).into_owned());
    }
    let channels = match words[0].as_str() {
        "P5" => 1,
        "P6" => 3,
        _ => return out,
    };
    let numbers: Vec<u64> = words[1..].iter().filter_map(|w| w.parse().ok()).collect();
    let [width, height, 255] = numbers[..] else {
        return out;
    };
    out.shape = vec![width, height, channels];
    out.bytes = text.get(at + 1..).unwrap_or_default().to_vec();
    let wanted = width.saturating_mul(height).saturating_mul(channels);
    out.trouble = (out.bytes.len() as u64 != wanted)
        .then(|| format!("it has {} bytes of pixels, not {wanted}", out.bytes.len()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(all: &[f32]) -> Vec<u8> {
        all.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let bytes = floats(&[0.1, -3.0, 1e30, 7.0]);
        for (layout, columns, shape) in [
            (Layout::Binary, None, vec![]),
            (Layout::Text, None, vec![]),
            (Layout::Text, Some(2), vec![]),
            (Layout::Wb, None, vec![4]),
            (Layout::Wb, Some(2), vec![2, 2]),
        ] {
            let text = write(layout, ElementType::F32, &bytes, columns);
            let read = read(layout, ElementType::F32, &text, shape.len());
            assert_eq!(
                (read.shape, read.bytes, read.trouble),
                (shape, bytes.clone(), None)
            );
        }
        let pixels: Vec<u8> = (0..24).collect();
        let text = write(Layout::Image, ElementType::U8, &pixels, Some(12));
        let read = read(Layout::Image, ElementType::U8, &text, 0);
        assert_eq!(
            (read.shape, read.bytes, read.trouble),
            (vec![4, 2, 3], pixels, None)
        );
    }

    #[test]
    fn matrices_are_as_libwb_has_them() {
        let bytes = floats(&[1.0, 2.5, 3.0, 4.0]);
        let text = write(Layout::Wb, ElementType::F32, &bytes, Some(2));
        assert_eq!(text, b"2 2\n1 2.5\n3 4\n");
    }

    #[test]
    fn what_is_no_number_ends_the_numbers() {
        let read = read(Layout::Text, ElementType::I32, b"1 2 x 4", 0);
        assert_eq!(read.bytes.len(), 8);
        assert!(read.trouble.unwrap().contains("`x`"));
        assert!(
            super::read(Layout::Wb, ElementType::I32, b"", 1)
                .trouble
                .is_some()
        );
        for bad in [
            "",
            "P6",
            "P6 2 2 255",
            "P3 1 1 255 0",
            "P6 9999999999 9999999999 255 ",
        ] {
            assert!(image(bad.as_bytes()).trouble.is_some(), "{bad}");
        }
    }
}

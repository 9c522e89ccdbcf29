//! One file a format. Those that students read are made of a [`View`](crate::view::View) alone.

pub mod autolab;
pub mod classroom50;
pub mod gradescope;
pub mod html;
pub mod json;
pub mod junit;
pub mod prairielearn;
pub mod table;
pub mod text;

/// Bytes of the text of one part, at most: services limit the size of a result to about 1 MB.
const OUTPUT: usize = 16 << 10;

/// The beginning of a text, at most so many bytes.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}\n…", &text[..end])
}

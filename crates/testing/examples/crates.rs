//! Writes the picture of the crates into ARCHITECTURE.md.

use racetrap_testing::packages::{BEGIN, END, packages, picture};

fn main() {
    let path = racetrap_testing::root().join("ARCHITECTURE.md");
    let page = std::fs::read_to_string(&path).expect("ARCHITECTURE.md can be read");
    let (before, rest) = page.split_once(BEGIN).expect("the mark of the beginning");
    let (_, after) = rest.split_once(END).expect("the mark of the end");
    std::fs::write(&path, format!("{before}{}{after}", picture(&packages())))
        .expect("ARCHITECTURE.md can be written");
}

//! Prints the table of `docs/api.md`: which functions of the public headers the drop-in libraries have.

#[path = "../names/table.rs"]
mod table;

fn main() {
    print!("{}", table::markdown());
}

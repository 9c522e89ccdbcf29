//! racetrap
fn main() {}

//! Compiles the crate anew when a file is added to a folder that it embeds.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../sanitizer/evidence");
}

//! Does nothing: cargo heeds the features of build dependencies where there is a build script.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}

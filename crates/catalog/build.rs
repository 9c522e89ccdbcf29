//! Compiles the crate anew when a file is added to a folder that it embeds. The folders are symbolic links, so that
//! `cargo package` puts what they hold into the crate.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=kernels");
    println!("cargo:rerun-if-changed=cases");
}

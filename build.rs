//! Builds the binary anew when a file of the catalogue inside it is added or changes.
fn main() {
    println!("cargo:rerun-if-changed=kernels");
    println!("cargo:rerun-if-changed=cases");
    println!("cargo:rerun-if-changed=sanitizer/evidence");
}

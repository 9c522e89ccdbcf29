//! Runs jobs on a GPU: see [`racetrap::device`].

fn main() {
    eprintln!("racetrap-device: no job was given");
    std::process::exit(2);
}

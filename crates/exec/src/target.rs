//! Which GPU a program is for: the one to simulate where nobody says another.

use crate::program::lowest_targets;
use std::ffi::OsString;

/// The GPU where a program says nothing: the oldest one that today's compilers make code for.
pub const OLDEST: u32 = 75;

/// The simulated GPU for code of a compute capability: the oldest that can run it, or the newest there is.
pub fn gpu(capability: u32) -> u32 {
    match capability {
        ..=75 => OLDEST,
        76..=80 => 80,
        _ => 90,
    }
}

/// The oldest GPU that can run all of a program, from the PTX in its file; `None` if there is none.
///
/// Of each fat binary the PTX for the oldest architecture counts: code for newer ones is an extra.
pub fn of_program(data: &[u8]) -> Option<u32> {
    lowest_targets(data).into_iter().max()
}

/// The newest architecture that the words of a build name: `-arch=sm_80`, `-gencode arch=compute_80,code=sm_80`,
/// `-DCMAKE_CUDA_ARCHITECTURES=75;80`.
pub fn of_build(command: &[OsString]) -> Option<u32> {
    let words = command.iter().map(|word| word.to_string_lossy());
    words.filter_map(|word| named(&word)).max()
}

/// The newest architecture that compiler options name, as the name of a virtual one has it: `90a` of `-arch=sm_90a`.
pub fn of_options(options: &[String]) -> Option<String> {
    let newest = options.iter().filter_map(|option| named(option)).max()?;
    // Code for one architecture alone (`sm_90a`) compiles for no other.
    let alone = |option: &String| {
        ["sm_", "compute_"].iter().any(|name| {
            let text = format!("{name}{newest}a");
            option.contains(&text)
        })
    };
    let suffix = if options.iter().any(alone) { "a" } else { "" };
    Some(format!("{newest}{suffix}"))
}

/// The newest architecture in a text.
fn named(text: &str) -> Option<u32> {
    const BEFORE: [&str; 3] = ["sm_", "compute_", "CUDA_ARCHITECTURES="];
    let lists = BEFORE.iter().flat_map(|name| {
        let places = text.match_indices(name);
        places.filter_map(|(at, name)| text.get(at + name.len()..))
    });
    let numbers = lists.flat_map(|list| list.split(';').map_while(number));
    numbers.filter(|n| (50..1000).contains(n)).max()
}

/// The number that a text begins with.
fn number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text[..end.unwrap_or(text.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(words: &str) -> Option<u32> {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        of_build(&words)
    }

    #[test]
    fn a_build_names_its_architecture() {
        assert_eq!(build("nvcc -arch=sm_80 -o p p.cu"), Some(80));
        assert_eq!(
            build("nvcc -gencode arch=compute_70,code=sm_86 p.cu"),
            Some(86)
        );
        assert_eq!(
            build("cmake -DCMAKE_CUDA_ARCHITECTURES=75;90-real ."),
            Some(90)
        );
        assert_eq!(build("nvcc -arch=sm_90a p.cu"), Some(90));
        assert_eq!(build("make -j4 SMS=80"), None);
        assert_eq!(build("nvcc dasm_1 sm_ compute_99999999999"), None);
    }

    #[test]
    fn options_name_a_virtual_architecture() {
        let of = |options: &[&str]| {
            of_options(&options.iter().map(|o| (*o).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&["-arch=sm_80"]).as_deref(), Some("80"));
        assert_eq!(
            of(&["-O3", "-gencode", "arch=compute_90a,code=sm_90a"]).as_deref(),
            Some("90a")
        );
        assert_eq!(of(&["-lineinfo", "-DARCH=80"]), None);
    }

    #[test]
    fn the_oldest_gpu_that_can_run_it_is_simulated() {
        let chosen = [52, 75, 80, 86, 89, 90, 100, 120].map(gpu);
        assert_eq!(chosen, [75, 75, 80, 90, 90, 90, 90, 90]);
    }

    #[test]
    fn what_is_no_program_is_for_none() {
        assert_eq!(of_program(b"#!/bin/sh\n"), None);
    }
}

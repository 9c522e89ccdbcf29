//! Checks from PTX text to what is said of it. One program, since each has all of racetrap linked in; `fuzz.rs`, which limits the memory
//! of its process, is another.

extern crate racetrap_check as check;

mod compare_and_swap;
mod contents;
mod elements;
mod guesses;
mod host_facts;
mod inline_asm;
mod results;
mod shared;

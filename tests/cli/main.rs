//! The program as its user calls it: what it prints, how it ends, and that its scripts do what they say.

mod common;

mod accept;
mod action;
mod advice;
mod api;
mod bad_input;
mod browser;
mod budgets;
mod check;
mod counters;
mod device_process;
mod diff;
mod fix;
mod flags;
mod gpu_run;
#[cfg(feature = "grade")]
mod grade_pages;
mod homework;
mod hostile;
mod html;
mod judged;
mod mutate;
mod necessity;
mod new;
mod own_catalog;
mod pins;
mod plain;
mod planted_bugs;
mod sanitize;
mod sanitizer;
mod strangers;
mod templates;
mod which_tools;

//! racetrap's own catalogue, one test a case: what a user's project has, too (`racetrap new`). `src/harness.rs` says how cases are
//! judged, and which variables there are.

racetrap::catalog_tests!(".");

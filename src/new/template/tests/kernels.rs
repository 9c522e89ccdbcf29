//! Each case below `cases` is a test. `renew` compiles the kernels that changed before the tests are listed; the PTX beside them is
//! to be committed, so that machines without the CUDA compiler can run the tests.

racetrap::catalog_tests!(".", renew);

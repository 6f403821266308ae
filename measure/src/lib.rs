//! What the benches of this project share, and the tests with them: the built artifacts, the
//! machine, the vDSO found from an ordinary program, quantiles, tables, pictures.

pub mod artifacts;
pub mod machine;
pub mod picture;
pub mod regions;
pub mod samples;
pub mod table;
pub mod vdso;

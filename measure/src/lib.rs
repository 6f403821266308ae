//! What the benches of this project share, and the tests with them: the built artifacts, the
//! machine, functions found from an ordinary program, quantiles, tables, pictures.

pub mod artifacts;
pub mod image;
pub mod machine;
pub mod picture;
pub mod regions;
pub mod samples;
pub mod spin;
pub mod symbols;
pub mod syscall;
pub mod table;
pub mod vdso;

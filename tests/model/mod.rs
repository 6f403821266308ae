//! The in-flight protocol as a list of steps, and the world that the steps act on.

pub mod machine;
pub mod programs;

//! What the test programs of this package share.

pub mod model;
pub mod support;

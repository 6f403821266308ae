//! What benches and tests share.

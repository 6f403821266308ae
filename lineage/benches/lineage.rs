//! `cargo bench --bench lineage`: the designs side by side. All of it is in the library of this package.

fn main() -> std::process::ExitCode {
    ownpool_lineage::main()
}

//! The `ownpool` command. All of it is in the library of this package, so that fuzz
//! targets can link it.

fn main() -> std::process::ExitCode {
    ownpool_cli::main()
}

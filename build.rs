//! Linker flags of the library.
//!
//! `-z nodelete`: thread destructors and hooks outlive a dlclose.
//! `-soname`: programs that link it record the name that `make install` links.
//! `-z separate-loadable-segments`: perf takes the address of a static probe for
//! its place in the file; without it the two differ, and a probe would be set
//! into the middle of another instruction.
//! `-z shstk`: calls and returns balance, and a process whose libraries do not all say so
//! loses its shadow stack (glibc 2.39).
//! `-lc`: a library without std links nothing by itself. Without the entry the
//! loader would neither start libc before us nor check the versions of its symbols.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for argument in [
        "-Wl,-z,nodelete",
        "-Wl,-z,relro,-z,now",
        "-Wl,-z,shstk",
        "-Wl,-z,separate-loadable-segments",
        "-Wl,-soname,libownpool.so.0",
        "-lc",
    ] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}

//! Linker flags of the library.
//!
//! `-z nodelete`: thread destructors and hooks outlive a dlclose.
//! `-soname`: programs that link it record the name that `make install` links.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for argument in [
        "-Wl,-z,nodelete",
        "-Wl,-z,relro,-z,now",
        "-Wl,-soname,libownpool.so.0",
    ] {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}

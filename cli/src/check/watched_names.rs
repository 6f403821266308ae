//! The names that tell where a program's randomness comes from.

use std::collections::BTreeMap;

/// Watched names and what they mean.
pub(crate) type Names = BTreeMap<&'static str, Kind>;

/// What an import or a definition of a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The library answers it, and it is randomness for certain.
    Random,
    /// syscall(2): randomness if the number is getrandom's.
    Syscall,
    /// Reads files by a name that the library answers; randomness if the file is urandom.
    Read,
    /// Looks names up at run time.
    Lookup,
    /// A generator in user space, seeded once and then asked instead of the kernel.
    Generator,
    /// `std::random_device`: libstdc++ asks the kernel on the program's behalf if it is told
    /// to, or has no RDSEED or RDRAND.
    RandomDevice,
    /// Starts a Java virtual machine.
    Java,
}

/// No watched name is longer, so none needs to be read further.
pub(crate) const LONGEST: usize = 40;

#[rustfmt::skip]
const WATCHED: [(Kind, &[&str]); 7] = [
    (Kind::Random, &["getrandom", "getentropy", "arc4random", "arc4random_buf", "arc4random_uniform"]),
    (Kind::Syscall, &["syscall"]),
    (Kind::Read, &[
        "read", "readv", "pread", "pread64", "preadv", "preadv2", "preadv64", "preadv64v2",
        "__read_chk", "__pread_chk", "__pread64_chk",
    ]),
    (Kind::Lookup, &["dlsym", "dlvsym"]),
    (Kind::Generator, &[
        "RAND_bytes", "RAND_bytes_ex", "RAND_priv_bytes", "RAND_priv_bytes_ex", "RAND_pseudo_bytes",
        "EVP_RAND_generate", "PK11_GenerateRandom", "RNG_GenerateGlobalRandomBytes", "gnutls_rnd",
        "gcry_create_nonce", "gcry_random_bytes", "gcry_randomize", "mbedtls_ctr_drbg_random",
        "mbedtls_hmac_drbg_random", "wc_RNG_GenerateBlock",
    ]),
    (Kind::RandomDevice, &["_ZNSt13random_device9_M_getvalEv"]),
    (Kind::Java, &["JLI_Launch", "JNI_CreateJavaVM"]),
];

/// The watched name that this symbol is.
pub(crate) fn watched(symbol: &[u8]) -> Option<(&'static str, Kind)> {
    WATCHED.iter().find_map(|(kind, names)| {
        let mut names = names.iter();
        let name = names.find(|name| name.as_bytes() == symbol)?;
        Some((*name, *kind))
    })
}

/// Parts of the GNU C library, by soname. They are below the names that we stand in front
/// of: what they draw for themselves does not pass us.
pub(crate) fn is_libc(soname: &[u8]) -> bool {
    const PARTS: &str = "libc.so.6 libm.so.6 libmvec.so.1 libdl.so.2 librt.so.1 libpthread.so.0 libutil.so.1 \
        libresolv.so.2 libanl.so.1 libnsl.so.1 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1";
    PARTS.split(' ').any(|part| part.as_bytes() == soname)
}

/// Libraries that draw once, for a seed that is no secret or stays in memory, and that half
/// of all programs link: their imports say nothing about the program.
pub(crate) fn seeds_once(soname: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 4] = [
        b"libexpat.so.",    // salts its hash tables
        b"libglib-2.0.so.", // seeds its Mersenne twister
        b"libstdc++.so.",   // has std::random_device for those who import it
        b"libapr-1.so.",    // seeds its own generator
    ];
    PREFIXES.iter().any(|prefix| soname.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_are_watched() {
        let mut names = WATCHED.iter().flat_map(|(_, names)| *names);
        assert!(names.all(|name| name.len() <= LONGEST));
        assert_eq!(watched(b"getrandom"), Some(("getrandom", Kind::Random)));
        assert_eq!(watched(b"getrandomx"), None);
    }

    #[test]
    fn sonames_go_by_their_beginning() {
        assert!(is_libc(b"libc.so.6") && !is_libc(b"libcrypto.so.3"));
        assert!(seeds_once(b"libexpat.so.1") && !seeds_once(b"libuuid.so.1"));
    }
}

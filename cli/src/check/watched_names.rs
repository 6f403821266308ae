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

/// Sorted, for the binary search.
const WATCHED: [(&str, Kind); 37] = [
    ("EVP_RAND_generate", Kind::Generator),
    ("JLI_Launch", Kind::Java),
    ("JNI_CreateJavaVM", Kind::Java),
    ("PK11_GenerateRandom", Kind::Generator),
    ("RAND_bytes", Kind::Generator),
    ("RAND_bytes_ex", Kind::Generator),
    ("RAND_priv_bytes", Kind::Generator),
    ("RAND_priv_bytes_ex", Kind::Generator),
    ("RAND_pseudo_bytes", Kind::Generator),
    ("RNG_GenerateGlobalRandomBytes", Kind::Generator),
    ("_ZNSt13random_device9_M_getvalEv", Kind::RandomDevice),
    ("__pread64_chk", Kind::Read),
    ("__pread_chk", Kind::Read),
    ("__read_chk", Kind::Read),
    ("arc4random", Kind::Random),
    ("arc4random_buf", Kind::Random),
    ("arc4random_uniform", Kind::Random),
    ("dlsym", Kind::Lookup),
    ("dlvsym", Kind::Lookup),
    ("gcry_create_nonce", Kind::Generator),
    ("gcry_random_bytes", Kind::Generator),
    ("gcry_randomize", Kind::Generator),
    ("getentropy", Kind::Random),
    ("getrandom", Kind::Random),
    ("gnutls_rnd", Kind::Generator),
    ("mbedtls_ctr_drbg_random", Kind::Generator),
    ("mbedtls_hmac_drbg_random", Kind::Generator),
    ("pread", Kind::Read),
    ("pread64", Kind::Read),
    ("preadv", Kind::Read),
    ("preadv2", Kind::Read),
    ("preadv64", Kind::Read),
    ("preadv64v2", Kind::Read),
    ("read", Kind::Read),
    ("readv", Kind::Read),
    ("syscall", Kind::Syscall),
    ("wc_RNG_GenerateBlock", Kind::Generator),
];

/// The watched name that this symbol is.
pub(crate) fn watched(symbol: &[u8]) -> Option<(&'static str, Kind)> {
    let at = WATCHED
        .binary_search_by(|(name, _)| name.as_bytes().cmp(symbol))
        .ok()?;
    WATCHED.get(at).copied()
}

/// Parts of the GNU C library, by soname. They are below the names that we stand in front
/// of: what they draw for themselves does not pass us.
pub(crate) fn is_libc(soname: &[u8]) -> bool {
    const PARTS: [&[u8]; 12] = [
        b"libc.so.6",
        b"libm.so.6",
        b"libmvec.so.1",
        b"libdl.so.2",
        b"librt.so.1",
        b"libpthread.so.0",
        b"libutil.so.1",
        b"libresolv.so.2",
        b"libanl.so.1",
        b"libnsl.so.1",
        b"ld-linux-x86-64.so.2",
        b"ld-linux-aarch64.so.1",
    ];
    PARTS.contains(&soname)
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
    fn the_table_can_be_searched() {
        assert!(WATCHED.is_sorted_by(|(one, _), (other, _)| one < other));
        assert!(WATCHED.iter().all(|(name, _)| name.len() <= LONGEST));
        assert_eq!(watched(b"getrandom"), Some(("getrandom", Kind::Random)));
        assert_eq!(watched(b"getrandomx"), None);
    }

    #[test]
    fn sonames_go_by_their_beginning() {
        assert!(is_libc(b"libc.so.6") && !is_libc(b"libcrypto.so.3"));
        assert!(seeds_once(b"libexpat.so.1") && !seeds_once(b"libuuid.so.1"));
    }
}

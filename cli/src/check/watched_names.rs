//! The names that tell where a program's randomness comes from.

/// What an import or a definition of a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The library stands in front of it, and it is randomness for certain.
    Door,
    /// syscall(2): randomness if the number is getrandom's.
    Syscall,
    /// Reads files by a name that we stand in front of; randomness if the file is urandom.
    Read,
    /// Looks names up at run time.
    Lookup,
    /// A generator in user space, seeded once and then asked instead of the kernel.
    Drbg,
    /// `std::random_device`: libstdc++ asks the kernel on the program's behalf if it is told
    /// to, or has no RDSEED or RDRAND.
    Device,
    /// Starts a Java virtual machine.
    Java,
}

/// No watched name is longer, so none needs to be read further.
pub(crate) const LONGEST: usize = 40;

/// Sorted, for the binary search.
const WATCHED: [(&str, Kind); 37] = [
    ("EVP_RAND_generate", Kind::Drbg),
    ("JLI_Launch", Kind::Java),
    ("JNI_CreateJavaVM", Kind::Java),
    ("PK11_GenerateRandom", Kind::Drbg),
    ("RAND_bytes", Kind::Drbg),
    ("RAND_bytes_ex", Kind::Drbg),
    ("RAND_priv_bytes", Kind::Drbg),
    ("RAND_priv_bytes_ex", Kind::Drbg),
    ("RAND_pseudo_bytes", Kind::Drbg),
    ("RNG_GenerateGlobalRandomBytes", Kind::Drbg),
    ("_ZNSt13random_device9_M_getvalEv", Kind::Device),
    ("__pread64_chk", Kind::Read),
    ("__pread_chk", Kind::Read),
    ("__read_chk", Kind::Read),
    ("arc4random", Kind::Door),
    ("arc4random_buf", Kind::Door),
    ("arc4random_uniform", Kind::Door),
    ("dlsym", Kind::Lookup),
    ("dlvsym", Kind::Lookup),
    ("gcry_create_nonce", Kind::Drbg),
    ("gcry_random_bytes", Kind::Drbg),
    ("gcry_randomize", Kind::Drbg),
    ("getentropy", Kind::Door),
    ("getrandom", Kind::Door),
    ("gnutls_rnd", Kind::Drbg),
    ("mbedtls_ctr_drbg_random", Kind::Drbg),
    ("mbedtls_hmac_drbg_random", Kind::Drbg),
    ("pread", Kind::Read),
    ("pread64", Kind::Read),
    ("preadv", Kind::Read),
    ("preadv2", Kind::Read),
    ("preadv64", Kind::Read),
    ("preadv64v2", Kind::Read),
    ("read", Kind::Read),
    ("readv", Kind::Read),
    ("syscall", Kind::Syscall),
    ("wc_RNG_GenerateBlock", Kind::Drbg),
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

/// Libraries that draw once, to seed something that is no secret or lives in memory, and
/// that half of all programs link: their imports say nothing about the program.
pub(crate) fn seeds_only(soname: &[u8]) -> Option<&'static str> {
    const TABLE: [(&[u8], &str); 4] = [
        (b"libexpat.so.", "salts its hash tables once"),
        (b"libglib-2.0.so.", "seeds its Mersenne twister once"),
        (
            b"libstdc++.so.",
            "has std::random_device, for whoever imports it",
        ),
        (b"libapr-1.so.", "seeds its own generator"),
    ];
    TABLE
        .iter()
        .find(|(prefix, _)| soname.starts_with(prefix))
        .map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_searched() {
        assert!(WATCHED.is_sorted_by(|(one, _), (other, _)| one < other));
        assert!(WATCHED.iter().all(|(name, _)| name.len() <= LONGEST));
        assert_eq!(watched(b"getrandom"), Some(("getrandom", Kind::Door)));
        assert_eq!(watched(b"getrandomx"), None);
    }

    #[test]
    fn sonames_go_by_their_beginning() {
        assert!(is_libc(b"libc.so.6") && !is_libc(b"libcrypto.so.3"));
        assert!(seeds_only(b"libexpat.so.1").is_some() && seeds_only(b"libuuid.so.1").is_none());
    }
}

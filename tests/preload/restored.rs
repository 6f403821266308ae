//! How far a state page that was stolen, or restored with a snapshot, reaches: no farther
//! than README ("Security") promises. `tests/c/restored.c` puts the page back and counts the bytes
//! that come twice.
use ownpool_tests::support;
use ownpool_tests::support::Place;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// How many bytes of requests of `len` come twice, with one of `other` before each.
fn twice(program: &std::path::Path, len: u64, other: u64, reseed_bytes: &str) -> u64 {
    let printed = support::succeeds(
        support::preloaded(program)
            .args([len.to_string(), other.to_string()])
            .env("OWNPOOL_TEST", "novdso")
            .env("OWNPOOL_MODE", "always")
            .env("OWNPOOL_RESEED_BYTES", reseed_bytes),
    );
    printed.trim().parse().expect("a number")
}

#[test]
fn kernel_bytes_end_what_a_copy_of_the_state_knows() {
    let place = Place::new();
    let program = place.compile("restored", &[]);
    let mut put_back = 0;
    for (len, other, reseed_bytes, most) in [
        // From the buffer: until the next refill.
        (16, 0, "0", 3040),
        (64, 0, "0", 3040),
        (1000, 0, "0", 3040),
        // With keys of their own, out of the same buffer: until the page is reseeded.
        (KIB, 0, "0", 64 * KIB),
        (4 * KIB, 0, "0", 64 * KIB),
        (15 * KIB, 0, "0", 64 * KIB),
        (4 * KIB, 64, "0", 64 * KIB),
        (64, 4 * KIB, "0", 3040),
        // With kernel bytes of their own.
        (16 * KIB, 0, "0", 0),
        (MIB, 0, "0", 0),
        // Which do nothing for what else comes from the page.
        (64, 16 * KIB, "0", 3040),
        // The setting holds for requests of all these kinds, and large ones do not put it off.
        (64, 0, "8K", 8 * KIB + 3040),
        (4 * KIB, 0, "8K", 8 * KIB),
        (4 * KIB, 0, "256K", 256 * KIB),
        (64, 16 * KIB, "256K", 256 * KIB),
        (16 * KIB, 0, "256K", 0),
    ] {
        let found = twice(&program, len, other, reseed_bytes);
        let case = format!("{len} with {other}, reseeded every {reseed_bytes}: {found}");
        println!("{case}");
        assert!(found <= most, "{case}");
        put_back += u64::from(found > 0);
    }
    // Not every state is one from which anything may come twice, but most are.
    assert!(put_back >= 10, "nothing was put back");
}

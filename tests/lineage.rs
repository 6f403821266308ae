//! The contenders of `benches/lineage`, held to what each of their designs claims, and shown to have the
//! faults that the old thread found in them.
//!
//! Promises: a claim ("no two readers get the same output") is tested under stress, a fault by an order
//! of events played by hand, so that it shows on any machine. The benchmark measures how often.

#[path = "../benches/lineage/contenders/mod.rs"]
#[allow(
    dead_code,
    clippy::indexing_slicing,
    reason = "the benchmark uses the rest, and says why it indexes"
)]
mod contenders;
#[path = "../benches/lineage/machine.rs"]
#[allow(
    dead_code,
    clippy::indexing_slicing,
    reason = "the benchmark uses the rest, and says why it indexes"
)]
mod machine;
#[path = "../benches/lineage/stress.rs"]
#[allow(
    dead_code,
    clippy::indexing_slicing,
    reason = "the benchmark uses the rest, and says why it indexes"
)]
mod stress;

use contenders::c1_spinlock::OnePool;
use contenders::c2_nodes::NodePools;
use contenders::c3_salted::{Counted, Salt, SaltedPool};
use contenders::c4_atomic::AtomicPool;
use contenders::c5_deferred::{DeferredPool, Nonce};
use contenders::c6_ring::{Full, PLACES, RingPool};
use contenders::c7_md5::{self, Md5Chain};
use contenders::c8_siphash::{self, SipChain};
use contenders::c9_rdrand::Rdrand;
use contenders::c10_kernel::{Kernel, fresh};
use contenders::c11_siprng::{NoisySipRng, SipRng};
use contenders::p9_batch::Batched;
use contenders::vdso::{Vdso, VdsoInts};
use contenders::{Ints, Pool, Seat, register};
use core::time::Duration;
use machine::Machine;
use std::collections::HashSet;

/// Outputs a thread in the stress tests; four threads draw 2^18, whose odds of an equal pair by chance
/// are 2^36 / 2^81 = 2^-45.
const EACH: usize = 1 << 16;

fn assert_distinct<P: Pool>(name: &str, pool: &P) {
    let found = stress::collisions(pool, &Machine::new(), 4, EACH);
    assert_eq!(found.outputs, 4 * EACH, "{name}");
    assert_eq!((found.between, found.within), (0, 0), "{name}: {found:?}");
}

#[test]
fn c1_readers_never_share_output() {
    assert_distinct("C1", &OnePool::<false>::new(&fresh()));
}

#[test]
fn c2_readers_never_share_output() {
    assert_distinct("C2", &NodePools::new(2, &fresh()));
}

#[test]
fn c3_cpus_never_share_output() {
    let pool: SaltedPool = SaltedPool::new(&fresh());
    let found = stress::collisions(&pool, &Machine::new(), 4, EACH);
    // One CPU may see a pool again that a neighbour's late writes have put back: the design allows it.
    assert_eq!(found.between, 0, "{found:?}");
}

#[test]
fn c4_with_salt_cpus_never_share_output() {
    let found = stress::collisions(&AtomicPool::<true>::new(&fresh()), &Machine::new(), 4, EACH);
    assert_eq!(found.between, 0, "{found:?}");
}

#[test]
fn c5_readers_never_share_output() {
    assert_distinct("C5", &DeferredPool::new(&fresh()));
}

#[test]
fn c6_gives_each_block_once() {
    assert_distinct("C6", &RingPool::new(Full::Rest, &fresh()));
    assert_distinct("C6, replacing", &RingPool::new(Full::Replace, &fresh()));
}

#[test]
fn kernel_and_vdso_never_share_output() {
    assert_distinct("system call", &Kernel);
    if let Some(vdso) = Vdso::new() {
        assert_distinct("vDSO", &vdso);
    }
}

#[test]
fn two_readers_between_mix_backs() {
    let seed = fresh();
    let (one, two) = (Salt::new(0), Salt::new(1));
    // C4 without a salt is the one in which both get the same.
    let plain = AtomicPool::<false>::new(&seed);
    assert_eq!(plain.hash(one), plain.hash(two));
    let salted = AtomicPool::<true>::new(&seed);
    assert_ne!(salted.hash(one), salted.hash(two));
    let c3: SaltedPool = SaltedPool::new(&seed);
    assert_ne!(c3.hash(one), c3.hash(two));
    let c5 = DeferredPool::new(&seed);
    let (mut one, mut two) = (Nonce::new(0), Nonce::new(1));
    assert_ne!(c5.hash(&mut one), c5.hash(&mut two));
    // Nor does one CPU that hashes twice: its counter has moved.
    assert_ne!(c5.hash(&mut one), c5.hash(&mut one));
}

#[test]
fn salts_of_cpus_differ() {
    let starts: HashSet<_> = (0..4096).map(|cpu| Salt::new(cpu).start()).collect();
    assert_eq!(starts.len(), 4096);
}

#[test]
fn c3_alone_is_even_and_two_that_meet_are_not() {
    let pool = SaltedPool::<Counted>::new(&[1; 32]);
    let before = pool.landed();
    let salt = Salt::new(0);
    for _ in 0..8 {
        pool.mix(salt, pool.position(), &[1; register::HASH_LEN]);
    }
    let after = pool.landed();
    assert!(
        before
            .iter()
            .zip(after)
            .all(|(before, after)| after - before == 5),
        "{after:?}"
    );

    // Four times two CPUs read the same position before either has moved it.
    let neighbour = Salt::new(1);
    for _ in 0..4 {
        let position = pool.position();
        pool.mix(salt, position, &[2; register::HASH_LEN]);
        pool.mix(neighbour, position, &[3; register::HASH_LEN]);
    }
    let writes: Vec<_> = pool
        .landed()
        .iter()
        .zip(after)
        .map(|(now, then)| now - then)
        .collect();
    assert_eq!(writes.iter().sum::<u64>(), 160);
    assert!(writes.iter().any(|&count| count < 5), "{writes:?}");
    assert!(writes.iter().any(|&count| count > 5), "{writes:?}");
}

#[test]
fn c3_is_counted_under_stress_and_c1_is_even() {
    let machine = Machine::new();
    let c1 = stress::locked_evenness(&machine, 200);
    assert_eq!((c1.fewest, c1.most), (5, 5), "{c1:?}");
    assert_eq!((c1.off, c1.lost), (0.0, 0.0), "{c1:?}");
    // How uneven C3 is depends on how often two threads meet, which one core may never let happen.
    let c3 = stress::salted_evenness(&machine, 2000);
    assert!(
        c3.fewest <= 5 && c3.most >= 5 && (0.0..1.0).contains(&c3.lost),
        "{c3:?}"
    );
}

#[test]
fn c4_loses_no_reservation() {
    let pool = AtomicPool::<false>::new(&[1; 32]);
    stress::collisions(&pool, &Machine::new(), 4, 10_000);
    assert_eq!(pool.mixed(), 32 + 4 * 10_000 * register::HASH_LEN as u32);
}

#[test]
fn c5_lives_under_load() {
    let machine = Machine::new();
    for threads in [1, 2 * machine.cores.len()] {
        let fared = stress::deferred_liveness(&machine, threads, Duration::from_millis(300));
        assert!(fared.fewest > 0, "{threads} threads: {fared:?}");
        // Each hash asks for one mix-back, and one may serve several.
        assert!(
            fared.mixes_per_hash > 0.0 && fared.mixes_per_hash <= 1.0,
            "{threads} threads: {fared:?}"
        );
        assert!(!fared.forgotten, "{threads} threads: {fared:?}");
        if threads == 1 {
            assert_eq!((fared.longest, fared.mixes_per_hash), (1, 1.0), "{fared:?}");
        }
    }
}

#[test]
fn c6_full_buffer_is_stale_or_burns_a_cpu() {
    let time = Duration::from_millis(200);
    let rest = stress::full_buffer(Full::Rest, time);
    // All the places, and the block that the helper holds in its hand.
    assert_eq!(rest.stale, PLACES + 1, "{rest:?}");
    assert_eq!(rest.made, PLACES as u64, "{rest:?}");
    // And an empty one makes readers wait; a wait that was not counted would be 0.
    let hunger = stress::ring_hunger(&Machine::new(), 2, time);
    assert!(
        hunger.waited > 0 && hunger.waited <= hunger.reads,
        "{hunger:?}"
    );
    let replace = stress::full_buffer(Full::Replace, time);
    assert!(replace.made > 4 * PLACES as u64, "{replace:?}");
    assert!(replace.busy > 2.0 * rest.busy, "{rest:?} {replace:?}");
}

/// MD5 of a short message, from C7's compression alone.
fn md5(message: &[u8]) -> String {
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_le_bytes());
    // RFC 1321, section 3.3.
    let mut hash = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        let mut whole = [0; 64];
        whole.copy_from_slice(block);
        c7_md5::compress(&mut hash, &whole);
    }
    hash.iter()
        .flat_map(|word| word.to_le_bytes())
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn c7_compression_gives_the_digests_of_rfc_1321() {
    let letters = "abcdefghijklmnopqrstuvwxyz";
    let alphabet = format!("{}{letters}0123456789", letters.to_uppercase());
    let digits = "1234567890".repeat(8);
    for (message, digest) in [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (letters, "c3fcd3d76192e4007dfb496cca67e13b"),
        (&alphabet, "d174ab98d277d9f5a5611c2c9f419d9f"),
        (&digits, "57edf4a22be3c955ac49da2e2107b67a"),
    ] {
        assert_eq!(md5(message.as_bytes()), digest, "{message:?}");
    }
}

#[test]
fn c8_gives_the_official_vectors() {
    let secret: [u8; 16] = core::array::from_fn(|i| i as u8);
    let input: Vec<u8> = (0..64).collect();
    let lines: Vec<_> = SIPHASH_2_4.split_whitespace().collect();
    assert_eq!(lines.len(), 64);
    for (len, line) in lines.into_iter().enumerate() {
        let found = c8_siphash::siphash(&secret, &input[..len]).to_le_bytes();
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, line, "input of {len} bytes");
    }
}

#[test]
fn p9_hands_out_every_piece_of_every_block() {
    use chacha20::cipher::{KeyIvInit, StreamCipher};
    let key: [u8; 32] = fresh();
    let mut keystream = [0; 192];
    chacha20::ChaCha20Legacy::new(&key.into(), &[0; 8].into()).apply_keystream(&mut keystream);
    let mut batched = Batched::new(&key);
    let ints: Vec<u8> = (0..16).flat_map(|_| batched.u32().to_le_bytes()).collect();
    assert_eq!((ints.as_slice(), batched.blocks), (&keystream[..64], 1));
    let longs: Vec<u8> = (0..8).flat_map(|_| batched.u64().to_le_bytes()).collect();
    assert_eq!((longs.as_slice(), batched.blocks), (&keystream[64..128], 2));
    // The first piece of the next block is taken only when it is asked for.
    assert_eq!(batched.u32().to_le_bytes(), keystream[128..132]);
    assert_eq!(batched.blocks, 3);
}

#[test]
fn c11_without_noise_is_its_state_and_with_noise_is_not() {
    let seed = fresh();
    let draw = |rng: &mut dyn FnMut() -> u64| -> Vec<u64> { (0..1000).map(|_| rng()).collect() };
    let (mut one, mut two) = (SipRng::new(&seed), SipRng::new(&seed));
    assert_eq!(draw(&mut || one.u64()), draw(&mut || two.u64()));
    let (mut one, mut two) = (
        NoisySipRng(SipRng::new(&seed)),
        NoisySipRng(SipRng::new(&seed)),
    );
    // Different objects have different addresses, which are part of the noise.
    assert_ne!(draw(&mut || one.u64()), draw(&mut || two.u64()));
}

#[test]
fn c11_round_is_the_one_inside_siphash() {
    // SipHash-2-4 of nothing, built from C11's round: initial state, one block (the length, 0), finish.
    let (k0, k1) = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    (0..2).for_each(|_| contenders::c11_siprng::round(&mut v));
    v[2] ^= 0xff;
    (0..4).for_each(|_| contenders::c11_siprng::round(&mut v));
    assert_eq!(
        (v[0] ^ v[1] ^ v[2] ^ v[3]).to_le_bytes(),
        [0x31, 0x0e, 0x0e, 0xdd, 0x47, 0xdb, 0x6f, 0x72]
    );
}

/// 4096 words of 64 bits: an equal pair by chance has odds of 2^23 / 2^64 = 2^-41.
fn assert_words_differ(name: &str, ints: &mut impl Ints) {
    let words: HashSet<_> = (0..4096).map(|_| ints.u64()).collect();
    assert_eq!(words.len(), 4096, "{name}");
    // 64 words of 32 bits all equal: 2^-2016.
    let first = ints.u32();
    assert!((0..64).any(|_| ints.u32() != first), "{name}");
}

#[test]
fn small_integers_do_not_repeat() {
    assert_words_differ("C7", &mut Md5Chain::new(&fresh()));
    assert_words_differ("C8", &mut SipChain::new(&fresh()));
    assert_words_differ("P9", &mut Batched::new(&fresh()));
    assert_words_differ("C10", &mut Kernel);
    assert_words_differ("C11", &mut SipRng::new(&fresh()));
    assert_words_differ("C11 with noise", &mut NoisySipRng(SipRng::new(&fresh())));
    if let Some(mut rdrand) = Rdrand::new() {
        assert_words_differ("C9", &mut rdrand);
    }
    if let Some(mut vdso) = VdsoInts::new() {
        assert_words_differ("vDSO", &mut vdso);
    }
}

#[test]
fn c1_is_the_register_of_its_polynomial() {
    // One byte of 1 into an empty pool lands in the last word as 1 shifted out through the twist.
    let pool = core::cell::Cell::new([0_u32; register::WORDS]);
    let step = |position: u32, byte| {
        let mut words = pool.get();
        words[register::slot(position)] = register::stirred(|i| words[i], position, byte);
        pool.set(words);
    };
    step(u32::MAX, 1);
    assert_eq!(pool.get()[31], 0x3b6e_20c8);
    // 32 further steps of nothing touch that word's neighbours through the five taps only.
    step(u32::MAX - 1, 0);
    assert_ne!(pool.get()[30], 0, "30 + 1 is a tap of 30");
    step(u32::MAX - 2, 0);
    assert_ne!(pool.get()[29], 0, "29 + 1 is a tap of 29");
}

#[test]
fn c2_feeds_the_pools_in_turn() {
    // Twins with the same seed: after one dose the pool that was fed differs, the other does not.
    let (fed, twin) = (NodePools::new(2, &[5; 32]), NodePools::new(2, &[5; 32]));
    let draw = |pools: &NodePools, node| {
        let mut dest = [0; 64];
        pools.read(&mut pools.reader(Seat { cpu: node, node }), &mut dest);
        dest
    };
    let mut feeder = fed.reader(Seat { cpu: 0, node: 0 });
    fed.seed(&mut feeder, &[9; 32]);
    assert_ne!(draw(&fed, 0), draw(&twin, 0));
    assert_eq!(draw(&fed, 1), draw(&twin, 1));
    fed.seed(&mut feeder, &[9; 32]);
    assert_ne!(draw(&fed, 1), draw(&twin, 1));
}

/// SipHash-2-4 of the first n bytes of 00, 01, 02 ... under the key 00 ... 0f, for n from 0 to 63: the
/// reference implementation's vectors, in the byte order in which it prints them.
const SIPHASH_2_4: &str = "
    310e0edd47db6f72 fd67dc93c539f874 5a4fa9d909806c0d 2d7efbd796666785
    b7877127e09427cf 8da699cd64557618 cee3fe586e46c9cb 37d1018bf50002ab
    6224939a79f5f593 b0e4a90bdf82009e f3b9dd94c5bb5d7a a7ad6b22462fb3f4
    fbe50e86bc8f1e75 903d84c02756ea14 eef27a8e90ca23f7 e545be4961ca29a1
    db9bc2577fcc2a3f 9447be2cf5e99a69 9cd38d96f0b3c14b bd6179a71dc96dbb
    98eea21af25cd6be c7673b2eb0cbf2d0 883ea3e395675393 c8ce5ccd8c030ca8
    94af49f6c650adb8 eab8858ade92e1bc f315bb5bb835d817 adcf6b0763612e2f
    a5c91da7acaa4dde 716595876650a2a6 28ef495c53a387ad 42c341d8fa92d832
    ce7cf2722f512771 e37859f94623f3a7 381205bb1ab0e012 ae97a10fd434e015
    b4a31508beff4d31 81396229f0907902 4d0cf49ee5d4dcca 5c73336a76d8bf9a
    d0a704536ba93e0e 925958fcd6420cad a915c29bc8067318 952b79f3bc0aa6d4
    f21df2e41d4535f9 87577519048f53a9 10a56cf5dfcd9adb eb75095ccd986cd0
    51a9cb9ecba312e6 96afadfc2ce666c7 72fe52975a4364ee 5a1645b276d592a1
    b274cb8ebf87870a 6f9bb4203de7b381 eaecb2a30b22a87f 9924a43cc1315724
    bd838d3aafbf8db7 0b1a2a3265d51aea 135079a3231ce660 932b2846e4d70666
    e1915f5cb1eca46c f325965ca16d629f 575ff28e60381be5 724506eb4c328a95
";

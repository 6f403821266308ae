//! C7 to C11 and P9: the primitives against their official vectors, the batches against the keystream.

use crate::contenders::Ints;
use crate::contenders::c7_md5::{self, Md5Chain};
use crate::contenders::c8_siphash::{self, SipChain};
use crate::contenders::c9_rdrand::Rdrand;
use crate::contenders::c10_kernel::{Kernel, fresh};
use crate::contenders::c11_siprng::{self, NoisySipRng, SipRng};
use crate::contenders::p9_batch::Batched;
use crate::contenders::vdso::VdsoInts;
use std::collections::HashSet;

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

/// SipHash-2-4 of the first n bytes of 00, 01, 02 ... under the key 00 ... 0f, for n from 0 to 63: the
/// reference implementation's vectors, in the byte order in which it prints them.
#[test]
fn c8_gives_the_official_vectors() {
    let secret: [u8; 16] = core::array::from_fn(|i| i as u8);
    let input: Vec<u8> = (0..64).collect();
    let lines: Vec<_> = include_str!("siphash_2_4.txt").split_whitespace().collect();
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
    (0..2).for_each(|_| c11_siprng::round(&mut v));
    v[2] ^= 0xff;
    (0..4).for_each(|_| c11_siprng::round(&mut v));
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

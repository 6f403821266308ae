//! What the generator promises, on plain values: RFC 8439 vectors through the
//! face that the product uses, rekeying, erasing, seeds and subkeys.

use super::keystream::{BLOCK, Backend, KEY, Keystream, STRIDE};
use super::*;

fn keystream(key: &[u8; KEY], len: usize) -> Vec<u8> {
    let mut cipher = Keystream::erased();
    cipher.key(key);
    let mut out = vec![0; len];
    cipher.fill(&mut out);
    out
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn seeded(byte: u8) -> Crng {
    let mut crng = Crng::unseeded();
    *crng.seed_mut() = [byte; KEY];
    crng.refill();
    crng
}

// RFC 8439 appendix A.1, test vectors 1 and 2 (zero key and nonce, blocks 0 and
// 1), and 3's and 4's layout with a zero nonce is what vector 1 of A.2 encrypts.
#[test]
fn rfc_8439_zero_key_blocks_0_and_1() {
    let expected = hex(
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7\
         da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586\
         9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed\
         29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    );
    assert_eq!(keystream(&[0; KEY], 2 * BLOCK), expected);
}

// RFC 8439 appendix A.1, test vector 4: key 00 ff 00 ..., zero nonce, block 2.
#[test]
fn rfc_8439_block_2_of_another_key() {
    let mut key = [0; KEY];
    key[1] = 0xff;
    let expected = hex(
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca\
         13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    );
    assert_eq!(keystream(&key, 3 * BLOCK)[2 * BLOCK..], expected);
}

#[test]
fn every_length_of_run_is_the_same_stream() {
    let whole = keystream(&[7; KEY], 4 * STRIDE);
    for blocks in 1..=64 {
        assert_eq!(
            keystream(&[7; KEY], blocks * BLOCK),
            whole[..blocks * BLOCK],
            "{blocks}"
        );
    }
}

#[test]
fn bytes_after_the_last_whole_block_are_left_alone() {
    let mut out = [0xaa; BLOCK + 5];
    let mut cipher = Keystream::erased();
    cipher.key(&[1; KEY]);
    cipher.fill(&mut out);
    assert_eq!(out[BLOCK..], [0xaa; 5]);
}

#[test]
fn the_known_answer_holds_and_leaves_an_unseeded_state() {
    let mut crng = Crng::unseeded();
    assert!(known_answer(&mut crng, false));
    assert!(!known_answer(&mut crng, true));
    assert!(
        crng.run
            .iter()
            .chain(&crng.seed)
            .chain(&crng.subkey)
            .all(|&byte| byte == 0)
    );
}

#[test]
fn a_refill_is_the_keystream_of_the_mixed_key_and_replaces_it() {
    let mut crng = seeded(3);
    let first = keystream(&[3; KEY], RUN);
    assert_eq!(crng.run[..], first[..]);
    assert_eq!(crng.bytes_mut()[..], first[KEY..]);
    crng.refill();
    let key: [u8; KEY] = first[..KEY].try_into().unwrap();
    assert_eq!(crng.run[..], keystream(&key, RUN)[..]);
}

#[test]
fn a_short_refill_is_the_beginning_of_a_whole_one() {
    let (mut whole, mut short) = (seeded(3), seeded(3));
    *whole.seed_mut() = [0x55; KEY];
    *short.seed_mut() = [0x55; KEY];
    whole.refill();
    short.refill_short();
    assert_eq!(short.run[..STRIDE], whole.run[..STRIDE]);
    assert_eq!(
        short.bytes_mut()[..SHORT_YIELD],
        whole.bytes_mut()[..SHORT_YIELD]
    );
    assert_eq!(short.seed, [0; KEY]);
    // The next of either is the same: all that is kept is the key.
    whole.refill();
    short.refill();
    assert_eq!(short.run, whole.run);
}

#[test]
fn a_seed_is_folded_in_before_the_key_is_expanded() {
    let (mut plain, mut mixed) = (seeded(3), seeded(3));
    *mixed.seed_mut() = [0x55; KEY];
    let key: [u8; KEY] = mixed.run[..KEY].try_into().unwrap();
    plain.refill();
    mixed.refill();
    assert_ne!(plain.run, mixed.run);
    assert_eq!(mixed.run[..], keystream(&key.map(|k| k ^ 0x55), RUN)[..]);
    assert_eq!(mixed.seed, [0; KEY]);
    // XOR with a seed of zeros is the worst that a seed can do.
    let (mut same, mut zero) = (seeded(3), seeded(3));
    *zero.seed_mut() = [0; KEY];
    same.refill();
    zero.refill();
    assert_eq!(same.run, zero.run);
}

#[test]
fn a_subkey_is_moved_out_of_the_buffer_used_once_and_erased() {
    let mut crng = seeded(9);
    let unread = 100;
    let expected: [u8; KEY] = crng.bytes_mut()[unread - KEY..unread].try_into().unwrap();
    crng.draw_subkey(unread);
    assert_eq!(crng.bytes_mut()[unread - KEY..unread], [0; KEY]);
    let mut dest = vec![0; 2 * STRIDE];
    crng.stream(&mut dest);
    assert_eq!(dest, keystream(&expected, 2 * STRIDE));
    assert_eq!(crng.subkey, [0; KEY]);
}

#[test]
fn a_seed_changes_the_stream_of_a_large_request() {
    let (mut plain, mut mixed) = (seeded(9), seeded(9));
    let (mut a, mut b) = (vec![0; STRIDE], vec![0; STRIDE]);
    plain.draw_subkey(YIELD);
    plain.stream(&mut a);
    mixed.draw_subkey(YIELD);
    let subkey = mixed.subkey;
    *mixed.seed_mut() = [1; KEY];
    mixed.stream(&mut b);
    assert_ne!(a, b);
    assert_eq!(b, keystream(&subkey.map(|k| k ^ 1), STRIDE));
    assert_eq!(mixed.seed, [0; KEY]);
}

#[test]
fn too_few_bytes_give_no_subkey_and_no_panic() {
    let mut crng = seeded(9);
    let before = crng.run;
    for available in [0, 1, KEY - 1] {
        crng.draw_subkey(available);
        assert_eq!((crng.subkey, crng.run == before), ([0; KEY], true));
    }
    crng.draw_subkey(YIELD + 1);
    assert_eq!(crng.subkey, [0; KEY]);
}

#[test]
fn nothing_secret_is_printed() {
    assert_eq!(format!("{:?}", seeded(1)), "Crng { .. }");
    assert_eq!(format!("{:?}", Keystream::erased()), "Keystream { .. }");
}

#[test]
fn the_backend_is_the_best_that_the_processor_has() {
    let best = if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
        Backend::Avx512
    } else if is_x86_feature_detected!("avx2") {
        Backend::Avx2
    } else {
        Backend::Sse2
    };
    assert_eq!(
        Backend::in_use(),
        best,
        "did RUSTFLAGS replace --cfg chacha20_avx512?"
    );
}

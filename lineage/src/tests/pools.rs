//! C1 to C6, the kernel and the vDSO: which readers get the same output, which writes are lost, which readers wait.

use crate::contenders::c1_spinlock::OnePool;
use crate::contenders::c2_nodes::NodePools;
use crate::contenders::c3_salted::{Counted, Salt, SaltedPool};
use crate::contenders::c4_atomic::AtomicPool;
use crate::contenders::c5_deferred::{DeferredPool, Nonce};
use crate::contenders::c6_ring::{Full, PLACES, RingPool};
use crate::contenders::c10_kernel::{Kernel, fresh};
use crate::contenders::{Cpu, Pool, register};
use crate::placement::Placement;
use crate::stress::collisions::collisions;
use crate::stress::threads::Rounds;
use crate::stress::{deferred, evenness, ring};
use core::time::Duration;
use ownpool_measure::vdso::Vdso;
use std::collections::HashSet;

/// Outputs a thread in the stress tests; four threads draw 2^16, whose odds of an equal pair by chance
/// are 2^32 / 2^81 = 2^-49.
const EACH: usize = 1 << 14;

/// Meetings of two threads: 20,000 on an idle machine take well under a second.
const ROUNDS: Rounds = Rounds {
    most: 20_000,
    time: Duration::from_secs(2),
};

fn assert_distinct<P: Pool>(name: &str, pool: &P) {
    let found = collisions(pool, &Placement::new(), 4, EACH);
    assert_eq!(found.outputs, 4 * EACH, "{name}");
    assert_eq!((found.between, found.within), (0, 0), "{name}: {found:?}");
}

#[test]
fn c1_readers_never_share_output() {
    let pool = OnePool::<true>::new(&fresh());
    assert_distinct("C1", &pool);
    // The lock has let no write go missing: 20 bytes an output are the same number for each word.
    let each = (4 * EACH * register::HASH_LEN / register::WORDS) as u64;
    assert_eq!(pool.writes(), [each; register::WORDS]);
}

#[test]
fn c2_readers_never_share_output() {
    assert_distinct("C2", &NodePools::new(2, &fresh()));
}

#[test]
fn c3_cpus_never_share_output() {
    let pool: SaltedPool = SaltedPool::new(&fresh());
    let found = collisions(&pool, &Placement::new(), 4, EACH);
    // One CPU may see a pool again that a neighbour's late writes have put back: the design allows it.
    assert_eq!(found.between, 0, "{found:?}");
}

#[test]
fn c4_with_salt_cpus_never_share_output() {
    let found = collisions(
        &AtomicPool::<true>::new(&fresh()),
        &Placement::new(),
        4,
        EACH,
    );
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
    if let Ok(vdso) = Vdso::find() {
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
    let placement = Placement::new();
    let c1 = evenness::locked(&placement, ROUNDS);
    assert_eq!((c1.fewest, c1.most), (5, 5), "{c1:?}");
    assert_eq!((c1.off, c1.lost), (0.0, 0.0), "{c1:?}");
    // How uneven C3 is depends on how often two threads meet, which one core may never let happen.
    let c3 = evenness::salted(&placement, ROUNDS);
    assert!(
        c3.fewest <= 5 && c3.most >= 5 && (0.0..1.0).contains(&c3.lost),
        "{c3:?}"
    );
}

#[test]
fn c4_loses_no_reservation() {
    let pool = AtomicPool::<false>::new(&[1; 32]);
    collisions(&pool, &Placement::new(), 4, 10_000);
    assert_eq!(pool.mixed(), 32 + 4 * 10_000 * register::HASH_LEN as u32);
}

#[test]
fn c5_lives_under_load() {
    let placement = Placement::new();
    for threads in [1, 2 * placement.cores.len()] {
        let fared = deferred::liveness(&placement, threads, Duration::from_millis(300));
        assert!(!fared.starved(), "{threads} threads: {fared:?}");
        // Each hash asks for one mix-back, and one may serve several.
        assert!(
            fared.mixes_per_hash > 0.0 && fared.mixes_per_hash <= 1.0,
            "{threads} threads: {fared:?}"
        );
        if threads == 1 {
            assert_eq!((fared.longest, fared.mixes_per_hash), (1, 1.0), "{fared:?}");
        }
    }
}

/// Without its fences C5 forgets eight in a thousand of these in an optimised build, and none in a slow one:
/// the benchmark, which is always optimised, counts them too.
#[test]
fn c5_forgets_no_mix_back() {
    let (meetings, forgotten) = deferred::forgotten(&Placement::new(), ROUNDS);
    assert!(meetings > 0);
    assert_eq!(forgotten, 0, "{meetings} meetings");
}

#[test]
fn c6_full_buffer_is_stale_or_burns_a_cpu() {
    let time = Duration::from_millis(200);
    let rest = ring::full_buffer(Full::Rest, time);
    // All the places, and the block that the helper holds in its hand.
    assert_eq!(rest.stale, PLACES + 1, "{rest:?}");
    assert_eq!(rest.made, PLACES as u64, "{rest:?}");
    // And an empty one makes readers wait; a wait that was not counted would be 0.
    let hunger = ring::hunger(&Placement::new(), 2, time);
    assert!(
        hunger.waited > 0 && hunger.waited <= hunger.reads,
        "{hunger:?}"
    );
    let replace = ring::full_buffer(Full::Replace, time);
    assert!(replace.made > 4 * PLACES as u64, "{replace:?}");
    assert!(replace.busy > 2.0 * rest.busy, "{rest:?} {replace:?}");
}

#[test]
fn c1_is_the_register_of_its_polynomial() {
    // One byte of 1 into an empty pool lands in the last word as 1 shifted out through the twist.
    let pool = core::cell::Cell::new([0_u32; register::WORDS]);
    let step = |position: u32, byte| {
        let mut words = pool.get();
        words[register::slot(position)] = register::mixed(|i| words[i], position, byte);
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
        pools.read(&mut pools.reader(Cpu { number: node, node }), &mut dest);
        dest
    };
    let mut feeder = fed.reader(Cpu { number: 0, node: 0 });
    fed.seed(&mut feeder, &[9; 32]);
    assert_ne!(draw(&fed, 0), draw(&twin, 0));
    assert_eq!(draw(&fed, 1), draw(&twin, 1));
    fed.seed(&mut feeder, &[9; 32]);
    assert_ne!(draw(&fed, 1), draw(&twin, 1));
}

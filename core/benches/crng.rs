//! Pure speed of the generator: no hook, no kernel, no thread's page.
//!
//! What is left between these figures and those of `ownpool bench` is the cost of
//! everything around the generator.
#![allow(
    missing_docs,
    reason = "criterion's macros make a public function without a comment"
)]

use core::arch::asm;
use core::hint::black_box;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ownpool_core::crng::keystream::{Backend, KEY, Keystream};
use ownpool_core::crng::{Crng, RUN, YIELD};

/// Whole strides, from one to what leaves the second-level cache.
const SIZES: [usize; 5] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20];

/// The name of the backend, as part of every figure's name.
fn name(what: &str) -> String {
    format!("crng/{what}/{}", Backend::in_use().name())
}

fn seeded() -> Crng {
    let mut crng = Crng::unseeded();
    // Any key is as fast as any other.
    *crng.seed_mut() = [7; KEY];
    crng.refill();
    crng
}

/// A key expanded into its successor and the bytes to be handed out.
fn refill(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group(name("refill"));
    group.throughput(Throughput::Bytes(YIELD as u64));
    let mut crng = seeded();
    group.bench_function("rekey", |bencher| {
        bencher.iter(|| black_box(&mut crng).refill())
    });
    group.bench_function("reseed and rekey", |bencher| {
        bencher.iter(|| {
            *crng.seed_mut() = black_box([9; KEY]);
            black_box(&mut crng).refill();
        });
    });
    group.finish();
}

/// One large request: a subkey from the buffer, then keystream into the caller's memory.
fn stream(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group(name("stream"));
    let mut crng = seeded();
    for size in SIZES {
        let mut dest = vec![0; size];
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                // The same 32 bytes are drawn each time, erased after the first.
                crng.draw_subkey(YIELD);
                crng.stream(black_box(&mut dest));
            });
        });
    }
    group.finish();
}

/// The cipher alone, at the length of a refill: the most that a refill could reach.
fn keystream(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group(name("keystream"));
    let mut cipher = Keystream::erased();
    cipher.key(&[7; KEY]);
    let mut dest = vec![0; RUN];
    group.throughput(Throughput::Bytes(RUN as u64));
    group.bench_function(BenchmarkId::from_parameter(RUN), |bencher| {
        bencher.iter(|| cipher.fill(black_box(&mut dest)));
    });
    group.finish();
}

/// The twenty rounds of one block, one operation after the other, in registers as wide as
/// the AVX-512 backend's: the least time in which any number of blocks can be made there.
fn latency(criterion: &mut Criterion) {
    if !is_x86_feature_detected!("avx512f") {
        return;
    }
    let rounds = || {
        // SAFETY: registers alone, and the processor has them. What is in them is no matter.
        unsafe {
            asm!(
                ".rept 20",
                "vpaddd zmm16, zmm16, zmm17",
                "vpxord zmm19, zmm19, zmm16",
                "vprold zmm19, zmm19, 16",
                "vpaddd zmm18, zmm18, zmm19",
                "vpxord zmm17, zmm17, zmm18",
                "vprold zmm17, zmm17, 12",
                "vpaddd zmm16, zmm16, zmm17",
                "vpxord zmm19, zmm19, zmm16",
                "vprold zmm19, zmm19, 8",
                "vpaddd zmm18, zmm18, zmm19",
                "vpxord zmm17, zmm17, zmm18",
                "vprold zmm17, zmm17, 7",
                "vpshufd zmm16, zmm16, 0x93",
                "vpshufd zmm18, zmm18, 0x39",
                "vpshufd zmm19, zmm19, 0x4e",
                ".endr",
                out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
                options(nomem, nostack, preserves_flags),
            );
        }
    };
    criterion.bench_function(&name("latency"), |bencher| bencher.iter(rounds));
}

criterion_group!(benches, refill, stream, keystream, latency);
criterion_main!(benches);

//! What is measured: which entries of the library, at which sizes, against which contenders.
//!
//! Promises: the entries and sizes are those of the table in docs/performance.md, and
//! each entry is set against the raw system call that answers the same request.
//! Must never: leave out a peer that was found.

use super::contenders::*;

/// One entry of the library, with every contender that can answer the same request.
pub(super) struct Comparison {
    pub(super) entry: &'static str,
    pub(super) sizes: &'static [usize],
    pub(super) contenders: Vec<Contender>,
}

/// The sizes of the main table.
const SIZES: [usize; 11] = [4, 8, 16, 32, 64, 256, 1024, 4096, 16384, 65536, 1048576];

/// A comparison of these first, then of the peers.
fn comparison(
    entry: &'static str,
    sizes: &'static [usize],
    first: &[(&'static str, Call)],
    peers: &[Contender],
) -> Comparison {
    let first = first.iter().map(|&(who, call)| Contender { who, call });
    Comparison {
        entry,
        sizes,
        contenders: first.chain(peers.iter().copied()).collect(),
    }
}

/// Every entry at every size that is measured.
pub(super) fn entries(functions: &Functions) -> Vec<Comparison> {
    let peers = peers(functions);
    let vdso = peers.iter().copied().filter(|peer| peer.who == VDSO);
    let vdso: Vec<Contender> = vdso.collect();
    let kernel: (&str, Call) = (KERNEL, kernel_getrandom);
    vec![
        comparison(
            "getrandom",
            &SIZES,
            &[kernel, (OWNPOOL, getrandom), (FILL, fill)],
            &peers,
        ),
        comparison(
            "read",
            &[16, 32, 64, 256, 4096, 65536, 1048576],
            &[(KERNEL, kernel_read), (OWNPOOL, read)],
            &vdso,
        ),
        comparison("getentropy", &[32], &[kernel, (OWNPOOL, getentropy)], &vdso),
        comparison(
            "arc4random_buf",
            &[16],
            &[kernel, (OWNPOOL, arc4random_buf)],
            &peers,
        ),
    ]
}

/// 64 bytes a call, and pure arithmetic run the same way.
pub(super) fn scaling(functions: &Functions) -> Comparison {
    comparison(
        super::scaling::ENTRY,
        &[64],
        &[
            (ARITHMETIC, arithmetic),
            (KERNEL, kernel_getrandom),
            (OWNPOOL, getrandom),
        ],
        &peers(functions),
    )
}

/// The peers that were found, in the order of the tables.
fn peers(functions: &Functions) -> Vec<Contender> {
    let all: [(bool, &'static str, Call); 4] = [
        (functions.vdso.is_some(), VDSO, vdso),
        (functions.libbsd.is_some(), LIBBSD, libbsd),
        (functions.openssl.is_some(), OPENSSL, openssl),
        (functions.glibc.is_some(), GLIBC, glibc),
    ];
    let found = all.into_iter().filter(|row| row.0);
    found
        .map(|(_, who, call)| Contender { who, call })
        .collect()
}

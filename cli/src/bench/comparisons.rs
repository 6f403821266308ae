//! What is measured: which functions, at which sizes, against whom.
//!
//! Promises: the functions and sizes are those of the project's table of floors, and
//! each entry is set against the raw system call that answers the same request.
//! Must never: leave out a peer that was found.

use super::contenders::*;

/// One entry of the library, with everybody who can answer the same request.
pub(super) struct Comparison {
    pub(super) entry: &'static str,
    pub(super) sizes: &'static [usize],
    pub(super) contenders: Vec<Contender>,
}

/// The sizes of the main table.
pub(super) const SIZES: [usize; 11] = [
    4,
    8,
    16,
    32,
    64,
    256,
    1 << 10,
    4 << 10,
    16 << 10,
    64 << 10,
    1 << 20,
];

/// Every entry at every size that is measured.
pub(super) fn entries(functions: &Functions) -> Vec<Comparison> {
    let peers = peers(functions);
    let with = |entry, sizes, first: &[(&'static str, Call)], rest: &[Contender]| {
        let first = first.iter().map(|&(who, call)| Contender { who, call });
        Comparison {
            entry,
            sizes,
            contenders: first.chain(rest.iter().copied()).collect(),
        }
    };
    let only_vdso: Vec<Contender> = peers
        .iter()
        .copied()
        .filter(|peer| peer.who == VDSO)
        .collect();
    vec![
        with(
            "getrandom",
            &SIZES,
            &[
                (KERNEL, kernel_getrandom),
                (OWNPOOL, getrandom),
                (FILL, fill),
            ],
            &peers,
        ),
        with(
            "read",
            &[16, 32, 64, 256, 4096, 65536, 1 << 20],
            &[(KERNEL, kernel_read), (OWNPOOL, read)],
            &only_vdso,
        ),
        with(
            "getentropy",
            &[32],
            &[(KERNEL, kernel_getrandom), (OWNPOOL, getentropy)],
            &only_vdso,
        ),
        with(
            "arc4random_buf",
            &[16],
            &[(KERNEL, kernel_getrandom), (OWNPOOL, arc4random_buf)],
            &peers,
        ),
    ]
}

/// The 64-byte test, and pure arithmetic run the same way.
pub(super) fn scaling(functions: &Functions) -> Comparison {
    let mut contenders = vec![
        Contender {
            who: ARITHMETIC,
            call: arithmetic,
        },
        Contender {
            who: KERNEL,
            call: kernel_getrandom,
        },
        Contender {
            who: OWNPOOL,
            call: getrandom,
        },
    ];
    contenders.extend(peers(functions));
    Comparison {
        entry: "scaling",
        sizes: &[64],
        contenders,
    }
}

/// The peers that were found, in the order of the tables.
fn peers(functions: &Functions) -> Vec<Contender> {
    let all: [(bool, &'static str, Call); 4] = [
        (functions.vdso.is_some(), VDSO, vdso),
        (functions.libbsd.is_some(), LIBBSD, libbsd),
        (functions.openssl.is_some(), OPENSSL, openssl),
        (functions.glibc.is_some(), GLIBC, glibc),
    ];
    all.into_iter()
        .filter(|row| row.0)
        .map(|(_, who, call)| Contender { who, call })
        .collect()
}

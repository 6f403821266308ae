//! A million random requests (descriptor, pointer, length; offset, flags, vectors), each
//! compared with the kernel's own answer: result, errno, and every byte of the memory
//! around it. The choice is by a seed that the program prints; `TRIPLES_SEED` sets another.
//! The bytes themselves are random and not judged here, so nothing fails by chance.
use ownpool_tests::support::{Place, bare, number_after, preloaded_with, prints};

const REQUESTS: u64 = 1_000_000;

#[test]
fn a_million_random_requests_are_answered_as_the_kernel_does() {
    let place = Place::new();
    let triples = place.compile("triples", &["-ldl"]);
    let seed = std::env::var("TRIPLES_SEED").unwrap_or_else(|_| "20150407".into());
    let run = |command: &mut std::process::Command, requests: u64| {
        let printed = prints(command.args([requests.to_string(), seed.clone()]));
        print!("{printed}");
        printed
    };

    // Bare, the program compares the kernel with itself: what it would call a
    // difference is then a mistake of its own.
    let printed = run(&mut bare(&triples), REQUESTS / 20);
    assert!(printed.contains("hook absent, served 0"), "{printed}");

    for (mode, requests) in [
        ("always", REQUESTS),
        ("vdso", REQUESTS / 20),
        ("observe", REQUESTS / 20),
    ] {
        let printed = run(
            &mut preloaded_with(&triples, &[("OWNPOOL_MODE", mode)]),
            requests,
        );
        assert!(printed.contains("hook present"), "{mode}: {printed}");
        assert!(
            printed.contains(&format!("\n{requests} requests")),
            "{printed}"
        );
        let (refused, served) = (
            number_after(&printed, "requests,"),
            number_after(&printed, "served"),
        );
        // Both kinds of answer came up often: refusals, and bytes of our own.
        assert!(refused > requests / 5, "{mode}: {printed}");
        match mode {
            "observe" => assert_eq!(served, 0, "{printed}"),
            _ => assert!(served > requests / 5, "{mode}: {printed}"),
        }
    }
}

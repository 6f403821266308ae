//! A million random requests (descriptor, pointer, length; offset, flags, vectors), each
//! compared with the kernel's own answer: result, errno, and every byte of the memory
//! around it. The choice is by a seed that the program prints; `TRIPLES_SEED` sets another.
//! The bytes themselves are random and not judged here, so nothing fails by chance.
use ownpool_tests::support::{Place, bare, number_after, preloaded_with, says};
const REQUESTS: u64 = 1_000_000;

#[test]
fn a_million_random_requests_are_answered_as_the_kernel_does() {
    let place = Place::new();
    let triples = place.compile("triples", &["-ldl"]);
    let seed = std::env::var("TRIPLES_SEED").unwrap_or_else(|_| "20150407".into());
    let run = |command: &mut std::process::Command, requests: u64| {
        let said = says(command.args([requests.to_string(), seed.clone()]));
        print!("{said}");
        said
    };

    // Bare, the program compares the kernel with itself: what it would call a
    // difference is then a mistake of its own.
    let said = run(&mut bare(&triples), REQUESTS / 20);
    assert!(said.contains("hook absent, served 0"), "{said}");

    for (mode, requests) in [
        ("always", REQUESTS),
        ("vdso", REQUESTS / 20),
        ("observe", REQUESTS / 20),
    ] {
        let said = run(
            &mut preloaded_with(&triples, &[("OWNPOOL_MODE", mode)]),
            requests,
        );
        assert!(said.contains("hook present"), "{mode}: {said}");
        assert!(said.contains(&format!("\n{requests} requests")), "{said}");
        let (refused, served) = (
            number_after(&said, "requests,"),
            number_after(&said, "served"),
        );
        // Both kinds of answer came up often: refusals, and bytes of our own.
        assert!(refused > requests / 5, "{mode}: {said}");
        match mode {
            "observe" => assert_eq!(served, 0, "{said}"),
            _ => assert!(served > requests / 5, "{mode}: {said}"),
        }
    }
}

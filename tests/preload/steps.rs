//! The in-flight protocol as a list of steps, and everything that may fall between any two
//! of them: signal handlers that draw, fork, jump away or end the thread, dropped pages,
//! other threads. Gone through exhaustively, two events deep, nested ones included.
//!
//! What is checked at every call's end, in every process: no zero and no unfilled byte, no
//! byte twice, none that comes of a wiped key; and after every step that no page has two
//! owners; at the end that none is lost. The simpler protocols that come to mind are here
//! too, each with the fault that it must show: a search that finds nothing wrong with
//! those would prove nothing. And the real one with any two neighbouring steps swapped, or
//! any one left out: what the search does not find wrong with those stands in a list.
use ownpool_tests::model::machine::{EVENTS, Event, Kernel, Machine, Op, Page, Violation, Watcher};
use ownpool_tests::model::programs::{Busy, Flaw, Program, Protocol, Step};
use std::collections::BTreeSet;

/// Everything that a thread does.
const LONG: [&[Op]; 4] = [
    &[
        Op::Draw(1),
        Op::Draw(2),
        Op::Bulk(2, Kernel::No),
        Op::Draw(1),
    ],
    &[
        Op::Draw(1),
        Op::Draw(1),
        Op::Draw(2),
        Op::Bulk(2, Kernel::No),
        Op::Pieces(1, 2),
        Op::Draw(1),
    ],
    &[
        Op::Bulk(3, Kernel::Own),
        Op::Draw(2),
        Op::Draw(2),
        Op::Forgive,
        Op::Draw(1),
        Op::End,
        Op::Draw(1),
    ],
    &[
        Op::Pieces(2, 2),
        Op::Bulk(2, Kernel::Own),
        Op::Bulk(2, Kernel::Shared),
        Op::End,
        Op::Draw(1),
    ],
];
/// In pieces that can be gone through two events deep.
const SHORT: [&[Op]; 6] = [
    &[Op::Draw(1), Op::Draw(1), Op::Draw(1)],
    &[Op::Draw(2), Op::Draw(2), Op::Draw(1)],
    &[Op::Draw(1), Op::Pieces(1, 2), Op::Draw(1)],
    &[Op::Draw(1), Op::Bulk(2, Kernel::Own), Op::Draw(1)],
    &[Op::Draw(1), Op::Bulk(2, Kernel::Shared), Op::Draw(1)],
    &[Op::Draw(1), Op::Forgive, Op::Draw(1), Op::End, Op::Draw(1)],
];

/// The events of a run that went wrong, and what did.
type Fall = (Vec<(usize, Event)>, BTreeSet<Violation>);

/// Goes through every way in which `depth` events can fall into a script, until one of
/// `enough` turns up. What went wrong, and in how many runs it was looked for.
struct Search<'a> {
    program: &'a Program,
    protocol: Protocol,
    events: &'a [Event],
    enough: &'a [Violation],
    found: BTreeSet<Violation>,
    runs: u64,
    first: Option<Fall>,
}

impl Search<'_> {
    fn script(&mut self, script: &[Op], depth: usize) {
        self.from(script, depth, &mut Vec::new());
    }

    fn from(&mut self, script: &[Op], depth: usize, events: &mut Vec<(usize, Event)>) {
        let mut watcher = Watcher::default();
        Machine::new(self.program, self.protocol, script).run(events, &mut watcher);
        self.runs += 1;
        if !watcher.violations.is_empty() {
            self.found.extend(watcher.violations.iter().copied());
            self.first
                .get_or_insert((events.clone(), watcher.violations));
        }
        if depth == 0 {
            return;
        }
        let first = events.last().map_or(0, |&(at, _)| at);
        for at in first..watcher.steps {
            for &event in self.events {
                if self.enough.iter().any(|enough| self.found.contains(enough)) {
                    return;
                }
                events.push((at, event));
                self.from(script, depth - 1, events);
                events.pop();
            }
        }
    }
}

const ANY: [Violation; 9] = [
    Violation::Null,
    Violation::Zero,
    Violation::Unfilled,
    Violation::Repeat,
    Violation::Weak,
    Violation::TwoOwners,
    Violation::Lost,
    Violation::Dirty,
    Violation::Hang,
];

fn search<'a>(
    program: &'a Program,
    protocol: Protocol,
    events: &'a [Event],
    enough: &'a [Violation],
) -> Search<'a> {
    Search {
        program,
        protocol,
        events,
        enough,
        found: BTreeSet::new(),
        runs: 0,
        first: None,
    }
}

/// The events that are tried in pairs; with `OWNPOOL_TEST_FULL=1`, all are.
const PAIRED: [Event; 8] = [
    Event::Refuse,
    Event::Draw,
    Event::Fork,
    Event::ForkDraw,
    Event::Jump,
    Event::Drop,
    Event::Exit,
    Event::Outlives,
];
/// And those that matter to the list of free pages.
const PAIRED_FOR_LIST: [Event; 8] = [
    Event::Forgive,
    Event::Draw,
    Event::ForkDraw,
    Event::Jump,
    Event::Drop,
    Event::OthersSwap,
    Event::OtherEnds,
    Event::Elsewhere,
];

/// And those that are tried in pairs on a single moved step.
const PAIRED_FOR_STEPS: [Event; 5] = [
    Event::Refuse,
    Event::Draw,
    Event::Drop,
    Event::Forgive,
    Event::Outlives,
];

/// The real protocol, with up to `depth` events. At least `least` runs, or the search
/// did not go where it should.
fn stands(scripts: &[&[Op]], events: &[Event], depth: usize, least: u64) {
    let full = std::env::var_os("OWNPOOL_TEST_FULL").is_some_and(|value| value == "1");
    let events = if full { &EVENTS } else { events };
    let program = Program::new(Protocol::REAL);
    let mut runs = 0;
    for &script in scripts {
        let mut search = search(&program, Protocol::REAL, events, &ANY);
        search.script(script, depth);
        assert_eq!(search.first, None, "{script:?}");
        runs += search.runs;
    }
    println!("{runs} runs");
    assert!(runs >= least, "{runs} runs");
}

#[test]
fn no_one_event_between_any_two_steps_does_harm() {
    stands(&LONG, &EVENTS, 1, 3_000);
    stands(&SHORT, &EVENTS, 1, 3_000);
}

#[test]
fn no_two_events_do_harm_in_small_requests() {
    stands(&SHORT[..2], &PAIRED, 2, 100_000);
}

#[test]
fn no_two_events_do_harm_in_pieces_and_streams() {
    stands(&SHORT[2..4], &PAIRED, 2, 100_000);
}

#[test]
fn no_two_events_do_harm_when_pages_change_hands() {
    stands(&SHORT[4..], &PAIRED_FOR_LIST, 2, 100_000);
}

/// A simpler protocol must show this fault.
fn falls_to(protocol: Protocol, violation: Violation) {
    let program = Program::new(protocol);
    let enough = [violation];
    let mut search = search(&program, protocol, &EVENTS, &enough);
    for (scripts, depth) in [(&LONG[..], 1), (&SHORT[..], 2)] {
        for &script in scripts {
            search.script(script, depth);
        }
    }
    assert!(
        search.found.contains(&violation),
        "{protocol:?}: {:?} in {} runs",
        search.found,
        search.runs
    );
}

/// A simpler way to say that a call is in flight must show zeros: a drop or a fork takes the
/// mark away, and a handler then uses the page under the call.
#[test]
fn marks_of_a_busy_page_that_lie_in_it_hand_out_zeros() {
    for busy in [Busy::Sentinel, Busy::Flag] {
        let flaw = Flaw::None;
        falls_to(Protocol { busy, flaw }, Violation::Zero);
    }
}

#[test]
fn every_simpler_protocol_shows_its_fault() {
    for (flaw, violation) in [
        (Flaw::SeedThenMagic, Violation::Weak),
        (Flaw::AvailableBeforeToken, Violation::Zero),
        (Flaw::TokenByLookAndStore, Violation::TwoOwners),
        (Flaw::NoLastLook, Violation::Zero),
        (Flaw::RefillWritesMagic, Violation::Weak),
        (Flaw::SeedForEachPiece, Violation::Zero),
        (Flaw::EndErasesInFlight, Violation::Zero),
        (Flaw::NoTag, Violation::TwoOwners),
        (Flaw::LinksInPages, Violation::Lost),
        (Flaw::PlainMemory, Violation::Repeat),
    ] {
        falls_to(Protocol::with(flaw), violation);
    }
}

/// Undisturbed: how often the kernel answered, the secrets left behind, all bytes handed
/// out, and the pages at the end.
fn undisturbed(program: &Program, script: &[Op]) -> (usize, usize, Vec<u64>, Vec<Page>) {
    let mut watcher = Watcher::default();
    Machine::new(program, Protocol::REAL, script).run(&[], &mut watcher);
    (watcher.answers, watcher.kept, watcher.seen, watcher.end)
}

#[test]
fn every_step_matters_where_it_stands() {
    let real = Program::new(Protocol::REAL);
    for script in LONG.iter().chain(&SHORT) {
        assert_eq!(undisturbed(&real, script).1, 0, "{script:?}");
    }
    let caught = |steps: Vec<Step>| {
        let program = Program::of(steps);
        let scripts = || SHORT.iter().chain(&LONG);
        // Undisturbed, threads must be served with the same bytes, and as tidily.
        if scripts().any(|script| undisturbed(&program, script) != undisturbed(&real, script)) {
            return true;
        }
        let mut search = search(&program, Protocol::REAL, &EVENTS, &ANY);
        for script in scripts() {
            search.script(script, 1);
        }
        search.events = &PAIRED_FOR_STEPS;
        search.script(&[Op::Draw(1), Op::Draw(1)], 2);
        !search.found.is_empty()
    };
    let (mut number, mut missed) = (0, Vec::new());
    let place = |at| real.place(at);
    let real = &real.steps;
    let moves = |step: &Step| !matches!(step, Step::Label(_) | Step::Goto(_));
    for at in 0..real.len() {
        if !moves(&real[at]) {
            continue;
        }
        let mut without = real.clone();
        without.remove(at);
        number += 1;
        if !caught(without) {
            missed.push(format!("{}: without {:?}", place(at), real[at]));
        }
        if real.get(at + 1).is_some_and(moves) {
            let mut swapped = real.clone();
            swapped.swap(at, at + 1);
            number += 1;
            if !caught(swapped) {
                missed.push(format!(
                    "{}: {:?} after {:?}",
                    place(at),
                    real[at],
                    real[at + 1]
                ));
            }
        }
    }
    println!("{} of {number} missed", missed.len());
    for line in &missed {
        println!("MISSED {line}");
    }
    let each = HARMLESS.iter().flat_map(|&(labels, change, _)| {
        labels.iter().map(move |label| format!("{label}: {change}"))
    });
    let (missed, expected): (BTreeSet<_>, BTreeSet<_>) =
        (missed.into_iter().collect(), each.collect());
    assert_eq!(missed, expected);
}

/// The changes that the search finds nothing wrong with, and why nothing is: the labels that
/// the step stands behind, the step and the one that it then follows, the reason.
#[rustfmt::skip]
const HARMLESS: [(&[&str], &str, &str); 48] = [
    (&["draw"], "without LoadToken", "no page is seen: the slow path takes it"),
    (&["draw"], "LoadToken after TakeToken", "no page is seen: the slow path takes it"),
    (&["draw"], "without TakeToken", "no page is seen: the slow path takes it"),
    (&["draw"], "TakeToken after IfNull(\"absent\")", "no page is seen: the slow path takes it"),
    (&["draw"], "without LoadAvailable", "none seems left: the slow path answers, a little later"),
    (&["draw"], "LoadAvailable after IfShort(\"short\")", "none seems left: the slow path answers, a little later"),
    (&["drawn"], "StoreAvailable after LookAtMagic(\"lost\")", "an amount without a magic is never believed"),
    (&["lost", "seed", "failed"], "without ForgetAvailable", "without a magic no amount is believed"),
    (&["lost", "failed"], "ForgetAvailable after ForgetMagic", "both are done before the token is back"),
    (&["lost"], "without ForgetMagic", "a magic that is not the epoch stays wrong"),
    (&["absent"], "IfLight(\"move\") after IfMoved(\"slow\")", "a thread is one or the other"),
    (&["absent"], "without IfMoved(\"slow\")", "a moved thread without its token is busy: the kernel answers"),
    (&["pop"], "IfNoHead(\"map\") after LoadNext", "the link of no page is not used"),
    (&["ready"], "without KnownAnswer", "a check of the cipher, not of the protocol"),
    (&["seed"], "ForgetAvailable after Epoch", "the epoch is not in the page"),
    (&["seed", "due"], "DrawSeed(\"failed\") after ExpandLook(\"failed\")", "the last look finds a wipe out as well"),
    (&["seed", "short refill", "due", "refill"], "without ExpandLook(\"failed\")", "the last look finds a wipe out as well"),
    (&["seed", "short refill", "due", "refill"], "ExpandLook(\"failed\") after CipherKey", "the last look finds a wipe out as well"),
    (&["seed", "short refill", "due", "refill"], "EraseSeed after WriteKey", "the cipher has it by then"),
    (&["seed", "short refill", "due", "refill"], "WriteKey after WriteRun(0)", "both come of the cipher state"),
    (&["seed", "refill"], "WriteRun(0) after WriteRun(1)", "both come of the cipher state"),
    (&["seed", "refill"], "WriteRun(1) after WriteRun(2)", "both come of the cipher state"),
    (&["seed", "refill"], "EraseCipher after StoreYield(3)", "the page is not looked at in between"),
    (&["seeded"], "IfSmall(\"fill\") after LoadAvailable", "the amount is loaded again"),
    (&["seeded"], "LoadAvailable after IfDue(\"due\")", "where it is due, the amount is that of the refill"),
    (&["short refill", "refill"], "CipherKey after EraseSeed", "no seed was drawn: none there to fold in"),
    (&["short refill", "refill"], "without EraseSeed", "no seed was drawn: none there to erase"),
    (&["short refill", "due"], "without EraseCipher", "the stream that follows erases it"),
    (&["short refill", "due"], "EraseCipher after StoreYield(1)", "the page is not looked at in between"),
    (&["short refill", "due"], "without StoreYield(1)", "the amount is stored when bytes are taken"),
    (&["short refill", "due"], "StoreYield(1) after TakeYield(1)", "one is a register"),
    (&["short refill"], "without TakeYield(1)", "of one cell, the first is the last"),
    (&["due"], "Epoch after DrawSeed(\"failed\")", "the magic is compared after both"),
    (&["subkey"], "EraseLast after StoreAvailable", "the token is taken"),
    (&["keyed"], "without StreamLook(\"failed\")", "the last look finds a wipe out as well"),
    (&["keyed"], "StreamLook(\"failed\") after CipherSubkey", "the last look finds a wipe out as well"),
    (&["keyed"], "EraseSubkey after EraseSeed", "the cipher has both by then"),
    (&["refill"], "without StoreYield(3)", "the amount is stored when bytes are taken"),
    (&["refill"], "StoreYield(3) after TakeYield(3)", "one is a register"),
    (&["fill byte"], "IfMoreCells(\"fill byte\") after StoreAvailable", "the amount is stored more often, each time right"),
    (&["fill byte"], "IfRest(\"portion\") after IfNextPiece(\"fill\")", "the first piece then ends with the second"),
    (&["kernel"], "without Done", "goes on into forgiving, which any call may"),
    (&["leave"], "HomeNever after LoadToken", "the token is taken by an exchange, whatever came in between"),
    (&["leave"], "without IfNull(\"stays\")", "what is not the home page is not touched either"),
    (&["leave"], "IfNull(\"stays\") after IfOther(\"stays\")", "what is not the home page is not touched either"),
    (&["leave"], "without IfOther(\"stays\")", "a page of another thread whose token ended up here is free: its own thread never has it again"),
    (&["erase"], "EraseMagic after ErasePage", "no other thread has the page yet"),
    (&["push"], "PushExchange(\"push\") after IfRequest(\"kernel\")", "the page is not given back: lost, safely"),
];

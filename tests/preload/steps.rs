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
use ownpool_tests::model::programs::{Busy, Program, Protocol, Step};
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
const PAIRED: [Event; 7] = [
    Event::Refuse,
    Event::Draw,
    Event::Fork,
    Event::ForkDraw,
    Event::Jump,
    Event::Drop,
    Event::Exit,
];
/// And those that matter to the list of free pages.
const PAIRED_FOR_LIST: [Event; 7] = [
    Event::Forgive,
    Event::Draw,
    Event::ForkDraw,
    Event::Jump,
    Event::Drop,
    Event::OthersSwap,
    Event::OtherEnds,
];

/// And those that are tried in pairs on a single moved step.
const PAIRED_FOR_STEPS: [Event; 4] = [Event::Refuse, Event::Draw, Event::Drop, Event::Forgive];

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

#[test]
fn a_sentinel_in_available_hands_out_zeros() {
    // A drop takes the sentinel away, and a handler then uses the page in mid-call.
    let busy = Busy::Sentinel;
    falls_to(
        Protocol {
            busy,
            ..Protocol::REAL
        },
        Violation::Zero,
    );
}

#[test]
fn a_busy_flag_inside_the_page_hands_out_zeros() {
    let busy = Busy::Flag;
    falls_to(
        Protocol {
            busy,
            ..Protocol::REAL
        },
        Violation::Zero,
    );
}

#[test]
fn the_seed_before_the_magic_expands_a_wiped_key() {
    let seed_then_magic = true;
    falls_to(
        Protocol {
            seed_then_magic,
            ..Protocol::REAL
        },
        Violation::Weak,
    );
}

#[test]
fn reading_available_before_taking_the_slot_hands_out_zeros() {
    let available_before_slot = true;
    falls_to(
        Protocol {
            available_before_slot,
            ..Protocol::REAL
        },
        Violation::Zero,
    );
}

#[test]
fn without_the_last_look_at_the_magic_zeros_are_handed_out() {
    let no_post_check = true;
    falls_to(
        Protocol {
            no_post_check,
            ..Protocol::REAL
        },
        Violation::Zero,
    );
}

#[test]
fn a_refill_that_writes_the_magic_vouches_for_a_wiped_key() {
    let refill_writes_magic = true;
    falls_to(
        Protocol {
            refill_writes_magic,
            ..Protocol::REAL
        },
        Violation::Weak,
    );
}

#[test]
fn a_seed_before_every_piece_vouches_for_an_earlier_piece() {
    let seed_each_piece = true;
    falls_to(
        Protocol {
            seed_each_piece,
            ..Protocol::REAL
        },
        Violation::Zero,
    );
}

#[test]
fn a_page_given_back_in_a_handler_has_two_owners() {
    // The handler falls between the load of the slot and the store of null. The call that
    // it interrupted goes on with a page that the next thread is given.
    let forgive_gives_back = true;
    falls_to(
        Protocol {
            forgive_gives_back,
            ..Protocol::REAL
        },
        Violation::Dirty,
    );
}

#[test]
fn a_list_without_a_tag_gives_a_page_to_two_threads() {
    let no_tag = true;
    falls_to(
        Protocol {
            no_tag,
            ..Protocol::REAL
        },
        Violation::TwoOwners,
    );
}

#[test]
fn links_inside_the_pages_lose_pages() {
    let links_in_pages = true;
    falls_to(
        Protocol {
            links_in_pages,
            ..Protocol::REAL
        },
        Violation::Lost,
    );
}

#[test]
fn memory_that_survives_a_fork_repeats() {
    let plain_memory = true;
    falls_to(
        Protocol {
            plain_memory,
            ..Protocol::REAL
        },
        Violation::Repeat,
    );
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
            missed.push(format!("without {at} {:?}", real[at]));
        }
        if real.get(at + 1).is_some_and(moves) {
            let mut swapped = real.clone();
            swapped.swap(at, at + 1);
            number += 1;
            if !caught(swapped) {
                missed.push(format!("{at} {:?} after {:?}", real[at], real[at + 1]));
            }
        }
    }
    println!("{} of {number} missed", missed.len());
    for line in &missed {
        println!("MISSED {line}");
    }
    let expected: Vec<&str> = HARMLESS.iter().map(|&(change, _)| change).collect();
    assert_eq!(missed, expected);
}

/// The changes that the search finds nothing wrong with, and why nothing is: the place in
/// the list, the step, and the one that it then follows.
#[rustfmt::skip]
const HARMLESS: [(&str, &str); 77] = [
    ("without 1 TakeSlot", "no page is seen: the slow path takes it"),
    ("1 TakeSlot after IfNull(\"absent\")", "no page is seen: the slow path takes it"),
    ("without 3 LoadAvailable", "none seems left: the slow path answers, a little later"),
    ("3 LoadAvailable after IfShort(\"short\")", "none seems left: the slow path answers, a little later"),
    ("9 IfMoreCells(\"take byte\") after StoreAvailable", "the amount is stored more often, each time right"),
    ("10 StoreAvailable after LookAtMagic(\"lost\")", "an amount without a magic is never believed"),
    ("without 19 ForgetAvailable", "without a magic no amount is believed"),
    ("19 ForgetAvailable after ForgetMagic", "both are done before the slot is back"),
    ("without 20 ForgetMagic", "a magic that is not the epoch stays wrong"),
    ("20 ForgetMagic after PutSlot", "a magic that is not the epoch stays wrong"),
    ("without 21 PutSlot", "the thread stays on the kernel"),
    ("24 IfLight(\"move\") after IfMoved(\"slow\")", "a thread is one or the other"),
    ("without 25 IfMoved(\"slow\")", "a moved thread without its slot is busy: the kernel answers"),
    ("35 IfNoHead(\"map\") after LoadNext", "the link of no page is not used"),
    ("without 42 KnownAnswer", "a check of the cipher, not of the protocol"),
    ("without 51 ForgetAvailable", "without a magic no amount is believed"),
    ("51 ForgetAvailable after Epoch", "the epoch is not in the page"),
    ("54 DrawSeed(\"failed\") after ExpandLook(\"failed\")", "the last look finds a wipe out as well"),
    ("without 55 ExpandLook(\"failed\")", "the last look finds a wipe out as well"),
    ("55 ExpandLook(\"failed\") after CipherKey", "the last look finds a wipe out as well"),
    ("57 EraseSeed after WriteKey", "the cipher has it by then"),
    ("58 WriteKey after WriteRun(0)", "both come of the cipher state"),
    ("59 WriteRun(0) after WriteRun(1)", "both come of the cipher state"),
    ("60 WriteRun(1) after WriteRun(2)", "both come of the cipher state"),
    ("62 EraseCipher after StoreYield(3)", "nobody looks in between"),
    ("65 IfSmall(\"fill\") after LoadAvailable", "the amount is loaded again"),
    ("66 LoadAvailable after IfDue(\"due\")", "where it is due, the amount is that of the refill"),
    ("68 IfSome(\"subkey\") after Epoch", "the epoch is not used"),
    ("without 70 ExpandLook(\"failed\")", "the last look finds a wipe out as well"),
    ("70 ExpandLook(\"failed\") after CipherKey", "the last look finds a wipe out as well"),
    ("71 CipherKey after EraseSeed", "no seed was drawn: none there to fold in"),
    ("without 72 EraseSeed", "no seed was drawn: none there to erase"),
    ("72 EraseSeed after WriteKey", "the cipher has it by then"),
    ("73 WriteKey after WriteRun(0)", "both come of the cipher state"),
    ("without 75 EraseCipher", "the stream that follows erases it"),
    ("75 EraseCipher after StoreYield(1)", "nobody looks in between"),
    ("without 76 StoreYield(1)", "the amount is stored when bytes are taken"),
    ("76 StoreYield(1) after TakeYield(1)", "one is a register"),
    ("without 77 TakeYield(1)", "of one cell, the first is the last"),
    ("80 Epoch after DrawSeed(\"failed\")", "the magic is compared after both"),
    ("81 DrawSeed(\"failed\") after ExpandLook(\"failed\")", "the last look finds a wipe out as well"),
    ("without 82 ExpandLook(\"failed\")", "the last look finds a wipe out as well"),
    ("82 ExpandLook(\"failed\") after CipherKey", "the last look finds a wipe out as well"),
    ("84 EraseSeed after WriteKey", "the cipher has it by then"),
    ("85 WriteKey after WriteRun(0)", "both come of the cipher state"),
    ("without 87 EraseCipher", "the stream that follows erases it"),
    ("87 EraseCipher after StoreYield(1)", "nobody looks in between"),
    ("without 88 StoreYield(1)", "the amount is stored when bytes are taken"),
    ("88 StoreYield(1) after TakeYield(1)", "one is a register"),
    ("92 EraseLast after StoreAvailable", "the slot is taken"),
    ("without 97 StreamLook(\"failed\")", "the last look finds a wipe out as well"),
    ("97 StreamLook(\"failed\") after CipherSubkey", "the last look finds a wipe out as well"),
    ("99 EraseSubkey after EraseSeed", "the cipher has both by then"),
    ("109 IfSome(\"some\") after Epoch", "the epoch is not used"),
    ("without 111 ExpandLook(\"failed\")", "the last look finds a wipe out as well"),
    ("111 ExpandLook(\"failed\") after CipherKey", "the last look finds a wipe out as well"),
    ("112 CipherKey after EraseSeed", "no seed was drawn: none there to fold in"),
    ("without 113 EraseSeed", "no seed was drawn: none there to erase"),
    ("113 EraseSeed after WriteKey", "the cipher has it by then"),
    ("114 WriteKey after WriteRun(0)", "both come of the cipher state"),
    ("115 WriteRun(0) after WriteRun(1)", "both come of the cipher state"),
    ("116 WriteRun(1) after WriteRun(2)", "both come of the cipher state"),
    ("118 EraseCipher after StoreYield(3)", "nobody looks in between"),
    ("without 119 StoreYield(3)", "the amount is stored when bytes are taken"),
    ("119 StoreYield(3) after TakeYield(3)", "one is a register"),
    ("127 IfMoreCells(\"fill byte\") after StoreAvailable", "the amount is stored more often, each time right"),
    ("129 IfRest(\"portion\") after IfNextPiece(\"fill\")", "the first piece then ends with the second"),
    ("without 136 ForgetAvailable", "without a magic no amount is believed"),
    ("136 ForgetAvailable after ForgetMagic", "both are done before the slot is back"),
    ("without 138 PutSlot", "the thread stays on the kernel"),
    ("without 141 Done", "goes on into forgiving, which any call may"),
    ("145 EraseMagic after ErasePage", "nobody else has the page yet"),
    ("without 150 Ending", "only forgiven and moved again while it ends: found in the search for pages that change hands"),
    ("150 Ending after EmptySlot", "as without it"),
    ("without 152 HomeNever", "without its slot the thread is busy for good"),
    ("152 HomeNever after TakeNumber", "with its slot empty the thread is busy"),
    ("155 EraseMagic after ErasePage", "nobody else has the page yet"),
];

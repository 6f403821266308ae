//! The protocol as lists of steps, in the order of the code that each group names.

use super::machine::{Op, YIELD};
use std::collections::HashMap;

/// Where "a call is in flight" is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// The slot is taken: the real one.
    Slot,
    /// A sentinel in `available`.
    Sentinel,
    /// A flag inside the page.
    Flag,
}

/// The real protocol, or one of the simpler ones.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    pub busy: Busy,
    pub seed_then_magic: bool,
    pub available_before_slot: bool,
    pub no_post_check: bool,
    pub refill_writes_magic: bool,
    pub seed_each_piece: bool,
    pub forgive_gives_back: bool,
    pub no_tag: bool,
    pub links_in_pages: bool,
    pub plain_memory: bool,
}

impl Protocol {
    pub const REAL: Protocol = Protocol {
        busy: Busy::Slot,
        seed_then_magic: false,
        available_before_slot: false,
        no_post_check: false,
        refill_writes_magic: false,
        seed_each_piece: false,
        forgive_gives_back: false,
        no_tag: false,
        links_in_pages: false,
        plain_memory: false,
    };
}

type Name = &'static str;

/// What one instruction or so does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Step {
    Label(Name), Goto(Name), Done, Kernel,
    TakeSlot, LoadSlot, EmptySlot, PutSlot, IfNull(Name), IfLight(Name), IfMoved(Name),
    LoadAvailable, IfShort(Name), LoadByte, EraseByte, StoreDest, IfMoreCells(Name),
    StoreAvailable, LookAtMagic(Name), ForgetAvailable, ForgetMagic,
    IfMagic(Name), Epoch, WriteMagic, DrawSeed(Name), EraseSeed, ExpandLook(Name),
    CipherKey, WriteKey, WriteRun(usize), EraseCipher, StoreYield(usize), TakeYield(usize),
    IfSome(Name), IfDue(Name), Portion, IfRest(Name), IfNextPiece(Name),
    IfSmall(Name), DrawSubkey, EraseLast, IfNotFresh(Name), StreamLook(Name), CipherSubkey,
    EraseSubkey, StreamCell,
    TurnHome(Name), LoadHead, IfNoHead(Name), LoadNext, PopExchange(Name), Map, KnownAnswer,
    EraseAnswer, SetHome,
    IfKept(Name), HomeLight, HomeNever, Ending, TakeNumber, IfNoPage(Name), EraseMagic, ErasePage, PushHead, PushNext,
    PushExchange(Name),
}

/// All functions, one after the other.
#[derive(Clone, Debug)]
pub struct Program {
    pub steps: Vec<Step>,
    labels: HashMap<Name, usize>,
}

impl Program {
    pub fn new(protocol: Protocol) -> Program {
        Program::of(steps(protocol))
    }

    pub fn of(steps: Vec<Step>) -> Program {
        let labels = steps.iter().enumerate();
        let labels = labels.filter_map(|(at, step)| match step {
            Step::Label(name) => Some((*name, at)),
            _ => None,
        });
        Program {
            labels: labels.collect(),
            steps,
        }
    }

    pub fn label(&self, name: Name) -> usize {
        self.labels[name]
    }

    pub fn start(&self, op: Op) -> usize {
        self.label(match op {
            Op::Draw(_) => "take",
            Op::Bulk(..) | Op::Pieces(..) => "bulk",
            Op::Forgive => "forgive",
            Op::End => "leave",
        })
    }
}

/// `refill::expand`, of so many cells: all, or one.
fn expand(protocol: Protocol, cells: usize) -> Vec<Step> {
    use Step::*;
    let mut steps = vec![ExpandLook("failed"), CipherKey, EraseSeed, WriteKey];
    steps.extend((0..cells).map(WriteRun));
    steps.push(EraseCipher);
    if protocol.refill_writes_magic {
        steps.push(WriteMagic);
    }
    steps.push(StoreYield(cells));
    steps
}

/// `refill::seed_if_due` and `refill::seed`.
fn seed(protocol: Protocol, on: Name) -> Vec<Step> {
    use Step::*;
    let mut steps = vec![IfMagic(on), ForgetAvailable, Epoch];
    if protocol.seed_then_magic {
        steps.extend([DrawSeed("failed"), WriteMagic]);
    } else {
        steps.extend([WriteMagic, DrawSeed("failed")]);
    }
    steps.extend(expand(protocol, YIELD));
    steps
}

/// `refill::refill`; reseeding at every one would hide what a bad key does, so this is
/// the one that does not.
fn refill(protocol: Protocol, cells: usize) -> Vec<Step> {
    [
        vec![Step::Epoch],
        expand(protocol, cells),
        vec![Step::TakeYield(cells)],
    ]
    .concat()
}

/// The one that does.
fn reseed(protocol: Protocol, cells: usize) -> Vec<Step> {
    [
        vec![Step::Epoch, Step::DrawSeed("failed")],
        expand(protocol, cells),
        vec![Step::TakeYield(cells)],
    ]
    .concat()
}

#[rustfmt::skip]
fn steps(protocol: Protocol) -> Vec<Step> {
    use Step::*;
    let mut all = Vec::new();
    // Tls::take_slot; two accesses are what the simpler protocols have.
    let one = protocol.busy == Busy::Slot && !protocol.forgive_gives_back;
    let take: &[Step] = if one { &[TakeSlot] } else { &[LoadSlot, EmptySlot] };
    // thread::take
    all.push(Label("take"));
    if protocol.available_before_slot {
        all.extend([LoadSlot, IfNull("absent"), LoadAvailable, EmptySlot]);
    } else {
        all.extend(take);
        all.extend([IfNull("absent"), LoadAvailable]);
    }
    all.extend([IfShort("short"),
        Label("take byte"), LoadByte, EraseByte, StoreDest, IfMoreCells("take byte"),
        StoreAvailable]);
    all.push(if protocol.no_post_check { Label("unchecked") } else { LookAtMagic("lost") });
    all.extend([PutSlot, Done]);
    all.extend([Label("short"), PutSlot, IfMoved("slow"), Goto("kernel"),
        Label("lost"), ForgetAvailable, ForgetMagic, PutSlot, Goto("kernel"),
        // serve::judge, over
        Label("absent"), IfLight("move"), IfMoved("slow"), Goto("kernel"),
        Label("bulk"), IfLight("move"), Goto("slow")]);
    // thread::move_here, page::take, page::pop
    all.extend([Label("move"), TurnHome("kernel"), IfKept("kept"),
        Label("pop"), LoadHead, IfNoHead("map"), LoadNext, PopExchange("pop"), Goto("ready"),
        Label("map"), Map,
        Label("ready"), KnownAnswer, EraseAnswer, SetHome,
        Label("kept"), PutSlot]);
    // thread::fill, with_page
    all.push(Label("slow"));
    all.extend(take);
    all.push(IfNull("kernel"));
    all.extend(seed(protocol, "seeded"));
    all.extend([Label("seeded"), IfSmall("fill")]);
    // refill::stream
    all.extend([LoadAvailable, IfDue("due"), IfSome("subkey")]);
    all.extend(refill(protocol, 1));
    all.extend([Goto("subkey"), Label("due")]);
    all.extend(reseed(protocol, 1));
    all.extend([Label("subkey"), DrawSubkey, EraseLast, StoreAvailable,
        IfNotFresh("keyed"), DrawSeed("failed"),
        Label("keyed"), StreamLook("failed"), CipherSubkey, EraseSubkey, EraseSeed,
        Label("stream"), StreamCell, IfRest("stream"), EraseCipher, Goto("end")]);
    // refill::fill
    all.push(Label("fill"));
    if protocol.seed_each_piece {
        all.extend(seed(protocol, "piece"));
        all.push(Label("piece"));
    }
    all.extend([Label("portion"), LoadAvailable, IfSome("some")]);
    all.extend(refill(protocol, YIELD));
    all.extend([Label("some"), Portion,
        Label("fill byte"), LoadByte, EraseByte, StoreDest, IfMoreCells("fill byte"),
        StoreAvailable, IfRest("portion"), IfNextPiece("fill")]);
    // with_page again
    all.push(Label("end"));
    all.push(if protocol.no_post_check { Label("unchecked too") } else { LookAtMagic("failed") });
    all.extend([PutSlot, Done,
        Label("failed"), ForgetAvailable, ForgetMagic, PutSlot,
        // real::getrandom
        Label("kernel"), Kernel, Done]);
    // thread::forgive
    all.push(Label("forgive"));
    all.extend(take);
    all.push(IfNull("stays"));
    if protocol.forgive_gives_back {
        all.extend([HomeNever, TakeNumber, EraseMagic, ErasePage, Goto("push")]);
    } else {
        all.extend([EraseMagic, ErasePage, HomeLight, Goto("stays")]);
    }
    // thread::end, page::give_back, page::push
    all.extend([Label("leave"), Ending, EmptySlot, HomeNever, TakeNumber, IfNoPage("stays"),
        EraseMagic, ErasePage,
        Label("push"), PushHead, PushNext, PushExchange("push"),
        Label("stays"), Done]);
    all
}

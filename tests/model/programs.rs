//! The protocol as lists of steps, in the order of the code that each group names.

use super::machine::{Op, YIELD};
use std::collections::HashMap;

/// Where "a call is in flight" is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// The token is out of the slot: the real one.
    Slot,
    /// A sentinel in `available`.
    Sentinel,
    /// A flag inside the page.
    Flag,
}

/// What a protocol does otherwise than the real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    SeedThenMagic,
    AvailableBeforeToken,
    TokenByLookAndStore,
    NoLastLook,
    RefillWritesMagic,
    SeedForEachPiece,
    EndErasesInFlight,
    NoTag,
    LinksInPages,
    PlainMemory,
}

/// The real protocol, or one of the simpler ones.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    pub busy: Busy,
    pub flaw: Flaw,
}

impl Protocol {
    pub const REAL: Protocol = Protocol {
        busy: Busy::Slot,
        flaw: Flaw::None,
    };

    pub fn with(flaw: Flaw) -> Protocol {
        Protocol {
            flaw,
            ..Protocol::REAL
        }
    }
}

type Name = &'static str;

/// What one instruction or so does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Step {
    Label(Name), Goto(Name), Done, Kernel,
    LoadToken, TakeToken, EmptySlot, PutToken, IfNull(Name), IfLight(Name), IfMoved(Name),
    LoadAvailable, IfShort(Name), LoadByte, EraseByte, StoreDest, IfMoreCells(Name),
    StoreAvailable, LookAtMagic(Name), ForgetAvailable, ForgetMagic,
    IfMagic(Name), Epoch, WriteMagic, DrawSeed(Name), EraseSeed, ExpandLook(Name),
    CipherKey, WriteKey, WriteRun(usize), EraseCipher, StoreYield(usize), TakeYield(usize),
    IfSome(Name), IfDue(Name), Portion, IfRest(Name), IfNextPiece(Name),
    IfSmall(Name), DrawSubkey, EraseLast, IfNotFresh(Name), StreamLook(Name), CipherSubkey,
    EraseSubkey, StreamCell,
    HomeMoving(Name), LoadHead, IfNoHead(Name), LoadNext, PopExchange(Name), Map, KnownAnswer,
    EraseAnswer, SetHome(Name), HomeLight(Name), HomeNever, IfOther(Name), Own, OwnHome,
    EraseMagic, ErasePage, PushHead, PushNext, PushExchange(Name), IfRequest(Name),
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

    /// Where a step stands: the label before it.
    pub fn place(&self, at: usize) -> Name {
        let before = self.steps.iter().take(at).rev();
        let mut labels = before.filter_map(|step| match step {
            Step::Label(name) => Some(*name),
            _ => None,
        });
        labels.next().unwrap_or("start")
    }

    pub fn label(&self, name: Name) -> usize {
        self.labels[name]
    }

    pub fn start(&self, op: Op) -> usize {
        self.label(match op {
            Op::Draw(_) => "draw",
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
    if protocol.flaw == Flaw::RefillWritesMagic {
        steps.push(WriteMagic);
    }
    steps.push(StoreYield(cells));
    steps
}

/// `refill::seed_if_due` and `refill::seed`.
fn seed(protocol: Protocol, on: Name) -> Vec<Step> {
    use Step::*;
    let mut steps = vec![IfMagic(on), ForgetAvailable, Epoch];
    if protocol.flaw == Flaw::SeedThenMagic {
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
    let flaw = protocol.flaw;
    let mut all = Vec::new();
    // tls::take_slot
    let one = protocol.busy == Busy::Slot && flaw != Flaw::TokenByLookAndStore;
    let take: &[Step] = if one { &[LoadToken, TakeToken] } else { &[LoadToken, EmptySlot] };
    // generator::draw_by
    all.push(Label("draw"));
    if flaw == Flaw::AvailableBeforeToken {
        all.extend([LoadToken, IfNull("absent"), LoadAvailable, TakeToken, IfNull("absent")]);
    } else {
        all.extend(take);
        all.extend([IfNull("absent"), LoadAvailable]);
    }
    all.extend([IfShort("short"),
        Label("draw byte"), LoadByte, EraseByte, StoreDest, IfMoreCells("draw byte"),
        Label("drawn"), StoreAvailable]);
    if flaw != Flaw::NoLastLook { all.push(LookAtMagic("lost")); }
    all.extend([PutToken, Done]);
    all.extend([Label("short"), PutToken, IfMoved("slow"), Goto("kernel"),
        Label("lost"), ForgetAvailable, ForgetMagic, PutToken, Goto("kernel"),
        // policy::decide
        Label("absent"), IfLight("move"), IfMoved("slow"), Goto("kernel"),
        Label("bulk"), IfLight("move"), Goto("slow")]);
    // lifecycle::move_thread, page::allocate, page::pop, lifecycle::adopt
    all.extend([Label("move"), HomeMoving("kernel"),
        Label("pop"), LoadHead, IfNoHead("map"), LoadNext, PopExchange("pop"), Goto("ready"),
        Label("map"), Map,
        Label("ready"), KnownAnswer, EraseAnswer, SetHome("push"), PutToken]);
    // fill::fill
    all.push(Label("slow"));
    all.extend(take);
    all.push(IfNull("kernel"));
    all.push(Label("seed"));
    all.extend(seed(protocol, "seeded"));
    all.extend([Label("seeded"), IfSmall("fill")]);
    // refill::stream
    all.extend([LoadAvailable, IfDue("due"), IfSome("subkey"), Label("short refill")]);
    all.extend(refill(protocol, 1));
    all.extend([Goto("subkey"), Label("due")]);
    all.extend(reseed(protocol, 1));
    all.extend([Label("subkey"), DrawSubkey, EraseLast, StoreAvailable,
        IfNotFresh("keyed"), DrawSeed("failed"),
        Label("keyed"), StreamLook("failed"), CipherSubkey, EraseSubkey, EraseSeed,
        Label("stream"), StreamCell, IfRest("stream"), EraseCipher, Goto("end")]);
    // refill::fill
    all.push(Label("fill"));
    if flaw == Flaw::SeedForEachPiece {
        all.extend(seed(protocol, "piece"));
        all.push(Label("piece"));
    }
    all.extend([Label("portion"), LoadAvailable, IfSome("some"), Label("refill")]);
    all.extend(refill(protocol, YIELD));
    all.extend([Label("some"), Portion,
        Label("fill byte"), LoadByte, EraseByte, StoreDest, IfMoreCells("fill byte"),
        StoreAvailable, IfRest("portion"), IfNextPiece("fill")]);
    // fill::fill again
    all.push(Label("end"));
    if flaw != Flaw::NoLastLook { all.push(LookAtMagic("failed")); }
    all.extend([PutToken, Done,
        Label("failed"), ForgetAvailable, ForgetMagic, PutToken,
        // next_symbol::getrandom
        Label("kernel"), Kernel, Done]);
    // lifecycle::forgive_if_due
    all.push(Label("forgive"));
    all.extend(take);
    all.extend([IfNull("stays"), HomeLight("not here"), Own, Goto("erase"),
        Label("not here"), PutToken, Goto("stays")]);
    // lifecycle::end, page::release, page::push
    all.extend([Label("leave"), HomeNever]);
    if flaw == Flaw::EndErasesInFlight {
        all.extend([OwnHome, IfNull("stays")]);
    } else {
        all.extend(take);
        all.extend([IfNull("stays"), IfOther("stays"), Own]);
    }
    all.extend([Label("erase"), EraseMagic, ErasePage,
        Label("push"), PushHead, PushNext, PushExchange("push"), IfRequest("kernel"),
        Label("stays"), Done]);
    all
}

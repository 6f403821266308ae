//! The world that the steps act on: pages, threads, the list of free pages, and the
//! watcher that knows every byte that was ever handed out.
//!
//! Bytes are symbols: a value that comes of a key and a place is the hash of both, so two
//! values are equal only if they are the same bytes of the same stream, and a value that
//! comes of a wiped key is known as weak wherever it turns up.

use super::programs::{Busy, Flaw, Program, Protocol, Step};
use std::collections::BTreeSet;

pub type Value = u64;
/// Erased memory.
pub const ZERO: Value = 0;
/// What stood in the caller's memory before.
pub const UNFILLED: Value = 1;
/// Cells that a refill leaves to be handed out.
pub const YIELD: usize = 3;
const SENTINEL: usize = usize::MAX;
/// A run that takes longer hangs.
const LONGEST: usize = 3000;

/// What must never be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// Erased bytes were handed out.
    Zero,
    /// A call returned without having filled its memory.
    Unfilled,
    /// Bytes were handed out twice.
    Repeat,
    /// Bytes that come of a wiped key were handed out.
    Weak,
    /// Two threads, or a thread and the list, have the same page.
    TwoOwners,
    /// A page without an owner that is not on the list.
    Lost,
    /// A thread was given a page with something in it.
    Dirty,
    /// A page is used where there is none.
    Null,
    /// It does not end.
    Hang,
}

/// What may fall between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A signal handler draws a little.
    Draw,
    /// A signal handler draws a lot.
    Bulk,
    /// A signal handler forks; parent and child return from it.
    Fork,
    /// The same, and both draw in it.
    ForkDraw,
    /// A signal handler forks, and the child jumps away.
    ForkJump,
    /// A signal handler leaves by siglongjmp.
    Jump,
    /// A signal handler ends the thread; another thread goes on in its place.
    Exit,
    /// The kernel drops the pages.
    Drop,
    /// A signal handler draws, and the thread is found to have behaved lightly.
    Forgive,
    /// The kernel refuses the next seed.
    Refuse,
    /// Every thread is to reseed: ownpool_reseed, or a change of mode.
    Epoch,
    /// Another thread is moved.
    OtherMoves,
    /// Two other threads are moved, and the first of them ends: what ABA needs.
    OthersSwap,
    /// Another thread that has a page ends.
    OtherEnds,
    /// A signal handler changes to another user-level thread, and this one goes on in
    /// another kernel thread.
    Elsewhere,
    /// The same, when the first kernel thread has ended, and a new one was given its words
    /// and has drawn.
    Outlives,
}

pub const EVENTS: [Event; 16] = [
    Event::Draw,
    Event::Bulk,
    Event::Fork,
    Event::ForkDraw,
    Event::ForkJump,
    Event::Jump,
    Event::Exit,
    Event::Drop,
    Event::Forgive,
    Event::Refuse,
    Event::Epoch,
    Event::OtherMoves,
    Event::OthersSwap,
    Event::OtherEnds,
    Event::Elsewhere,
    Event::Outlives,
];

/// Which fresh kernel bytes a streamed request gets.
#[derive(Clone, Copy, Debug)]
pub enum Kernel {
    /// None.
    No,
    /// Some of its own, for its subkey.
    Own,
    /// Those of the page, which is reseeded for it.
    Shared,
}

/// What a thread does, one after the other.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// A request of so many cells.
    Draw(usize),
    /// A streamed one.
    Bulk(usize, Kernel),
    /// One of two pieces.
    Pieces(usize, usize),
    /// Back to the kernel.
    Forgive,
    /// The destructor.
    End,
}

fn hash(a: Value, b: Value) -> Value {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x1234_5678_9abc_def1);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Page {
    magic: u64,
    available: usize,
    key: Value,
    seed: Value,
    subkey: Value,
    cipher: Value,
    run: [Value; YIELD],
    /// Counter-example: the busy flag inside the page.
    busy: bool,
    /// Counter-example: the link inside the page.
    next: usize,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Home {
    Light,
    Never,
    Moving,
    Page(usize),
}

#[derive(Clone, Copy)]
struct Thread {
    home: Home,
    slot: Option<usize>,
}

impl Thread {
    const NEW: Thread = Thread {
        home: Home::Light,
        slot: None,
    };
}

/// One call in flight: where it is, and its registers.
#[derive(Clone)]
struct Frame {
    op: Op,
    thread: usize,
    at: usize,
    /// What the slot was seen to hold.
    token: Option<usize>,
    /// The page it works on.
    page: Option<usize>,
    /// Where its thread stood before it ended.
    home: Home,
    /// A page that it owns, neither a thread's nor on the list.
    owned: Option<usize>,
    /// The page that it has put back.
    put: Option<usize>,
    available: usize,
    left: usize,
    cell: usize,
    byte: Value,
    dest: [Value; 8],
    done: usize,
    piece: usize,
    epoch: u64,
    head: (u64, usize),
    next: usize,
    /// The answer stands: the page is not looked at any more.
    final_: bool,
    /// The answer was the parent's when this process was forked.
    inherited: bool,
}

/// Sees every process of a run.
#[derive(Default)]
pub struct Watcher {
    fresh: u64,
    /// A few dozen each: looking through them is the fastest.
    pub seen: Vec<Value>,
    weak: Vec<Value>,
    pub violations: BTreeSet<Violation>,
    pub steps: usize,
    /// Requests that the kernel answered.
    pub answers: usize,
    /// Calls that left a secret behind: handed-out bytes, a seed or a subkey.
    pub kept: usize,
    /// The first process as it was in the end.
    pub end: Vec<Page>,
}

impl Watcher {
    fn kernel(&mut self) -> Value {
        self.fresh += 1;
        hash(0x6b65_726e, self.fresh)
    }

    /// Cell `place` of the stream of a key.
    fn stream(&mut self, key: Value, place: u64) -> Value {
        let value = hash(key, place + 1);
        if key == ZERO || self.weak.contains(&key) {
            self.weak.push(value);
        }
        value
    }

    fn hand_out(&mut self, value: Value) {
        let wrong = match value {
            ZERO => Violation::Zero,
            UNFILLED => Violation::Unfilled,
            _ if self.weak.contains(&value) => Violation::Weak,
            _ if self.seen.contains(&value) => Violation::Repeat,
            _ => return self.seen.push(value),
        };
        self.violations.insert(wrong);
    }
}

/// One process: its memory, and the calls in flight of the thread that is watched.
#[derive(Clone)]
pub struct Machine<'a> {
    program: &'a Program,
    protocol: Protocol,
    pages: Vec<Page>,
    next: Vec<usize>,
    /// Tag and row + 1.
    free: (u64, usize),
    threads: [Thread; 3],
    epoch: u64,
    frames: Vec<Frame>,
    script: &'a [Op],
    at: usize,
    steps: usize,
    /// The kernel thread that the script is on.
    on: usize,
    /// A call was left for good, or ended elsewhere: what it owned is lost, safely.
    jumped: bool,
    refuses: bool,
}

impl<'a> Machine<'a> {
    /// A process whose list has two pages from earlier threads.
    pub fn new(program: &'a Program, protocol: Protocol, script: &'a [Op]) -> Machine<'a> {
        let mut pages = vec![Page::default(); 2];
        pages[0].next = if protocol.flaw == Flaw::LinksInPages {
            2
        } else {
            0
        };
        Machine {
            program,
            protocol,
            pages,
            next: vec![2, 0],
            free: (0, 1),
            threads: [Thread::NEW; 3],
            epoch: 100,
            frames: Vec::new(),
            script,
            at: 0,
            steps: 0,
            on: 0,
            jumped: false,
            refuses: false,
        }
    }

    /// Runs to the end of the script, with these events at these steps.
    pub fn run(mut self, events: &[(usize, Event)], watcher: &mut Watcher) {
        let mut events = events;
        loop {
            if self.frames.is_empty() {
                let Some(&op) = self.script.get(self.at) else {
                    break;
                };
                self.at += 1;
                self.call(op, self.on);
            }
            while let Some((&(at, event), rest)) = events.split_first()
                && at <= self.steps
            {
                events = rest;
                self.happen(event, events, watcher);
            }
            if self.frames.is_empty() {
                continue;
            }
            self.steps += 1;
            self.step(watcher);
            self.check_owners(watcher);
            if self.steps > LONGEST {
                watcher.violations.insert(Violation::Hang);
                break;
            }
        }
        watcher.steps = watcher.steps.max(self.steps);
        watcher.end.clone_from(&self.pages);
        self.check_lost(watcher);
    }

    fn call(&mut self, op: Op, thread: usize) {
        let at = self.program.start(op);
        self.frames.push(Frame {
            op,
            thread,
            at,
            token: None,
            page: None,
            home: Home::Light,
            owned: None,
            put: None,
            available: 0,
            left: 0,
            cell: 0,
            byte: UNFILLED,
            dest: [UNFILLED; 8],
            done: 0,
            piece: 0,
            epoch: 0,
            head: (0, 0),
            next: 0,
            final_: false,
            inherited: false,
        });
    }

    /// Another thread's call, from its start to its end.
    fn whole(&mut self, op: Op, thread: usize, watcher: &mut Watcher) {
        let depth = self.frames.len();
        self.call(op, thread);
        let mut steps = 0;
        while self.frames.len() > depth {
            self.step(watcher);
            steps += 1;
            if steps > LONGEST {
                watcher.violations.insert(Violation::Hang);
                self.frames.truncate(depth);
            }
        }
    }

    fn happen(&mut self, event: Event, later: &[(usize, Event)], watcher: &mut Watcher) {
        match event {
            Event::Draw => self.call(Op::Draw(1), self.on),
            Event::Bulk => self.call(Op::Bulk(2, Kernel::No), self.on),
            Event::Fork | Event::ForkDraw | Event::ForkJump => {
                let mut child = self.clone();
                if self.protocol.flaw != Flaw::PlainMemory {
                    child.pages.fill(Page::default());
                }
                for frame in &mut child.frames {
                    frame.inherited = frame.final_;
                }
                match event {
                    Event::ForkDraw => {
                        child.call(Op::Draw(1), self.on);
                        self.call(Op::Draw(1), self.on);
                    }
                    Event::ForkJump => child.jump(),
                    _ => {}
                }
                child.run(later, watcher);
            }
            Event::Jump => self.jump(),
            Event::Exit => {
                self.jump();
                self.call(Op::End, self.on);
            }
            Event::Drop => self.pages.fill(Page::default()),
            Event::Forgive => self.call(Op::Forgive, self.on),
            Event::Refuse => self.refuses = true,
            Event::Epoch => self.epoch += 1,
            Event::OtherMoves => {
                if self.threads[1].home == Home::Light {
                    self.whole(Op::Draw(1), 1, watcher);
                }
            }
            Event::OthersSwap => {
                if self.threads[1].home == Home::Light && self.threads[2].home == Home::Light {
                    self.whole(Op::Draw(1), 1, watcher);
                    self.whole(Op::Draw(1), 2, watcher);
                    self.whole(Op::End, 1, watcher);
                }
            }
            Event::OtherEnds => {
                let moved = |&thread: &usize| matches!(self.threads[thread].home, Home::Page(_));
                if let Some(thread) = (0..3).filter(|&thread| thread != self.on).find(moved) {
                    self.whole(Op::End, thread, watcher);
                }
            }
            Event::Elsewhere => self.go_on_elsewhere(),
            Event::Outlives => {
                let first = self.on;
                self.go_on_elsewhere();
                self.whole(Op::End, first, watcher);
                self.threads[first] = Thread::NEW;
                self.whole(Op::Draw(1), first, watcher);
            }
        }
    }

    fn jump(&mut self) {
        self.frames.clear();
        self.jumped = true;
    }

    fn go_on_elsewhere(&mut self) {
        self.on = 1;
        for frame in &mut self.frames {
            frame.thread = 1;
        }
        self.jumped = true;
    }

    /// Every token is at one place at most.
    fn check_owners(&self, watcher: &mut Watcher) {
        let mut owned = 0u64;
        let mut own = |page: usize| {
            if owned & 1 << page != 0 {
                watcher.violations.insert(Violation::TwoOwners);
            }
            owned |= 1 << page;
        };
        let slots = self.threads.iter().filter_map(|thread| thread.slot);
        let calls = self
            .frames
            .iter()
            .filter_map(|frame| frame.page.or(frame.owned));
        slots.chain(calls).for_each(&mut own);
        let mut row = self.free.1;
        for _ in 0..self.pages.len() + 1 {
            let Some(page) = row.checked_sub(1) else {
                return;
            };
            own(page);
            row = self.link(page);
        }
    }

    fn link(&self, page: usize) -> usize {
        if self.protocol.flaw == Flaw::LinksInPages {
            self.pages[page].next
        } else {
            self.next[page]
        }
    }

    fn set_link(&mut self, page: usize, row: usize) {
        if self.protocol.flaw == Flaw::LinksInPages {
            self.pages[page].next = row;
        } else {
            self.next[page] = row;
        }
    }

    /// Nothing is lost, unless a call was left for good.
    fn check_lost(&self, watcher: &mut Watcher) {
        let slots = self.threads.iter().filter(|thread| thread.slot.is_some());
        let mut known = slots.count();
        let mut row = self.free.1;
        for _ in 0..self.pages.len() {
            let Some(page) = row.checked_sub(1) else {
                break;
            };
            known += 1;
            row = self.link(page);
        }
        if known < self.pages.len() && !self.jumped {
            watcher.violations.insert(Violation::Lost);
        }
    }

    /// Whether a call is in flight, and if not, the page.
    fn load_token(&self, frame: &mut Frame) {
        let thread = &self.threads[frame.thread];
        let home = match thread.home {
            Home::Page(page) => Some(page),
            _ => None,
        };
        frame.token = match self.protocol.busy {
            Busy::Slot => thread.slot,
            Busy::Flag => home.filter(|&page| !self.pages[page].busy),
            Busy::Sentinel => home.filter(|&page| self.pages[page].available != SENTINEL),
        };
        if let (Busy::Sentinel, Some(page)) = (self.protocol.busy, frame.token) {
            frame.available = self.pages[page].available;
        }
    }

    /// A call is in flight from here on.
    fn empty_slot(&mut self, frame: &mut Frame) {
        frame.page = frame.token;
        match (self.protocol.busy, frame.page) {
            (Busy::Slot, _) => self.threads[frame.thread].slot = None,
            (Busy::Flag, Some(page)) => self.pages[page].busy = true,
            (Busy::Sentinel, Some(page)) => self.pages[page].available = SENTINEL,
            _ => {}
        }
    }

    /// One step of the innermost call.
    #[allow(clippy::too_many_lines, reason = "one arm a step")]
    fn step(&mut self, watcher: &mut Watcher) {
        let program = self.program;
        let protocol = self.protocol;
        let epoch = self.epoch;
        let mut frame = self.frames.pop().expect("a call in flight");
        let thread = frame.thread;
        let Some(&step) = program.steps.get(frame.at) else {
            watcher.violations.insert(Violation::Hang);
            return;
        };
        frame.at += 1;
        let page = frame.page.or(frame.owned);
        let mut nothing = Page::default();
        let go = |frame: &mut Frame, label| frame.at = program.label(label);
        match step {
            Step::Label(_) => {}
            Step::Goto(label) => go(&mut frame, label),
            Step::LoadToken => {
                self.load_token(&mut frame);
                if protocol.flaw == Flaw::AvailableBeforeToken {
                    frame.page = frame.token;
                }
            }
            Step::TakeToken => {
                let slot = &mut self.threads[thread].slot;
                let there = frame.token.is_some() && *slot == frame.token;
                frame.page = if there { slot.take() } else { None };
            }
            Step::EmptySlot => self.empty_slot(&mut frame),
            Step::PutToken => {
                match (protocol.busy, page) {
                    (Busy::Slot, _) => self.threads[thread].slot = page,
                    (Busy::Flag, Some(page)) => self.pages[page].busy = false,
                    (Busy::Sentinel, Some(page)) if self.pages[page].available == SENTINEL => {
                        self.pages[page].available = frame.available;
                    }
                    _ => {}
                }
                frame.put = page;
                (frame.page, frame.owned) = (None, None);
            }
            Step::IfNull(label) if frame.page.is_none() => go(&mut frame, label),
            Step::IfNull(_) => {}
            Step::IfLight(label) if self.threads[thread].home == Home::Light => {
                go(&mut frame, label);
            }
            Step::IfLight(_) => {}
            Step::IfMoved(label) if matches!(self.threads[thread].home, Home::Page(_)) => {
                go(&mut frame, label);
            }
            Step::IfMoved(_) => {}
            Step::HomeMoving(label) => {
                if self.threads[thread].home == Home::Light {
                    self.threads[thread].home = Home::Moving;
                } else {
                    go(&mut frame, label);
                }
            }
            Step::HomeLight(label) => match frame.page {
                Some(page) if self.threads[thread].home == Home::Page(page) => {
                    self.threads[thread].home = Home::Light;
                }
                _ => go(&mut frame, label),
            },
            Step::HomeNever => {
                frame.home = core::mem::replace(&mut self.threads[thread].home, Home::Never);
                // A call in flight keeps its page.
                self.jumped |=
                    matches!(frame.home, Home::Page(_)) && self.threads[thread].slot.is_none();
            }
            Step::IfOther(label) if frame.page.map(Home::Page) != Some(frame.home) => {
                self.jumped = true;
                frame.page = None;
                go(&mut frame, label);
            }
            Step::IfOther(_) => {}
            Step::Own => frame.owned = frame.page.take(),
            Step::OwnHome => {
                self.threads[thread].slot = None;
                if let Home::Page(page) = frame.home {
                    (frame.page, frame.owned) = (Some(page), Some(page));
                }
            }
            Step::LoadHead => frame.head = self.free,
            Step::IfNoHead(label) if frame.head.1 == 0 => go(&mut frame, label),
            Step::IfNoHead(_) => {}
            Step::LoadNext => {
                frame.next = frame
                    .head
                    .1
                    .checked_sub(1)
                    .map_or(0, |page| self.link(page));
            }
            Step::PopExchange(label) => {
                if self.free == frame.head && frame.head.1 != 0 {
                    self.free = (self.tag(frame.head.0), frame.next);
                    frame.owned = Some(frame.head.1 - 1);
                } else {
                    go(&mut frame, label);
                }
            }
            Step::Map => {
                self.pages.push(Page::default());
                self.next.push(0);
                frame.owned = Some(self.pages.len() - 1);
            }
            Step::SetHome(label) => {
                if self.threads[thread].home == Home::Moving {
                    let owned = frame.owned.unwrap_or(0);
                    if self.pages[owned] != Page::default() {
                        watcher.violations.insert(Violation::Dirty);
                    }
                    self.threads[thread].home = Home::Page(owned);
                } else {
                    go(&mut frame, label);
                }
            }
            Step::PushHead => frame.head = self.free,
            Step::PushNext => {
                if let Some(owned) = frame.owned {
                    self.set_link(owned, frame.head.1);
                }
            }
            Step::PushExchange(label) => {
                if self.free != frame.head {
                    go(&mut frame, label);
                } else if let Some(owned) = frame.owned.take() {
                    self.free = (self.tag(frame.head.0), owned + 1);
                }
            }
            Step::IfRequest(label) if size(frame.op) > 0 => go(&mut frame, label),
            Step::IfRequest(_) => {}
            Step::Kernel => {
                watcher.answers += 1;
                frame.dest = [UNFILLED; 8];
                for cell in 0..size(frame.op) {
                    frame.dest[cell] = watcher.kernel();
                }
                frame.final_ = true;
            }
            Step::DrawSeed(label) if core::mem::take(&mut self.refuses) => go(&mut frame, label),
            Step::Done => {
                if let Some(page) = frame.put.map(|page| &self.pages[page]) {
                    let kept = page
                        .run
                        .iter()
                        .any(|byte| *byte != ZERO && frame.dest.contains(byte));
                    let secrets = [page.seed, page.subkey, page.cipher];
                    watcher.kept += usize::from(kept || secrets != [ZERO; 3]);
                }
                if !frame.inherited && !matches!(frame.op, Op::Forgive | Op::End) {
                    for cell in 0..size(frame.op) {
                        watcher.hand_out(frame.dest[cell]);
                    }
                }
                return;
            }
            _ => {
                let page = match page {
                    Some(page) => &mut self.pages[page],
                    None => {
                        watcher.violations.insert(Violation::Null);
                        &mut nothing
                    }
                };
                page_step(step, &mut frame, page, epoch, program, watcher);
            }
        }
        self.frames.push(frame);
    }

    fn tag(&self, tag: u64) -> u64 {
        if self.protocol.flaw == Flaw::NoTag {
            0
        } else {
            tag + 1
        }
    }
}

fn size(op: Op) -> usize {
    match op {
        Op::Draw(cells) | Op::Bulk(cells, _) => cells,
        Op::Pieces(first, second) => first + second,
        Op::Forgive | Op::End => 0,
    }
}

/// The steps that touch nothing but the page and the caller's memory.
fn page_step(
    step: Step,
    frame: &mut Frame,
    page: &mut Page,
    epoch: u64,
    program: &Program,
    watcher: &mut Watcher,
) {
    let go = |frame: &mut Frame, label| frame.at = program.label(label);
    let rest = |frame: &Frame| match frame.op {
        Op::Pieces(first, _) if frame.piece == 0 => first.saturating_sub(frame.done),
        op => size(op).saturating_sub(frame.done),
    };
    match step {
        Step::LoadAvailable if page.available != SENTINEL => frame.available = page.available,
        Step::LoadAvailable => {}
        Step::IfShort(label) => {
            if frame.available < size(frame.op) {
                go(frame, label);
            } else {
                frame.left = frame.available - size(frame.op);
                frame.cell = frame.left;
            }
        }
        Step::LoadByte => frame.byte = page.run.get(frame.cell).copied().unwrap_or(ZERO),
        Step::EraseByte => {
            if let Some(cell) = page.run.get_mut(frame.cell) {
                *cell = ZERO;
            }
        }
        Step::StoreDest => {
            if let Some(dest) = frame.dest.get_mut(frame.done) {
                *dest = frame.byte;
            }
            frame.done += 1;
            frame.cell += 1;
        }
        Step::IfMoreCells(label) if frame.cell < frame.available => go(frame, label),
        Step::IfMoreCells(_) => {}
        Step::StoreAvailable => page.available = frame.left,
        Step::LookAtMagic(label) => {
            if page.magic == epoch {
                frame.final_ = true;
            } else {
                go(frame, label);
            }
        }
        Step::ForgetAvailable => page.available = 0,
        Step::ForgetMagic => page.magic = 0,
        Step::IfMagic(label) if page.magic == epoch => go(frame, label),
        Step::IfMagic(_) => {}
        Step::Epoch => frame.epoch = epoch,
        Step::WriteMagic => page.magic = frame.epoch,
        Step::DrawSeed(_) => page.seed = watcher.kernel(),
        Step::EraseSeed => page.seed = ZERO,
        Step::ExpandLook(label) if page.magic != frame.epoch => go(frame, label),
        Step::ExpandLook(_) => {}
        Step::CipherKey => page.cipher = page.key ^ page.seed,
        Step::WriteKey => page.key = watcher.stream(page.cipher, 0),
        Step::WriteRun(cell) => page.run[cell] = watcher.stream(page.cipher, cell as u64 + 1),
        Step::EraseCipher => page.cipher = ZERO,
        Step::StoreYield(cells) => page.available = cells,
        Step::TakeYield(cells) => frame.available = cells,
        Step::IfDue(label) if matches!(frame.op, Op::Bulk(_, Kernel::Shared)) => go(frame, label),
        Step::IfDue(_) => {}
        Step::IfSome(label) if frame.available > 0 => go(frame, label),
        Step::IfSome(_) => {}
        Step::Portion => {
            frame.left = frame.available - rest(frame).min(frame.available);
            frame.cell = frame.left;
        }
        Step::IfRest(label) if rest(frame) > 0 => go(frame, label),
        Step::IfRest(_) => {}
        Step::IfNextPiece(label) => {
            let next = matches!(frame.op, Op::Pieces(..)) && frame.piece == 0;
            if next {
                (frame.piece, frame.at) = (1, program.label(label));
            }
        }
        Step::IfSmall(label) if !matches!(frame.op, Op::Bulk(..)) => go(frame, label),
        Step::IfSmall(_) => {}
        Step::DrawSubkey => {
            frame.left = frame.available.saturating_sub(1);
            page.subkey = page.run[frame.left.min(YIELD - 1)];
        }
        Step::EraseLast => page.run[frame.left.min(YIELD - 1)] = ZERO,
        Step::IfNotFresh(label) if !matches!(frame.op, Op::Bulk(_, Kernel::Own)) => {
            go(frame, label)
        }
        Step::IfNotFresh(_) => {}
        Step::StreamLook(label) if page.magic != epoch => go(frame, label),
        Step::StreamLook(_) => {}
        Step::CipherSubkey => page.cipher = page.subkey ^ page.seed,
        Step::EraseSubkey => page.subkey = ZERO,
        Step::StreamCell => {
            if let Some(dest) = frame.dest.get_mut(frame.done) {
                *dest = watcher.stream(page.cipher, frame.done as u64);
            }
            frame.done += 1;
        }
        Step::EraseMagic => page.magic = 0,
        Step::ErasePage => {
            *page = Page {
                magic: page.magic,
                ..Page::default()
            }
        }
        Step::KnownAnswer => page.key = watcher.stream(ZERO, 99),
        Step::EraseAnswer => page.key = ZERO,
        _ => {}
    }
}

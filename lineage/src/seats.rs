//! Where threads sit: the cores of the machine and its memory nodes.
//!
//! Promises: a thread that sits down is pinned to a core. Where the machine has one memory node, its
//! cores are split into two pretended ones, and the report says so.

use crate::contenders::Seat;
use core_affinity::CoreId;

/// Nodes to pretend on a machine with one.
const PRETENDED: usize = 2;

/// The cores and nodes.
pub(crate) struct Seats {
    pub(crate) cores: Vec<CoreId>,
    /// The node of each core, in the same order.
    node_of: Vec<usize>,
    /// Memory nodes, pretended or real.
    pub(crate) nodes: usize,
    /// Memory nodes that the machine really has.
    pub(crate) real_nodes: usize,
    /// The cores that this process was given.
    given: libc::cpu_set_t,
}

impl Seats {
    pub(crate) fn new() -> Self {
        let cores = core_affinity::get_core_ids().filter(|cores| !cores.is_empty());
        let cores = cores.unwrap_or_else(|| vec![CoreId { id: 0 }]);
        let real: Vec<usize> = cores.iter().map(|core| node(core.id)).collect();
        let real_nodes = real.iter().max().map_or(1, |&highest| highest + 1);
        // SAFETY: a cpu_set_t is plain bits, all zero is the empty set, and the call may write all of it.
        let given = unsafe {
            let mut given = core::mem::zeroed();
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut given);
            given
        };
        if real_nodes > 1 {
            return Self {
                cores,
                node_of: real,
                nodes: real_nodes,
                real_nodes,
                given,
            };
        }
        let node_of = (0..cores.len())
            .map(|i| i * PRETENDED / cores.len())
            .collect();
        Self {
            cores,
            node_of,
            nodes: PRETENDED,
            real_nodes,
            given,
        }
    }

    /// Pins the calling thread as CPU number `cpu` of the test; more threads than cores share cores.
    pub(crate) fn sit(&self, cpu: usize) -> Seat {
        let core = cpu % self.cores.len();
        // A refused pin leaves the thread where the scheduler likes, which is worse but not wrong.
        core_affinity::set_for_current(self.cores[core]);
        // With fewer cores than nodes to pretend, threads in turn.
        let node = if self.cores.len() < self.nodes {
            cpu % self.nodes
        } else {
            self.node_of[core]
        };
        Seat { cpu, node }
    }

    /// Lets the calling thread run on any core again: threads inherit a pin.
    pub(crate) fn release(&self) {
        // SAFETY: reads a whole set, and changes nothing but where this thread may run.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const self.given) };
    }

    /// Thread counts to test: doubling from 1 to at least twice the cores.
    pub(crate) fn thread_counts(&self) -> Vec<usize> {
        let mut counts = vec![1];
        while let Some(&last) = counts.last()
            && last < 2 * self.cores.len()
        {
            counts.push(last * 2);
        }
        counts
    }
}

/// The memory node of a core, from sysfs; 0 where sysfs says nothing.
fn node(core: usize) -> usize {
    let Ok(entries) = std::fs::read_dir(format!("/sys/devices/system/cpu/cpu{core}")) else {
        return 0;
    };
    entries
        .flatten()
        .find_map(|entry| {
            entry
                .file_name()
                .to_str()?
                .strip_prefix("node")?
                .parse()
                .ok()
        })
        .unwrap_or(0)
}

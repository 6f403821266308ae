//! Where threads run: the cores of the machine and its memory nodes.
//!
//! Promises: a placed thread is pinned to a core. Where the machine has one memory node, its
//! cores are split into two pretended ones, and the report says so.

use crate::contenders::Cpu;
use core_affinity::CoreId;

/// Nodes to pretend on a machine with one.
const PRETENDED: usize = 2;

/// The cores and nodes.
pub(crate) struct Placement {
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

impl Placement {
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
        let pretended = || (0..cores.len()).map(|i| i * PRETENDED / cores.len());
        Self {
            node_of: if real_nodes > 1 {
                real
            } else {
                pretended().collect()
            },
            nodes: if real_nodes > 1 {
                real_nodes
            } else {
                PRETENDED
            },
            cores,
            real_nodes,
            given,
        }
    }

    /// Pins the calling thread as CPU `number` of the test; more threads than cores share cores.
    pub(crate) fn pin(&self, number: usize) -> Cpu {
        let core = number % self.cores.len();
        // A refused pin leaves the thread where the scheduler likes, which is worse but not wrong.
        core_affinity::set_for_current(self.cores[core]);
        // With fewer cores than nodes to pretend, threads in turn.
        let node = if self.cores.len() < self.nodes {
            number % self.nodes
        } else {
            self.node_of[core]
        };
        Cpu { number, node }
    }

    /// Lets the calling thread run on any core again: threads inherit a pin.
    pub(crate) fn unpin(&self) {
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
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_str()?.strip_prefix("node")?.parse().ok())
        .next()
        .unwrap_or(0)
}

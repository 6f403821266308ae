//! C2: a pool for each memory node, each under its own lock. Pool 0 is seeded first and seeds the
//! others; after that each CPU hands what fresh entropy it has to the pools in turn. A reader uses
//! the pool of its node.
//!
//! Promises: readers of different nodes share nothing, readers of one node share what C1 shares.
//! User space: on a machine with one node the harness splits its cores into two pretended ones.

use super::c1_spinlock::OnePool;
use super::{Cpu, Pool};

/// A pool alone on its cache lines, as memory of another node would be. 128: processors fetch lines
/// in pairs.
#[repr(align(128))]
struct Local(OnePool);

/// One pool a node.
pub(crate) struct NodePools {
    nodes: Vec<Local>,
}

/// A reader's node, and the pool that its CPU feeds next.
pub(crate) struct NodeReader {
    node: usize,
    feeds: usize,
}

impl NodePools {
    pub(crate) fn new(count: usize, seed: &[u8; 32]) -> Self {
        let first = Local(OnePool::new(seed));
        let mut nodes = Vec::new();
        for _ in 1..count {
            let mut drawn = [0; 32];
            first.0.fill(&mut drawn);
            nodes.push(Local(OnePool::new(&drawn)));
        }
        nodes.insert(0, first);
        Self { nodes }
    }
}

impl Pool for NodePools {
    type Reader = NodeReader;

    fn reader(&self, cpu: Cpu) -> NodeReader {
        // A CPU begins with its own pool, so that not all of them begin with pool 0.
        NodeReader {
            node: cpu.node % self.nodes.len(),
            feeds: cpu.node,
        }
    }

    fn read(&self, reader: &mut NodeReader, dest: &mut [u8]) {
        self.nodes[reader.node].0.fill(dest);
    }

    fn seed(&self, reader: &mut NodeReader, fresh: &[u8; 32]) {
        self.nodes[reader.feeds % self.nodes.len()].0.mix(fresh);
        reader.feeds += 1;
    }
}

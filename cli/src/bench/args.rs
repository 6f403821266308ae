//! The arguments of `ownpool bench`.

use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Short rounds; ends within 20 seconds
    #[arg(long)]
    pub(super) quick: bool,
    /// Measure with up to so many threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(super) threads: Option<usize>,
    /// Measure how 64-byte calls scale with threads; the main table is left out
    #[arg(long)]
    pub(super) scaling: bool,
    /// Measure what threads cost in memory; the main table is left out
    #[arg(long)]
    pub(super) memory: bool,
    /// Write everything to FILE as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Draw ns per call and GB/s of the main table to FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scaling", "memory"])]
    pub(super) svg: Option<PathBuf>,
    /// Write tables to FILE as Markdown, into the regions marked for them, or at the end
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,
    /// Be the measuring process
    #[arg(long, hide = true)]
    pub(super) inner: bool,
}

/// So many threads are taken on any machine, more where there are more cores. Each has
/// stacks and buffers of its own and takes its turn: without an end, a slip of the finger
/// takes the machine's memory and an hour.
const MOST_THREADS: usize = 64;

fn threads(text: &str) -> Result<usize, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = cores.max(MOST_THREADS);
    text.parse()
        .ok()
        .filter(|count| (1..=most).contains(count))
        .ok_or_else(|| format!("not a number of threads from 1 to {most}"))
}

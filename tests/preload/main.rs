//! The library: programs under it, and the compiled library itself.

mod c_api;
mod confinement;
mod counts;
mod delivery;
mod descriptors;
mod draws;
mod fd_faults;
mod fire;
mod fork;
mod frames;
mod hot_path;
mod kernel_calls;
mod layers;
mod leftovers;
mod probes;
mod programs;
mod random_triples;
mod reads;
mod restored;
mod settings;
mod single_step;
mod steps;
mod symbols;
mod threads;
mod twins;
mod user_threads;

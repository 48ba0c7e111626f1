//! The real program while it is killed or restored from a backup, its disk is full, slow or
//! read-only, a provider hangs, names are not found, or the clock is set: nothing is lost and
//! nothing doubled, by the books of the provider and the inbox of the merchant.

mod clock;
mod disk;
mod kills;
mod names;
mod planted;
mod provider;
mod restores;

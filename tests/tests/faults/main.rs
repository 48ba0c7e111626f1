//! The real program while its disk is full or read-only, names are not found, or the clock is set:
//! nothing is lost and nothing doubled, by the books of the provider and the inbox of the merchant.

mod clock;
mod disk;
mod names;

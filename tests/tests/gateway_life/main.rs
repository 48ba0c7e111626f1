//! The life of a gateway from outside: by the operator API, by the command line, and under load.

mod approval;
mod consent;
mod drain;
mod harm;
mod line;
mod load;
mod memory;
mod operator;
mod readiness;

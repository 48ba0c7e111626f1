//! The program as an operator lives with it: a disk that is full or read-only, an end under load,
//! what the log and the metrics say, and what it makes of bytes on a bare socket.

mod backups;
mod crowd;
mod disk;
mod doctor;
mod ending;
mod held;
mod installation;
mod leftovers;
mod log;
mod loss;
mod metrics;
mod restore;
mod settings;
mod sockets;

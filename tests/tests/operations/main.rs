//! The program in an operator's hands: a disk that is full or read-only, a stop under load, the
//! content of log and metrics, and the handling of bytes on a bare socket.

mod backups;
mod console;
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
mod proxy;
mod restore;
mod settings;
mod sockets;
mod supervisor;

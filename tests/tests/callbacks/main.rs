//! Callbacks of providers: the races, the forgeries, the kill. In-process engines where time has to
//! move, a real server for HTTP.

mod fixture;
mod further_ids;
mod late_parts;
mod late_success;
mod races;
mod repeated_ids;
mod reread;
mod server;
mod waiting;

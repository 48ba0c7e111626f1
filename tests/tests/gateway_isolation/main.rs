//! Gateways that do harm in their own process: the engine goes on, another gateway's payments see
//! nothing of it, and what was open ends by the money rule.

mod host;
mod table;
mod worker;

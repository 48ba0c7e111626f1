//! Users as a whole.

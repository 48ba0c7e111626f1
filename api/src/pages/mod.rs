//! Parts that the pages of the checkout and of the console share: messages, security headers, style
//! sheets.

pub mod headers;
pub mod messages;
pub mod qr;
pub mod style;
pub mod theme;

//! Panics: those of the gateway are part of the world; any other is a defect, contained or not.

use std::cell::RefCell;

thread_local! {
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// From now on panics are noted and not printed.
pub fn note() {
    PANICS.take();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let place = place.unwrap_or_default();
        if !place.contains("simulation/src/gateway.rs") {
            let said = panic.payload_as_str().unwrap_or("a panic without words");
            PANICS.with_borrow_mut(|panics| panics.push(format!("{place}: {said}")));
        }
    }));
}

/// What panicked on this thread since [`note`], besides gateways.
pub fn noted() -> Vec<String> {
    PANICS.take()
}

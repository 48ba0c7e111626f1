//! Panics. Those of the gateway are part of the simulation; any other is a defect, contained or
//! not.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    /// Panics in the history that runs on this thread; `None` when none runs.
    static PANICS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Records panics on this thread instead of printing them, until [`noted`] is called.
pub fn note() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        crate::gateway::warm_up(); // sets its own hook at its first step
        let _ = std::panic::take_hook();
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(ToString::to_string);
            let place = place.unwrap_or_default();
            let said = panic.payload_as_str().unwrap_or("a panic without words");
            let is_noted = PANICS.with_borrow_mut(|panics| {
                let Some(panics) = panics else { return false };
                if !place.contains("simulation/src/gateway.rs") {
                    panics.push(format!("{place}: {said}"));
                }
                true
            });
            if !is_noted {
                print(panic);
            }
        }));
    });
    PANICS.set(Some(Vec::new()));
}

/// Returns the panics on this thread since [`note`], without those of gateways.
pub fn noted() -> Vec<String> {
    PANICS.take().unwrap_or_default()
}

//! Each gateway exports the same one symbol, and here are five in one program, called by their
//! types: the linker may take any of the five.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-tests=-Wl,--allow-multiple-definition");
}

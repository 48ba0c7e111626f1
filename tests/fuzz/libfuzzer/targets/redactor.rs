#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| switchyard_fuzz::run("redactor", bytes));

//! Harm that a library can do to its process. Most of it does not return.

#![expect(clippy::print_stdout, reason = "a misuse that the host has to survive")]

use std::hint::black_box;
use std::io::Write as _;
use std::time::Duration;

/// Does the harm, and returns its result if the process survived.
pub fn done(what: &str, secret: &str) -> String {
    match what {
        "abort" => std::process::abort(),
        "exit" => std::process::exit(0),
        "overflow" => return overflow(0).to_string(),
        "null" => write_where_nothing_is(),
        "loop" => loop {
            std::hint::spin_loop();
        },
        "forge" => forge_an_answer(),
        "late" => std::thread::sleep(Duration::from_secs(3)),
        "memory" => eat(),
        "print" => print(secret),
        "walls" => return holes().join(", "),
        other => return format!("{other} is no harm"),
    }
    format!("did {what}")
}

/// Does it when it is dropped.
pub struct AtTheEnd(pub &'static str);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        if self.0 == "panic" {
            panic!("once more");
        }
        done(self.0, "");
    }
}

#[expect(unconditional_recursion, reason = "the stack is to overflow")]
fn overflow(depth: u64) -> u64 {
    let room = black_box([depth; 512]);
    overflow(depth + 1) + room[7]
}

fn write_where_nothing_is() {
    let nowhere = std::ptr::without_provenance_mut::<u8>(8);
    // SAFETY: there is none: this is the crash that is asked for.
    unsafe { nowhere.write_volatile(1) }
}

fn eat() {
    let mut eaten = Vec::new();
    loop {
        eaten.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// Prints forged frames, invalid frames, and a secret.
fn print(secret: &str) {
    let mut out = std::io::stdout();
    let frame = [17, 1, 0, 0, 0, 2, 0, 0, 0, b'{', b'}'];
    let _ = out.write_all(&frame.repeat(1_000)); // whether it is written is not its concern
    let _ = out.write_all(&[0xff; 70_000]);
    println!("\nthe key is {secret}, says standard output");
    eprintln!("the key is {secret}, says standard error");
}

/// Writes the worker's answer itself, to whichever call has asked, and computes on.
fn forge_an_answer() {
    let body = br#"{"outcome":{"pending":{}}}"#;
    let mut frames = Vec::new();
    for call in 1..=64_u32 {
        frames.push(READY);
        frames.extend(call.to_le_bytes());
        frames.extend(u32::try_from(body.len()).unwrap_or_default().to_le_bytes());
        frames.extend(body);
    }
    for pipe in 3..8 {
        // SAFETY: the bytes are alive; a descriptor that is not open is an error that is ignored.
        unsafe { libc::write(pipe, frames.as_ptr().cast(), frames.len()) };
    }
    loop {
        std::hint::spin_loop();
    }
}

/// The kind of a frame with the last answer of a call.
const READY: u8 = 18;

/// Abilities that a library in a worker should not have.
fn holes() -> Vec<String> {
    let mut holes = Vec::new();
    let mut hole = |name: &str, is_open: bool| {
        if is_open {
            holes.push(name.to_owned());
        }
    };
    hole("a file", std::fs::read("/proc/self/maps").is_ok());
    hole(
        "a new file",
        std::fs::write("/tmp/misbehaving", "x").is_ok(),
    );
    hole("a socket", std::net::UdpSocket::bind("127.0.0.1:0").is_ok());
    hole("a thread", std::thread::Builder::new().spawn(|| ()).is_ok());
    hole(
        "a program",
        std::process::Command::new("true").spawn().is_ok(),
    );
    hole("the environment", std::env::vars_os().next().is_some());
    hole("the directory", std::env::current_dir().is_ok());
    // SAFETY: the child of a fork does nothing but end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: it ends this process.
        unsafe { libc::_exit(0) }
    }
    hole("a fork", child > 0);
    // SAFETY: signal 0 only asks whether a signal could be sent.
    hole(
        "a signal to the engine",
        unsafe { libc::kill(libc::getppid(), 0) } == 0,
    );
    let input = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
    hole("what is for the worker", matches!(input, Ok(1)));
    holes
}

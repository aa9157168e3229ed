//! Checks a file of signature vectors with the real verifiers, each by its own clock:
//! `cargo run --example verify_vectors -- FILE`.
//!
//! Prints a line `id expected got` for each. Ends with 1 if any differs, and with 2 if the file can't be read.
//! `either` never differs; `unmapped` is a provider whose headers fit no scheme, and doesn't count.

#[path = "verify_vectors/guess.rs"]
mod guess;
#[path = "verify_vectors/vector.rs"]
mod vector;

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("Which file? Use: cargo run --example verify_vectors -- FILE");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(why) => {
            eprintln!("{}: {why}", path.display());
            return ExitCode::from(2);
        }
    };
    let vectors = match vector::read(&text) {
        Ok(vectors) => vectors,
        Err(why) => {
            eprintln!("{}: {why}", path.display());
            return ExitCode::from(2);
        }
    };
    let (mut differing, mut unmapped) = (0, 0);
    for vector in &vectors {
        let verdict = vector.judge();
        let got = verdict.word();
        println!("{} {} {got}", vector.id, vector.expect);
        if vector.differs(&verdict) {
            differing += 1;
            eprintln!("{}: {}", vector.id, verdict.why());
        }
        unmapped += usize::from(got == "unmapped");
    }
    eprintln!(
        "{} vectors, {differing} differ, {unmapped} unmapped",
        vectors.len()
    );
    ExitCode::from(u8::from(differing > 0))
}

//! Writes the thousand tools of the start-up measurements.

use std::{env, error::Error, fs, path::Path};

#[allow(dead_code, unreachable_pub, reason = "it is a module of the library, too")]
#[path = "src/generate.rs"]
mod generate;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/generate.rs");
    let tools = generate::source(generate::Flavour::Tools, 1_000)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("tools.rs"), tools)?;
    Ok(())
}

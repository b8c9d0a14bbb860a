//! Writes the thousand tools of the start-up measurements.

use std::{env, error::Error, fs, path::Path};

#[allow(dead_code, unreachable_pub, reason = "it is a module of the library, too")]
#[path = "src/generate.rs"]
mod generate;

use generate::Flavour;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/generate.rs");
    let folder = env::var("OUT_DIR")?;
    for (flavour, file) in [(Flavour::Tools, "tools.rs"), (Flavour::ByHand, "by_hand.rs")] {
        fs::write(Path::new(&folder).join(file), generate::source(flavour, 1_000)?)?;
    }
    Ok(())
}

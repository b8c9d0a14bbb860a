//! Prints the source of a program with many tools, for `build-cost.sh`.

use std::{env, error::Error, io::Write as _};

use benches::generate::{Flavour, source};

const TOOLS: &str = "use tool_runtime::{RegistryBuilder, tool};\n\n";

const BY_HAND: &str = "use std::{collections::HashMap, future::Future, pin::Pin};

use schemars::{JsonSchema, Schema};
use serde::Deserialize;

pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, serde_json::Error>> + Send + 'a>>;

pub fn dispatch() -> HashMap<&'static str, for<'a> fn(&'a str) -> Answer<'a>> {
    TOOLS.iter().map(|(name, _, call)| (*name, *call)).collect()
}

pub fn schemas() -> impl Iterator<Item = (&'static str, Schema)> {
    TOOLS.iter().map(|(name, schema, _)| (*name, schema()))
}

";

const UNUSED: &str = "use schemars::JsonSchema;\nuse serde::Deserialize;\n\n";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [flavour, count] = arguments.as_slice() else {
        return Err("usage: generate tools|by-hand|unused COUNT".into());
    };
    let (flavour, head) = match flavour.as_str() {
        "tools" => (Flavour::Tools, TOOLS),
        "by-hand" => (Flavour::ByHand, BY_HAND),
        "unused" => (Flavour::Unused, UNUSED),
        other => return Err(format!("no such flavour: {other}").into()),
    };
    // The generated program does nothing with the value; the lint is about values that are dropped without need.
    write!(
        std::io::stdout().lock(),
        "#![allow(dropping_copy_types)]\n\n{head}{}",
        source(flavour, count.parse()?)?
    )?;
    Ok(())
}

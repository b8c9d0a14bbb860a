//! The start of a program with a thousand tools, each with its own argument type.
//!
//! The floor is written by hand: an argument struct for each tool with the derives of `serde` and `schemars`, a
//! `HashMap` from names to functions, `schema_for!` of each struct, and one `to_string` of the list, which is kept.

use std::{
    collections::HashMap,
    error::Error,
    hint::black_box,
    sync::{Arc, OnceLock},
};

use benches::{
    FLOOR, OURS,
    cold::{self, Started},
    now,
};
use serde_json::json;
use tool_runtime::Registry;

#[allow(missing_docs, unreachable_pub, dropping_copy_types, reason = "generated")]
mod tools {
    use tool_runtime::{registry::RegistryBuilder, tool};

    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}

#[allow(missing_docs, unreachable_pub, dropping_copy_types, clippy::type_complexity, reason = "generated")]
mod by_hand {
    use std::{future::Future, pin::Pin};

    use schemars::{JsonSchema, Schema};
    use serde::Deserialize;

    pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, serde_json::Error>> + Send + 'a>>;

    include!(concat!(env!("OUT_DIR"), "/by_hand.rs"));
}

/// A call of the first tool.
const ARGUMENTS: &str = r#"{"value_0":3,"value_1":"text"}"#;

fn floor() -> Result<Started, Box<dyn Error>> {
    let entries = by_hand::TOOLS.iter();
    let entries: HashMap<_, _> = entries.map(|(name, schema, call)| (*name, (*schema, *call))).collect();
    let entries = Arc::new(entries);
    let called = Arc::clone(&entries);
    let listed = OnceLock::new();
    let list = Box::new(move |show: &mut dyn FnMut(&[u8])| {
        let text: &String = listed.get_or_init(|| {
            let definitions: Vec<_> = entries
                .iter()
                .map(|(name, (schema, _))| {
                    json!({ "name": name, "description": "Does the work.", "parameters": schema() })
                })
                .collect();
            json!(definitions).to_string()
        });
        show(black_box(text).as_bytes());
    });
    let call = Box::new(move |show: &mut dyn FnMut(&[u8])| {
        if let Some((_, call)) = called.get("tool_0")
            && let Some(Ok(answer)) = now(call(black_box(ARGUMENTS)))
        {
            show(&answer);
        }
    });
    Ok(Started { list, call })
}

fn ours() -> Result<Started, Box<dyn Error>> {
    let tools = tools::TOOLS.iter().fold(Registry::builder(), |builder, add| add(builder)).build()?;
    let called = tools.clone();
    let list =
        Box::new(move |show: &mut dyn FnMut(&[u8])| show(black_box(tools.definitions_json()).as_bytes()));
    let call = Box::new(move |show: &mut dyn FnMut(&[u8])| {
        if let Some(Ok(output)) = now(called.call("tool_0", black_box(ARGUMENTS))) {
            show(output.into_text().as_bytes());
        }
    });
    Ok(Started { list, call })
}

fn main() -> Result<(), Box<dyn Error>> {
    cold::run(1_000, &[(FLOOR, floor), (OURS, ours)])
}

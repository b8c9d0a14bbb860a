//! The cost of start-up and of a large set: all schemas made and compiled, names looked up.

use std::{collections::HashMap, error::Error, hint::black_box};

use benches::{Workload, measure};
use tool_runtime::{BuildError, Registry};

#[allow(missing_docs, unreachable_pub, dropping_copy_types, reason = "generated")]
mod tools {
    use tool_runtime::{RegistryBuilder, tool};

    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}

/// The first `count` tools.
fn registry(count: usize) -> Result<Registry, BuildError> {
    tools::TOOLS.iter().take(count).fold(Registry::builder(), |builder, add| add(builder)).build()
}

fn build(name: &'static str, count: usize) -> Workload {
    Workload::without_floor(name, move |show| match registry(count) {
        Ok(tools) => show(&tools.len().to_ne_bytes()),
        Err(error) => show(error.to_string().as_bytes()),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let tools = registry(1_000)?;
    let names: Vec<String> = tools.definitions().iter().map(|it| it.name().to_string()).collect();
    let by_name: HashMap<String, usize> = names.iter().cloned().zip(0..).collect();
    let same = tools.clone();
    measure::run(
        "start-up",
        &[
            build("build() of 10 tools", 10),
            build("build() of 100 tools", 100),
            build("build() of 1,000 tools", 1_000),
            Workload::new(
                "a look-up among 1,000",
                move |show| show(&[u8::from(by_name.contains_key(black_box("tool_777")))]),
                move |show| show(&[u8::from(same.get(black_box("tool_777")).is_some())]),
            ),
            Workload::new(
                "a walk over 1,000 definitions",
                move |show| show(&names.iter().map(String::len).sum::<usize>().to_ne_bytes()),
                move |show| {
                    let lengths = tools.definitions().iter().map(|it| it.name().as_str().len());
                    show(&lengths.sum::<usize>().to_ne_bytes());
                },
            ),
        ],
    );
    Ok(())
}

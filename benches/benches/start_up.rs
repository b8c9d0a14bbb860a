//! The cost of start-up and of a large registry: generating and compiling all schemas, and looking up names.

use std::{collections::HashMap, error::Error, hint::black_box};

use benches::{Workload, measure};
use tool_runtime::{Registry, ToolBuilder, ToolError, registry::BuildError, tool_args};

#[allow(missing_docs, unreachable_pub, dropping_copy_types, reason = "generated")]
mod tools {
    use tool_runtime::{registry::RegistryBuilder, tool};

    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}

/// Builds a registry of the first `count` tools.
fn registry(count: usize) -> Result<Registry, BuildError> {
    tools::TOOLS.iter().take(count).fold(Registry::builder(), |builder, add| add(builder)).build()
}

fn build(name: &'static str, count: usize) -> Workload {
    Workload::without_floor(name, move |show| match registry(count) {
        Ok(tools) => show(&tools.len().to_ne_bytes()),
        Err(error) => show(error.to_string().as_bytes()),
    })
}

/// Builds a registry of `count` tools that are made at run time, like those of a remote server.
fn made(count: usize) -> Result<Registry, BuildError> {
    let tools = (0..count).map(|at| {
        let args = |args: Args, _| async move { Ok::<_, ToolError>(args.limit) };
        ToolBuilder::new(format!("made_{at}")).description("Does nothing.").expect_handler(args)
    });
    tools.fold(Registry::builder(), |builder, tool| builder.add(tool)).build()
}

/// The arguments of the tools.
#[tool_args]
struct Args {
    /// The text to search for.
    #[schemars(length(min = 1))]
    #[expect(dead_code, reason = "part of the schema")]
    query: String,
    /// The maximum number of results.
    #[schemars(range(min = 1, max = 100))]
    limit: u8,
}

fn many(name: &'static str, count: usize) -> Workload {
    Workload::without_floor(name, move |show| match made(count) {
        Ok(tools) => show(&tools.len().to_ne_bytes()),
        Err(error) => show(error.to_string().as_bytes()),
    })
}

fn look_up(name: &'static str, count: usize) -> Result<Workload, BuildError> {
    let tools = made(count)?;
    let by_name: HashMap<String, usize> = (0..count).map(|at| (format!("made_{at}"), at)).collect();
    Ok(Workload::new(
        name,
        move |show| show(&[u8::from(by_name.contains_key(black_box("made_7777")))]),
        move |show| show(&[u8::from(tools.get(black_box("made_7777")).is_some())]),
    ))
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
            many("build() of 10,000 tools", 10_000),
            look_up("a look-up among 10,000", 10_000)?,
            Workload::new(
                "a walk over 1,000 definitions",
                move |show| show(&names.iter().map(String::len).sum::<usize>().to_ne_bytes()),
                move |show| {
                    let lengths = tools.definitions().iter().map(|it| it.name().as_str().len());
                    show(&lengths.sum::<usize>().to_ne_bytes());
                },
            ),
        ],
    )
}

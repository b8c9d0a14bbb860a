//! Tools of every form, and their properties.
#![allow(dead_code, reason = "arguments are decoded and shown")]

mod by_hand;
mod collections;
mod enums;
mod parameters;

use std::{cell::Cell, fmt::Debug, sync::LazyLock};

use tool_runtime::{
    Registry,
    registry::RegistryBuilder,
    schema::Repair,
    serde::de::DeserializeOwned,
    serde_json::{self, Error},
};

/// A tool and its properties.
#[derive(Debug)]
pub(crate) struct Case {
    /// The first byte of the inputs for the tool.
    letter: u8,
    pub(crate) name: &'static str,
    add: fn(RegistryBuilder) -> RegistryBuilder,
    /// Decodes a text with `serde_json` alone, and formats the arguments like the tool.
    pub(crate) again: fn(&str) -> Result<String, Error>,
    /// `true` if the type decodes every value that the schema admits.
    pub(crate) reads_all: bool,
    /// Aliases of properties, with their names in the schema.
    pub(crate) other_names: &'static [(&'static str, &'static str)],
    pub(crate) has_secret: bool,
    /// `true` if the tool sees the spelling of numbers.
    pub(crate) keeps_text: bool,
}

impl Case {
    fn new<T: DeserializeOwned + Debug>(
        letter: u8,
        name: &'static str,
        add: fn(RegistryBuilder) -> RegistryBuilder,
    ) -> Self {
        let again = again::<T>;
        Self {
            letter,
            name,
            add,
            again,
            reads_all: true,
            other_names: &[],
            has_secret: false,
            keeps_text: false,
        }
    }

    /// Marks the schema as admitting more than the type decodes.
    fn narrow(mut self) -> Self {
        self.reads_all = false;
        self
    }

    fn with_other_names(mut self, names: &'static [(&'static str, &'static str)]) -> Self {
        self.other_names = names;
        self
    }

    fn with_secret(mut self) -> Self {
        self.has_secret = true;
        self
    }

    fn with_text(mut self) -> Self {
        self.keeps_text = true;
        self
    }

    /// Returns the tool for the first byte of an input.
    pub(crate) fn of(byte: u8) -> &'static Self {
        let cases = cases();
        cases.iter().find(|case| case.letter == byte).unwrap_or(&cases[usize::from(byte) % cases.len()])
    }

    /// Returns the index of the tool.
    pub(crate) fn position(&self) -> usize {
        cases().iter().position(|case| case.letter == self.letter).unwrap()
    }

    /// Returns the input that calls this tool with `text`.
    pub(crate) fn input(&self, text: &str) -> Vec<u8> {
        let mut bytes = vec![self.letter];
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }
}

/// All tools.
pub(crate) fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        [parameters::cases(), enums::cases(), collections::cases(), by_hand::cases()]
            .into_iter()
            .flatten()
            .collect()
    });
    &CASES
}

/// A registry of the tools.
pub(crate) static REGISTRY: LazyLock<Registry> = LazyLock::new(|| built(Registry::builder()));

/// A registry of the tools that coerces nothing.
pub(crate) static STRICT: LazyLock<Registry> = LazyLock::new(|| built(Registry::builder().strict(true)));

/// A registry of the tools that repairs invalid JSON.
pub(crate) static REPAIRING: LazyLock<Registry> =
    LazyLock::new(|| built(Registry::builder().repair(Repair::AllTools)));

fn built(builder: RegistryBuilder) -> Registry {
    let builder = cases().iter().fold(builder, |builder, case| (case.add)(builder));
    builder.build().unwrap_or_else(|error| panic!("{error}"))
}

thread_local! {
    static RUNS: Cell<u64> = const { Cell::new(0) };
}

/// The number of calls that ran on this thread.
pub(crate) fn runs() -> u64 {
    RUNS.get()
}

/// The body of every tool: counts the call, and formats the arguments.
fn ran(arguments: &impl Debug) -> String {
    RUNS.set(RUNS.get() + 1);
    shown(arguments)
}

fn shown(arguments: &impl Debug) -> String {
    format!("{arguments:?}")
}

fn again<T: DeserializeOwned + Debug>(text: &str) -> Result<String, Error> {
    serde_json::from_str::<T>(text).map(|arguments| shown(&arguments))
}

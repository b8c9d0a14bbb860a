//! Tools of every form, and what is true of them.
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

/// A tool, and what is true of it.
#[derive(Debug)]
pub(crate) struct Case {
    /// What an input for it begins with.
    letter: u8,
    pub(crate) name: &'static str,
    add: fn(RegistryBuilder) -> RegistryBuilder,
    /// Reads a text as the tool's arguments, with `serde_json` alone, and shows them as the tool does.
    pub(crate) again: fn(&str) -> Result<String, Error>,
    /// Whether the type reads all that the schema admits.
    pub(crate) reads_all: bool,
    /// Other names of properties, with those that stand in the schema.
    pub(crate) other_names: &'static [(&'static str, &'static str)],
    pub(crate) has_secret: bool,
    /// Whether the tool sees how a number is written.
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

    /// Says that the schema admits more than the type reads.
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

    /// The tool that the first byte of an input chooses.
    pub(crate) fn of(byte: u8) -> &'static Self {
        let cases = cases();
        cases.iter().find(|case| case.letter == byte).unwrap_or(&cases[usize::from(byte) % cases.len()])
    }

    /// How many tools come before this one.
    pub(crate) fn position(&self) -> usize {
        cases().iter().position(|case| case.letter == self.letter).unwrap()
    }

    /// The input that sends `text` to this tool.
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

/// The tools, as a program has them.
pub(crate) static REGISTRY: LazyLock<Registry> = LazyLock::new(|| built(Registry::builder()));

/// The same, with nothing corrected.
pub(crate) static STRICT: LazyLock<Registry> = LazyLock::new(|| built(Registry::builder().strict(true)));

/// The same, with what is nearly JSON repaired.
pub(crate) static REPAIRING: LazyLock<Registry> =
    LazyLock::new(|| built(Registry::builder().repair(Repair::AllTools)));

fn built(builder: RegistryBuilder) -> Registry {
    let builder = cases().iter().fold(builder, |builder, case| (case.add)(builder));
    builder.build().unwrap_or_else(|error| panic!("{error}"))
}

thread_local! {
    static RUNS: Cell<u64> = const { Cell::new(0) };
}

/// How often a tool was run by this thread.
pub(crate) fn runs() -> u64 {
    RUNS.get()
}

/// What every tool does: it is counted, and shows its arguments.
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

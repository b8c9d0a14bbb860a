//! The properties of any call with any text as its arguments.
//!
//! This module does not depend on a fuzzer: the tests of `tool-runtime` run it over the seeds. An
//! input is a byte that selects a tool, and the text of its arguments.

pub(crate) mod examine;
pub(crate) mod mutate;
pub(crate) mod rng;
pub(crate) mod tools;
pub(crate) mod tree;

use std::{
    borrow::Cow,
    future::Future,
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll, Waker},
};

use tool_runtime::{ToolError, ToolOutput};

use self::tools::{Case, REGISTRY, cases};

/// A tool and the text of its arguments.
#[derive(Debug)]
pub(crate) struct Input<'i> {
    pub(crate) case: &'static Case,
    pub(crate) text: Cow<'i, str>,
}

impl<'i> Input<'i> {
    /// Parses an input; returns `None` if it is empty.
    pub(crate) fn read(bytes: &'i [u8]) -> Option<Self> {
        let (first, text) = bytes.split_first()?;
        Some(Self { case: Case::of(*first), text: String::from_utf8_lossy(text) })
    }

    /// Returns `true` if the schema admits the text.
    pub(crate) fn fits(&self) -> bool {
        REGISTRY.check(self.case.name, &*self.text).is_ok()
    }

    /// Calls the tool with the text.
    pub(crate) fn call(&self) -> Result<ToolOutput, ToolError> {
        now(REGISTRY.call(self.case.name, &*self.text))
    }
}

/// Returns the result of a future that is ready at once.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("none of these tools waits for anything"),
    }
}

/// The number of inputs that reached each stage.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    inputs: AtomicU64,
    json: AtomicU64,
    decoded: AtomicU64,
}

impl Statistics {
    pub(crate) const fn new() -> Self {
        Self { inputs: AtomicU64::new(0), json: AtomicU64::new(0), decoded: AtomicU64::new(0) }
    }

    /// Counts one input, and returns the total.
    pub(crate) fn count(&self, reached: examine::Reached) -> u64 {
        let is_json = reached >= examine::Reached::Json;
        let is_decoded = reached >= examine::Reached::Decoded;
        self.json.fetch_add(is_json.into(), Ordering::Relaxed);
        self.decoded.fetch_add(is_decoded.into(), Ordering::Relaxed);
        self.inputs.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the share of the inputs that decoded to typed values and ran the tool.
    #[allow(dead_code, reason = "the tests ask for it, the fuzzer prints it")]
    pub(crate) fn decoded(&self) -> f64 {
        self.share(&self.decoded)
    }

    fn share(&self, part: &AtomicU64) -> f64 {
        part.load(Ordering::Relaxed) as f64 / self.inputs.load(Ordering::Relaxed).max(1) as f64
    }
}

impl std::fmt::Display for Statistics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [json, decoded] = [&self.json, &self.decoded].map(|part| self.share(part) * 100.0);
        let inputs = self.inputs.load(Ordering::Relaxed);
        write!(f, "{inputs} inputs over {} tools: {json:.1} % JSON, {decoded:.1} % decoded", cases().len())
    }
}

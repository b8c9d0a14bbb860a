//! Every form of a tool under the strictest lints (B12).

#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, clippy::pedantic)]

use std::borrow::Cow;
use std::path::Path;

use tool_runtime::{ToolContext, tool, tool_args, toolset};

/// A provided value.
pub struct Stations;

/// Units of temperature.
#[tool_args(serialize)]
#[derive(Default)]
pub enum Units {
    /// Degrees Celsius.
    #[default]
    Metric,
    /// Degrees Fahrenheit.
    Imperial,
}

/// A weather forecast.
#[tool_args(serialize)]
pub struct Forecast {
    /// The city.
    pub city: String,
    /// The units.
    pub units: Units,
}

/// The furthest day.
pub const MAX_DAYS: u8 = 14;

/// Forecasts the weather.
///
/// # Errors
///
/// Returns an error if the city is unknown.
#[tool(read_only, title = "Weather", tags("geo", "sky"), timeout = "30s")]
pub async fn forecast(
    stations: &Stations,
    cx: &ToolContext,
    /// City name, e.g. "Paris".
    city: String,
    /// Days ahead.
    #[schemars(range(min = 1, max = MAX_DAYS))]
    #[arg(default = 3, example = 5)]
    days: u8,
    #[serde(rename = "u", alias = "unit", default)] units: Units,
    note: Option<&str>,
) -> Result<Forecast, std::io::Error> {
    let _ = (stations, cx, days, note);
    std::future::ready(()).await;
    Ok(Forecast { city, units })
}

/// Does nothing.
#[tool]
pub fn ping() {}

/// Counts letters.
#[tool(read_only)]
#[must_use]
pub fn letters(text: &str, root: &Path, ids: &[u32], name: Cow<'_, str>) -> usize {
    text.len() + root.as_os_str().len() + ids.len() + name.len()
}

/// The text to search for.
#[tool_args]
pub struct SearchArgs {
    /// The text.
    pub query: String,
    /// The maximum number of results.
    #[schemars(range(min = 1, max = 100))]
    #[serde(default)]
    pub limit: Option<u8>,
}

/// Searches.
#[tool]
#[must_use]
pub fn search(stations: &Stations, SearchArgs { query, .. }: SearchArgs) -> Vec<String> {
    let _ = stations;
    vec![query]
}

/// Searches again.
#[tool]
pub async fn search_again(#[args] args: SearchArgs) -> Option<String> {
    std::future::ready(args.limit).await.map(|_| args.query)
}

/// Finds by name.
#[tool(needs(Stations))]
pub struct Find {
    /// The name.
    pub name: String,
}

impl tool_runtime::Run for Find {
    type Output = String;

    async fn run(self, _cx: &ToolContext) -> String {
        self.name
    }
}

/// Sums.
#[tool(instantiate(i64 as "sum_int", f64 as "sum_float"))]
#[must_use]
pub fn sum<T: std::iter::Sum<T> + Copy>(numbers: &[T]) -> T {
    numbers.iter().copied().sum()
}

/// Hashes.
#[tool(blocking)]
#[must_use]
pub fn hash(text: &str, #[arg(secret)] salt: u64) -> u64 {
    text.len() as u64 ^ salt
}

/// Files below a root.
pub struct Files {
    root: String,
}

#[toolset]
impl Files {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such file.
    #[tool(read_only)]
    pub async fn read(&self, path: &Path) -> std::io::Result<String> {
        std::future::ready(()).await;
        Ok(format!("{}{}", self.root, path.display()))
    }

    /// Names the separator.
    #[tool]
    #[must_use]
    pub fn separator() -> &'static str {
        "/"
    }
}

/// A store of some kind.
pub struct Store<B> {
    backend: B,
}

/// The backend of a store.
pub trait Backend {
    /// Counts what is stored.
    fn count(&self) -> u64;
}

#[toolset(name = "store")]
impl<B: Backend> Store<B> {
    /// Counts what is stored.
    #[tool(read_only)]
    pub fn count(&self, #[arg(default = 1)] factor: u64) -> u64 {
        self.backend.count() * factor
    }
}

/// Calls what is still callable.
pub fn main() {
    let _ = (ping(), letters("a", Path::new(""), &[], "".into()), sum(&[1, 2]), hash("", 0));
    let _ = Files { root: String::new() }.root;
}

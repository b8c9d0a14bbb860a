//! Parameter lists.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use tool_runtime::{
    prelude::*,
    serde_json::{Map, Value},
    tool, tool_args,
};

use super::{Case, ran};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new::<Plain>(b'a', "plain", |it| it.tool::<plain>()),
        Case::new::<Borrowed>(b'b', "borrowed", |it| it.tool::<borrowed>()),
        Case::new::<Named>(b'c', "named", |it| it.tool::<named>()).with_other_names(&[
            ("query", "q"),
            ("text", "q"),
            ("max", "limit"),
            ("exactly", "exact"),
        ]),
        Case::new::<Open>(b'd', "open", |it| it.tool::<open>()),
        Case::new::<Rewritten>(b'e', "rewritten", |it| it.tool::<rewritten>())
            .with_other_names(&[("cents", "amount")]),
        Case::new::<Secret>(b'f', "secret", |it| it.tool::<secret>()).with_secret(),
    ]
}

#[tool_args]
#[derive(Debug)]
struct Plain {
    city: String,
    days: u8,
    offset: i16,
    ratio: f64,
    exact: bool,
    letter: char,
    count: Option<u64>,
}

/// Takes one of each plain type.
#[tool(register = false, read_only)]
fn plain(
    #[schemars(length(min = 1, max = 40), regex(pattern = r"^\S"))] city: String,
    #[schemars(range(min = 1, max = 14))] days: u8,
    offset: i16,
    #[schemars(range(min = -1.5, max = 1e300))] ratio: f64,
    exact: bool,
    letter: char,
    count: Option<u64>,
) -> String {
    ran(&Plain { city, days, offset, ratio, exact, letter, count })
}

#[tool_args]
#[derive(Debug)]
struct Borrowed {
    text: String,
    maybe: Option<String>,
    cow: String,
    path: PathBuf,
    ids: Vec<u32>,
    names: Option<Vec<String>>,
}

/// Borrows its arguments if possible.
#[tool(register = false)]
fn borrowed<'a>(
    text: &'a str,
    maybe: Option<&str>,
    cow: Cow<'a, str>,
    path: &Path,
    ids: &[u32],
    names: Option<&[String]>,
) -> String {
    ran(&Borrowed {
        text: text.to_owned(),
        maybe: maybe.map(str::to_owned),
        cow: cow.into_owned(),
        path: path.to_owned(),
        ids: ids.to_vec(),
        names: names.map(<[String]>::to_vec),
    })
}

#[tool_args]
#[derive(Debug)]
struct Named {
    #[serde(alias = "query", alias = "text")]
    q: String,
    #[serde(default = "ten", alias = "max")]
    limit: i64,
    #[serde(default, alias = "exactly")]
    exact: bool,
    #[serde(default = "english")]
    language: String,
}

fn ten() -> i64 {
    10
}

fn english() -> String {
    "en".to_owned()
}

/// Takes parameters with aliases and defaults.
#[tool(register = false)]
fn named(
    #[serde(rename = "q", alias = "query", alias = "text")] words: String,
    #[arg(default = 10)]
    #[serde(alias = "max")]
    limit: i64,
    #[serde(default, alias = "exactly")] exact: bool,
    #[arg(default = "en")] language: &str,
) -> String {
    ran(&Named { q: words, limit, exact, language: language.to_owned() })
}

#[tool_args]
#[derive(Debug)]
struct Open {
    limit: Option<u8>,
    name: Option<String>,
}

/// Ignores unknown properties.
#[tool(register = false, unknown_fields = "ignore")]
fn open(limit: Option<u8>, name: Option<String>) -> String {
    ran(&Open { limit, name })
}

#[tool_args]
#[derive(Debug)]
struct Rewritten {
    amount: i64,
    note: Option<Value>,
}

fn cents(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    if let Some(cents) = arguments.remove("cents")
        && !arguments.contains_key("amount")
    {
        arguments.insert("amount".to_owned(), cents);
    }
    Ok(())
}

/// Rewrites its arguments before they are checked.
#[tool(register = false, prepare = cents)]
fn rewritten(amount: i64, note: Option<Value>) -> String {
    ran(&Rewritten { amount, note })
}

#[tool_args]
#[derive(Debug)]
struct Secret {
    user: String,
    pin: u32,
    hint: Option<String>,
}

/// Takes a secret.
#[tool(register = false)]
fn secret(user: String, #[arg(secret)] pin: u32, hint: Option<String>) -> String {
    ran(&Secret { user, pin, hint })
}

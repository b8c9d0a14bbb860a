//! The calls of the table, with their answers.

use serde_json::{Value, json};

use super::Answer;

/// One call, or a batch of the same call.
#[derive(Debug, Clone)]
pub struct Case {
    /// The name of the row.
    pub name: &'static str,
    /// The called tool.
    pub tool: &'static str,
    /// The arguments, as JSON text.
    pub arguments: String,
    /// The number of calls of a batch, or `None` for a single call.
    pub batch: Option<usize>,
    expected: Expected,
}

#[derive(Debug, Clone)]
enum Expected {
    /// This value, with its keys in any order.
    Value(Value),
    /// An error that contains this text.
    Error(&'static str),
}

impl Case {
    /// Checks the answer of a contender.
    ///
    /// # Errors
    ///
    /// Returns an error with both answers if they differ.
    pub fn check(&self, answer: &Answer) -> Result<(), String> {
        let right = match (&self.expected, answer) {
            (Expected::Value(expected), Ok(text)) => {
                serde_json::from_str::<Value>(text).is_ok_and(|value| value == *expected)
            }
            (Expected::Error(part), Err(text)) => text.contains(part),
            _ => false,
        };
        let Self { name, expected, .. } = self;
        if right { Ok(()) } else { Err(format!("{name}: expected {expected:?}, got {answer:?}")) }
    }
}

const FORECAST: &str = r#"{"city":"Paris","days":3}"#;

const ORDER: &str = r#"{"order_id":"ORD-2026-000187","customer":{"id":4821,"name":"Ada Lovelace","email":"ada.lovelace@example.org","tier":"gold"},"items":[{"sku":"KB-104-DE","title":"Mechanical keyboard, ISO-DE, brown switches","quantity":2,"unit_price":129.9,"tags":["hardware","input"]},{"sku":"MON-27-4K","title":"27 inch 4K monitor","quantity":1,"unit_price":389.0,"tags":["hardware","display"],"note":"check for dead pixels before packing"},{"sku":"CBL-USBC-2M","title":"USB-C cable 2 m, 100 W","quantity":5,"unit_price":14.5,"tags":["cable"]},{"sku":"BK-TAOCP-1","title":"The Art of Computer Programming, Vol. 1","quantity":1,"unit_price":79.99,"tags":["book","gift"],"note":"gift wrap: \"For Charles\""}],"shipping":{"method":"express","address":{"street":"12 St James's Square","city":"London","postal_code":"SW1Y 4JH","country":"GB"},"instructions":null},"priority":3,"discount_percent":12.5,"coupon":"SPRING26","gift":false}"#;

/// Returns a source file of about 100 kB, as a coding model writes it, with an escape every 35 bytes.
fn source() -> String {
    const LINES: [&str; 6] = [
        "    let mut total = 0usize;\n",
        "\tfor (name, entry) in &self.entries { total += entry.len(); }\n",
        "    println!(\"found {} entries in {}\", total, name); // naïve\n",
        "}\n",
        "\n",
        "/// Returns the number of entries whose key starts with `prefix`.\n",
    ];
    let mut lines = LINES.iter().cycle();
    let mut source = String::new();
    while json!(source).to_string().len() < 102_400 - 80 {
        source.extend(lines.by_ref().take(20).copied());
    }
    source
}

/// Returns the calls of the table.
#[must_use]
pub fn cases() -> Vec<Case> {
    let weather = json!({ "city": "Paris", "days": 3, "high_c": 21, "summary": "mild" });
    let receipt = json!({
        "order_id": "ORD-2026-000187", "customer": "Ada Lovelace", "lines": 4, "units": 9,
        "total_cents": 70113, "method": "express", "eta_days": 1,
    });
    let source = source();
    let write = format!(r#"{{"path":"src/registry.rs","content":{}}}"#, json!(source));
    let written = json!({ "path": "src/registry.rs", "bytes": source.len() });
    let wrong_item = ORDER.replace(r#""quantity":5"#, r#""quantity":"five""#);
    let one = |name, tool, arguments: &str, expected| Case {
        name,
        tool,
        arguments: arguments.to_owned(),
        batch: None,
        expected,
    };
    let single = one("W1, two arguments", "forecast", FORECAST, Expected::Value(weather));
    let batch = Case { name: "W5, a batch of 64", batch: Some(64), ..single.clone() };
    vec![
        single,
        one("W2, an order of 1 kB", "create_order", ORDER, Expected::Value(receipt)),
        one("W3, a text of 100 kB", "write_file", &write, Expected::Value(written)),
        one("W4a, a missing field", "forecast", r#"{"days":3}"#, Expected::Error("city")),
        one("W4b, a wrong type", "forecast", r#"{"city":"Paris","days":"three"}"#, Expected::Error("three")),
        one("W4c, a nested wrong type", "create_order", &wrong_item, Expected::Error("five")),
        batch,
    ]
}

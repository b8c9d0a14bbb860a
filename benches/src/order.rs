//! Arguments of medium size: about 1 kB of nested JSON, with an enum, options and bounds.

use std::fmt::Write as _;

use tool_runtime::tool_args;

/// An order of goods.
#[tool_args]
pub struct Order {
    /// The customer.
    pub customer: Customer,
    /// The ordered goods.
    #[schemars(length(min = 1, max = 100))]
    pub lines: Vec<Line>,
    /// The shipping method.
    pub shipping: Shipping,
    /// A note to the packers.
    pub note: Option<String>,
    /// A voucher.
    pub voucher: Option<String>,
}

/// The customer.
#[tool_args]
pub struct Customer {
    /// The name.
    #[schemars(length(min = 1, max = 80))]
    pub name: String,
    /// The mail address.
    pub email: String,
    /// The age in years.
    #[schemars(range(min = 18, max = 130))]
    pub age: Option<u8>,
}

/// One line of an order.
#[tool_args]
pub struct Line {
    /// The article.
    pub article: String,
    /// The quantity.
    #[schemars(range(min = 1, max = 999))]
    pub count: u32,
    /// The unit price, in cents.
    #[schemars(range(min = 0))]
    pub cents: i64,
    /// Wraps the article as a gift.
    pub gift: Option<bool>,
}

/// A shipping method.
#[tool_args]
pub enum Shipping {
    /// By mail.
    Mail,
    /// By a courier.
    Courier,
    /// Collected by the customer.
    Collect,
}

impl Order {
    /// The output of the tool.
    #[must_use]
    pub fn total(&self) -> i64 {
        let goods: i64 = self.lines.iter().map(|line| i64::from(line.count) * line.cents).sum();
        let shipping = match self.shipping {
            Shipping::Mail => 490,
            Shipping::Courier => 990,
            Shipping::Collect => 0,
        };
        goods + shipping
    }
}

/// Returns an order in the JSON that a model would write.
#[must_use]
pub fn text() -> String {
    let mut lines = String::new();
    for at in 1..=10 {
        let separator = if at == 1 { "" } else { ", " };
        let gift = if at % 3 == 0 { r#", "gift": true"# } else { "" };
        // Writing into a `String` cannot fail.
        let _ = write!(
            lines,
            r#"{separator}{{"article": "article number {at}", "count": {at}, "cents": {}{gift}}}"#,
            at * 125
        );
    }
    format!(
        r#"{{"customer": {{"name": "Ada Lovelace", "email": "ada@example.org", "age": 36}}, "lines": [{lines}], "shipping": "Courier", "note": "Please ring twice; the bell is old and the house is large."}}"#
    )
}

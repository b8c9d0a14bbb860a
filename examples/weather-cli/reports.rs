//! What takes a while, and what goes wrong.

use futures_util::{Stream, StreamExt, stream};
use tool_runtime::{Progress, prelude::*};

/// Observes a city, hour by hour.
#[tool(read_only)]
fn observe<'c>(
    /// City name.
    city: String,
    /// How many hours.
    #[schemars(range(min = 1, max = 24))]
    #[arg(default = 3)]
    hours: u8,
    cx: &'c ToolContext,
) -> impl Stream<Item = String> + use<'c> {
    stream::iter(1..=hours).then(move |hour| {
        let line = format!("{city}, hour {hour}: {} °C\n", 14 + hour % 5);
        async move {
            let progress = Progress::new(f64::from(hour)).of(f64::from(hours));
            // Who watches may be behind, and sees the next note then: no reason to stop.
            let _ = cx.progress(progress.message(format!("hour {hour}")));
            line
        }
    })
}

/// Waits for the rain, which may take longer than anybody waits.
#[tool(read_only, timeout = "20s")]
async fn wait_for_rain(
    /// City name.
    city: String,
    cx: &ToolContext,
) -> String {
    let _ = cx.progress(Progress::new(0.0).message(format!("looking at the sky of {city}")));
    std::future::pending().await
}

/// Sends a report to the office.
#[tool(open_world, destructive = false)]
async fn send_report(
    /// What happened.
    #[schemars(length(min = 3, max = 200))]
    text: String,
    /// Numbers of the forms that it belongs to.
    #[serde(default)]
    forms: Vec<u32>,
    /// The password of the office.
    #[arg(secret)]
    password: Option<String>,
) -> Result<String, String> {
    match password {
        Some(_) => Ok(format!("{} characters and {} forms were sent", text.chars().count(), forms.len())),
        None => Err("the office wants a password".to_owned()),
    }
}

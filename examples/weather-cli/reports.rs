//! Tools that stream text, return images, or take a secret.

use futures_util::{Stream, StreamExt, stream};
use tool_runtime::{Content, context::Progress, prelude::*};

/// Observes a city, hour by hour, until the station closes after 20 hours.
#[tool(read_only)]
fn observe<'c>(
    /// City name.
    city: String,
    /// Number of hours.
    #[schemars(range(min = 1, max = 24))]
    #[arg(default = 3)]
    hours: u8,
    cx: &'c ToolContext,
) -> impl Stream<Item = Result<String, String>> + use<'c> {
    stream::iter(1..=hours).then(move |hour| {
        let line = match hour {
            21.. => Err("the station is closed".to_owned()),
            _ => Ok(format!("{city}, hour {hour}: {} °C\n", 14 + hour % 5)),
        };
        async move {
            let progress = Progress::new(f64::from(hour)).of(f64::from(hours));
            // Progress that cannot be delivered does not fail the call.
            let _ = cx.progress(progress.message(format!("hour {hour}")));
            line
        }
    })
}

/// A temperature at an hour.
#[tool_args(serialize)]
struct Measurement {
    hour: u8,
    celsius: u8,
}

/// Measures the temperature, hour by hour.
#[tool(read_only)]
fn measure(
    /// Number of hours.
    #[schemars(range(min = 1, max = 24))]
    #[arg(default = 3)]
    hours: u8,
) -> impl Stream<Item = Measurement> {
    stream::iter((1..=hours).map(|hour| Measurement { hour, celsius: 14 + hour % 5 }))
}

/// Waits for the rain, for at most 20 seconds.
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
    /// Text of the report.
    #[schemars(length(min = 3, max = 200))]
    text: String,
    /// Numbers of the forms that the report belongs to.
    #[serde(default)]
    forms: Vec<u32>,
    /// The password of the office.
    #[arg(secret)]
    #[serde(alias = "passphrase")]
    password: String,
) -> Result<String, String> {
    if password.is_empty() {
        return Err("the password of the office is empty".to_owned());
    }
    Ok(format!("{} characters and {} forms were sent", text.chars().count(), forms.len()))
}

/// Draws the rain radar of a city.
#[tool(read_only)]
fn radar(
    /// City name.
    city: String,
    /// Number of images, an hour apart.
    #[schemars(range(min = 1, max = 3))]
    #[arg(default = 1)]
    frames: u8,
) -> ToolOutput {
    let images = (0..frames).map(|hour| Content::image(bitmap(hour), "image/bmp"));
    ToolOutput::new([Content::text(format!("Rain over {city}:"))].into_iter().chain(images))
}

/// Creates a bitmap file of 16 by 16 pixels with 24 bits each.
fn bitmap(hour: u8) -> Vec<u8> {
    const SIDE: u32 = 16;
    const HEADER: u32 = 54;
    let size = HEADER + SIDE * SIDE * 3;
    let mut file = b"BM".to_vec();
    for field in [size, 0, HEADER, 40, SIDE, SIDE, 1 | 24 << 16, 0, 0, 0, 0, 0, 0] {
        file.extend(field.to_le_bytes());
    }
    for pixel in 0..SIDE * SIDE {
        let rain = (pixel % SIDE + u32::from(hour)) * 8 % 256;
        file.extend([rain as u8, 0x40, 0x20]);
    }
    file
}

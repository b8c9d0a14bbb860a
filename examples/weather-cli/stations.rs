//! Tools with a dependency that the program opens only for commands that run calls.

use std::{env, io};

use tool_runtime::prelude::*;

/// The stations; a larger program would use a database.
pub(crate) struct Stations(Vec<Station>);

struct Station {
    city: &'static str,
    celsius: f64,
    rain: f64,
}

impl Stations {
    pub(crate) fn open() -> io::Result<Self> {
        if env::var_os("WEATHER_OFFLINE").is_some() {
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "the stations are offline"));
        }
        let station = |(city, celsius, rain)| Station { city, celsius, rain };
        let all = [("Cairo", 31.0, 0.0), ("Oslo", 9.5, 0.6), ("Paris", 21.0, 0.2), ("Reykjavik", 4.0, 0.7)];
        Ok(Self(all.map(station).into()))
    }

    fn of(&self, city: &str) -> Result<&Station, String> {
        let found = self.0.iter().find(|station| station.city.eq_ignore_ascii_case(city));
        found.ok_or_else(|| format!("there is no station in {city}"))
    }
}

/// Units of temperature.
#[tool_args(serialize)]
#[derive(Clone, Copy, Default)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    /// Degrees Celsius.
    #[default]
    Celsius,
    /// Degrees Fahrenheit.
    Fahrenheit,
}

impl Unit {
    pub(crate) fn of(self, celsius: f64) -> f64 {
        match self {
            Self::Celsius => celsius,
            Self::Fahrenheit => celsius * 1.8 + 32.0,
        }
    }
}

/// The weather of one day.
#[tool_args(serialize)]
struct Day {
    /// Days from today.
    day: u8,
    /// The highest temperature.
    high: f64,
    /// Probability of rain, from 0 to 1.
    rain: f64,
}

/// Forecasts the weather of a city, day by day.
///
/// Only cities with a station have a forecast.
#[tool(read_only, tags("weather"))]
async fn forecast(
    stations: &Stations,
    /// City name, e.g. "Paris".
    city: String,
    /// Days ahead.
    #[schemars(range(min = 1, max = 14))]
    #[arg(default = 3)]
    days: u8,
    /// Unit of the temperatures.
    #[arg(default = Unit::Celsius)]
    unit: Unit,
) -> Result<Vec<Day>, String> {
    let station = stations.of(&city)?;
    let day = |day| Day { day, high: unit.of(station.celsius + f64::from(day) * 0.5), rain: station.rain };
    Ok((1..=days).map(day).collect())
}

/// Returns the current temperature.
#[tool(read_only)]
fn temperature(
    stations: &Stations,
    /// City name.
    city: &str,
    /// Rounds to an integer.
    #[serde(default)]
    rounded: bool,
) -> Result<f64, String> {
    let celsius = stations.of(city)?.celsius;
    Ok(if rounded { celsius.round() } else { celsius })
}

/// Lists the cities that have a station.
#[tool(read_only)]
fn cities(stations: &Stations) -> Vec<&'static str> {
    stations.0.iter().map(|station| station.city).collect()
}

/// Removes a station permanently.
#[tool(destructive, confirm)]
fn remove_station(
    stations: &Stations,
    /// City name.
    city: String,
) -> Result<String, String> {
    stations.of(&city).map(|station| format!("the station in {} is gone", station.city))
}

//! Dependency injection: a function takes a provided value by reference, a struct reads it from the context.

use std::path::Path;

use tool_runtime::prelude::*;

/// A weather station and its climate, in rounded figures.
#[tool_args(serialize)]
#[derive(Clone)]
pub(crate) struct Station {
    id: String,
    name: String,
    country: String,
    latitude: f64,
    longitude: f64,
    /// Elevation above sea level, in metres.
    elevation_m: f64,
    /// Mean temperature in January, in degrees Celsius.
    january_c: f64,
    /// Mean temperature in July, in degrees Celsius.
    july_c: f64,
    /// Annual rainfall, in millimetres.
    rain_mm: f64,
}

/// The stations of a CSV file.
pub(crate) struct Stations(Vec<Station>);

impl Stations {
    pub(crate) fn open(path: &Path) -> csv::Result<Self> {
        csv::Reader::from_path(path)?.deserialize().collect::<Result<_, _>>().map(Self)
    }

    fn named(&self, name: &str) -> anyhow::Result<&Station> {
        let station = self.0.iter().find(|station| station.name == name || station.id == name);
        station.ok_or_else(|| anyhow::anyhow!("no station is named {name:?}; `find_stations` lists them"))
    }
}

/// A month with long-term means.
#[tool_args]
#[derive(Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Month {
    January,
    July,
}

/// Filters and sorts the list of stations.
#[tool_args]
pub(crate) struct Search {
    /// Country, in English, e.g. "Spain"; default: all countries.
    country: Option<String>,
    /// The month whose mean temperature determines the order.
    month: Month,
    /// The maximum number of stations.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 50))]
    limit: usize,
}

fn five() -> usize {
    5
}

/// Lists weather stations, the warmest first.
#[tool(read_only, search_or_read)]
fn find_stations(stations: &Stations, Search { country, month, limit }: Search) -> Vec<Station> {
    let in_country = |station: &&Station| country.as_ref().is_none_or(|name| station.country == *name);
    let mut found: Vec<_> = stations.0.iter().filter(in_country).cloned().collect();
    let temperature = |station: &Station| match month {
        Month::January => station.january_c,
        Month::July => station.july_c,
    };
    found.sort_by(|one, other| temperature(other).total_cmp(&temperature(one)));
    found.truncate(limit);
    found
}

/// Compares two weather stations: their distance, and the differences between their climates.
#[tool(read_only, needs(Stations))]
pub(crate) struct CompareStations {
    /// Name or id of the first station, e.g. "Zürich" or "LSZH".
    here: String,
    /// Name or id of the second station.
    there: String,
}

/// Differences of the second station from the first.
#[tool_args(serialize)]
pub(crate) struct Comparison {
    distance_km: f64,
    higher_by_m: f64,
    warmer_in_january_by_c: f64,
    warmer_in_july_by_c: f64,
    wetter_by_mm: f64,
}

impl Run for CompareStations {
    type Output = anyhow::Result<Comparison>;

    async fn run(self, cx: &ToolContext) -> Self::Output {
        let stations: &Stations = cx.require()?;
        let (here, there) = (stations.named(&self.here)?, stations.named(&self.there)?);
        Ok(Comparison {
            distance_km: distance_km(here, there).round(),
            higher_by_m: there.elevation_m - here.elevation_m,
            warmer_in_january_by_c: rounded(there.january_c - here.january_c),
            warmer_in_july_by_c: rounded(there.july_c - here.july_c),
            wetter_by_mm: there.rain_mm - here.rain_mm,
        })
    }
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Returns the great-circle distance by the haversine formula, in kilometres.
fn distance_km(here: &Station, there: &Station) -> f64 {
    const EARTH_RADIUS_KM: f64 = 6371.0;
    let half_chord = |from: f64, to: f64| ((to - from).to_radians() / 2.0).sin().powi(2);
    let parallels = here.latitude.to_radians().cos() * there.latitude.to_radians().cos();
    let square =
        half_chord(here.latitude, there.latitude) + parallels * half_chord(here.longitude, there.longitude);
    2.0 * EARTH_RADIUS_KM * square.sqrt().asin()
}

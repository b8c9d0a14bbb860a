//! Nested arguments, and arguments with the names of options of the program.

use std::collections::BTreeMap;

use tool_runtime::prelude::*;

use crate::stations::Unit;

/// Means of transport.
#[tool_args]
#[serde(rename_all = "snake_case")]
enum Means {
    Train,
    Bicycle,
    Sailboat,
}

/// A stop of the trip.
#[tool_args]
struct Stop {
    /// City name.
    city: String,
    /// Number of nights.
    #[schemars(range(max = 30))]
    #[serde(default)]
    nights: u8,
}

/// A traveller.
#[tool_args]
struct Traveller {
    /// Name.
    name: String,
    /// Contact data.
    contact: Option<Contact>,
}

#[tool_args]
struct Contact {
    /// E-mail address.
    #[schemars(email)]
    mail: Option<String>,
    /// Telephone number, digits only.
    #[schemars(regex(pattern = "^[0-9]+$"))]
    phone: Option<String>,
}

#[tool_args]
struct Trip {
    /// Start of the trip.
    from: Stop,
    /// Stops in their order; as JSON, such as {"city": "Oslo", "nights": 2}.
    #[schemars(length(min = 1))]
    stops: Vec<Stop>,
    /// Means of transport.
    means: Means,
    /// The traveller.
    traveller: Option<Traveller>,
    /// Lowest temperature of the trip, in degrees Celsius.
    least_celsius: Option<f32>,
    /// Labels of the trip.
    #[serde(default)]
    tags: Vec<String>,
    /// Includes rainy days.
    #[serde(default)]
    rain_or_shine: bool,
}

/// Plans a trip by the weather.
///
/// Avoids rainy days unless they are included. Books nothing.
#[tool(read_only)]
async fn plan_trip(#[args] trip: Trip) -> String {
    let Trip { from, stops, means, traveller, least_celsius, tags, rain_or_shine } = trip;
    let by = match means {
        Means::Train => "by train",
        Means::Bicycle => "by bicycle",
        Means::Sailboat => "under sail",
    };
    let mut plan = traveller.map_or_else(
        || "you".to_owned(),
        |who| match who.contact {
            Some(Contact { mail: Some(mail), .. }) => format!("{} <{mail}>", who.name),
            Some(Contact { phone: Some(phone), .. }) => format!("{} ({phone})", who.name),
            _ => who.name,
        },
    );
    plan += &format!(": {} {by}", from.city);
    for Stop { city, nights } in stops {
        plan += &format!(", {city} ({nights} nights)");
    }
    if let Some(least) = least_celsius {
        plan += &format!(", from {least} °C");
    }
    plan += if rain_or_shine { ", rain or shine" } else { ", if it is dry" };
    tags.iter().fold(plan, |plan, tag| format!("{plan} #{tag}"))
}

/// Shows settings.
///
/// Its arguments have the names of options of the command line.
#[tool(idempotent, destructive = false)]
fn settings(
    /// JSON format of a report.
    json: Option<String>,
    /// Shows help beside a report.
    #[serde(default)]
    help: bool,
    /// Title of a report in each language.
    #[serde(default)]
    titles: BTreeMap<String, String>,
) -> String {
    format!("json = {json:?}, help = {help}, titles = {titles:?}")
}

/// Converts a temperature.
#[tool(read_only)]
struct Convert {
    /// Degrees Celsius.
    #[schemars(range(min = -273.15))]
    celsius: f64,
    /// Target unit.
    to: Unit,
}

impl Run for Convert {
    type Output = f64;

    async fn run(self, _: &ToolContext) -> f64 {
        self.to.of(self.celsius)
    }
}

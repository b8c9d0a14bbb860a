//! Arguments with more shape than a list of parameters.

use std::collections::BTreeMap;

use tool_runtime::prelude::*;

use crate::stations::Unit;

/// How to travel.
#[tool_args]
#[serde(rename_all = "snake_case")]
enum Means {
    Train,
    Bicycle,
    Sailboat,
}

/// A place on the way.
#[tool_args]
struct Stop {
    /// City name.
    city: String,
    /// Nights to stay.
    #[schemars(range(max = 30))]
    #[serde(default)]
    nights: u8,
}

/// Who travels.
#[tool_args]
struct Traveller {
    /// Their name.
    name: String,
    /// Where they can be reached.
    contact: Option<Contact>,
}

#[tool_args]
struct Contact {
    /// Address for mail.
    #[schemars(email)]
    mail: Option<String>,
    /// Telephone number, digits only.
    #[schemars(regex(pattern = "^[0-9]+$"))]
    phone: Option<String>,
}

#[tool_args]
struct Trip {
    /// Where to start.
    from: Stop,
    /// Where to go, in this order; as JSON, such as {"city": "Oslo", "nights": 2}.
    #[schemars(length(min = 1))]
    stops: Vec<Stop>,
    /// How to travel.
    means: Means,
    /// Who travels.
    traveller: Option<Traveller>,
    /// The least temperature, to stay at home below it.
    least_celsius: Option<f32>,
    /// Words to find the trip by.
    #[serde(default)]
    tags: Vec<String>,
    /// Whether rain is no matter.
    #[serde(default)]
    rain_or_shine: bool,
}

/// Plans a trip by the weather.
///
/// Rain is avoided where that is possible, unless it does not matter. Nothing is booked.
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

/// Keeps settings.
///
/// Its arguments are called like options of the command line, and are not mixed up with them.
#[tool(idempotent, destructive = false)]
fn settings(
    /// How compact the JSON of a report is.
    json: Option<String>,
    /// Whether help is shown beside a report.
    #[serde(default)]
    help: bool,
    /// What a report is called in each language.
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
    /// Into which unit.
    to: Unit,
}

impl Run for Convert {
    type Output = f64;

    async fn run(self, _: &ToolContext) -> f64 {
        self.to.of(self.celsius)
    }
}

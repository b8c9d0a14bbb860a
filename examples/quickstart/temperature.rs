//! A function as a tool: each parameter is a property, and its doc comment is the property's description.

use std::fmt;

use tool_runtime::prelude::*;

/// A temperature scale.
#[tool_args(serialize)]
#[derive(Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scale {
    Celsius,
    Fahrenheit,
    Kelvin,
}

/// A temperature and its scale.
#[tool_args(serialize)]
pub(crate) struct Temperature {
    value: f64,
    scale: Scale,
}

/// Converts a temperature from one scale to another.
#[tool(read_only, idempotent)]
fn convert_temperature(
    /// The temperature to convert.
    value: f64,
    /// The scale of `value`.
    from: Scale,
    /// The scale of the result.
    #[arg(default = Scale::Celsius)]
    to: Scale,
    /// Digits after the decimal point.
    #[schemars(range(max = 6))]
    #[arg(default = 1)]
    decimals: u8,
) -> Result<Temperature, TooCold> {
    let kelvin = match from {
        Scale::Celsius => value + 273.15,
        Scale::Fahrenheit => (value + 459.67) / 1.8,
        Scale::Kelvin => value,
    };
    if kelvin < 0.0 {
        return Err(TooCold);
    }
    let converted = match to {
        Scale::Celsius => kelvin - 273.15,
        Scale::Fahrenheit => kelvin * 1.8 - 459.67,
        Scale::Kelvin => kelvin,
    };
    let unit = 10_f64.powi(decimals.into());
    Ok(Temperature { value: (converted * unit).round() / unit, scale: to })
}

/// An error of a tool only has to implement [`fmt::Display`].
#[derive(Debug)]
struct TooCold;

impl fmt::Display for TooCold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no temperature below absolute zero (0 K)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_still_a_function() {
        let freezing = convert_temperature(32.0, Scale::Fahrenheit, Scale::Celsius, 1);
        assert!(freezing.is_ok_and(|it| it.value == 0.0));
        assert!(convert_temperature(-1.0, Scale::Kelvin, Scale::Celsius, 1).is_err());
    }
}

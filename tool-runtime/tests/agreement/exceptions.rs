//! Types whose code refuses values that no schema can exclude.
//!
//! The decoder refuses every value that the plan refuses. If only the type refuses a value, the report
//! contains a single violation: the place, and the message of the type.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use tool_runtime::{ToolDefinition, schema::InputSchema, tool_args};

use super::{In, admitted, definition};

/// Defines a test for each type: a value that only the type refuses, and its report.
macro_rules! except {
    ($($name:ident: $of:ty, $text:literal => $said:literal;)*) => { $(
        #[test]
        fn $name() {
            let definition = definition(InputSchema::of::<In<$of>>().unwrap());
            let refused = |text: &str| refused_by_the_type::<In<$of>>(text, &definition);
            assert_eq!(refused(concat!("{\"value\":", $text, "}")).unwrap(), $said);
            let share = admitted(stringify!($name), &definition, |text| {
                refused(text).is_some() || definition.decode::<In<$of>>(&mut text.into()).is_ok()
            });
            assert!(share.is_fair(), "{share:?}");
        }
    )* };
}

/// Returns the report on a value that only the type refuses; on all other values, plan and type agree.
fn refused_by_the_type<T: DeserializeOwned + Debug>(
    text: &str,
    definition: &ToolDefinition,
) -> Option<String> {
    let fitting = definition.fit(text.into());
    match (definition.decode::<T>(&mut text.into()), fitting) {
        (Ok(_), Ok(_)) => None,
        (Err(error), Err(reported)) => {
            assert_eq!(error.violations(), reported.violations(), "{text}");
            None
        }
        (Ok(value), Err(error)) => panic!("decoded, not admitted: {text}\n{value:?}\n{}", error.feedback()),
        (Err(error), Ok(fitting)) => {
            let [violation] = error.violations() else { panic!("{text}\n{}", error.feedback()) };
            assert!(violation.pointer.starts_with("/value"), "{text}\n{violation}");
            assert!(fitting.to_value().unwrap().pointer(&violation.pointer).is_some(), "{text}\n{violation}");
            assert!(violation.expected.starts_with("something that can be read ("), "{violation}");
            Some(violation.to_string())
        }
    }
}

/// `try_from`: no schema requires an even number.
#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(try_from = "u8")]
struct Even(u8);

impl TryFrom<u8> for Even {
    type Error = String;

    fn try_from(value: u8) -> Result<Self, String> {
        if value.is_multiple_of(2) { Ok(Self(value)) } else { Err(format!("{value} is odd")) }
    }
}

#[tool_args]
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Documented {
    /// The first.
    One,
    /// The second.
    Two,
}

fn short<'de, D: Deserializer<'de>>(source: D) -> Result<String, D::Error> {
    let text = String::deserialize(source)?;
    if text.len() < 3 { Ok(text) } else { Err(D::Error::custom("it is too long")) }
}

/// `deserialize_with`: no schema limits the length.
#[tool_args]
#[derive(Debug, PartialEq)]
struct Custom {
    #[serde(deserialize_with = "short")]
    text: String,
    n: Option<u8>,
}

except! {
    a_type_that_is_tried_from_another: Even, "3"
        => r#"/value: expected something that can be read (3 is odd), got 3"#;
    types_that_are_tried_within_a_list: Vec<Even>, "[2, 3.0]"
        => r#"/value/1: expected something that can be read (3 is odd), got 3.0"#;
    a_decoder_of_ones_own: Custom, r#"{"text":"long"}"#
        => r#"/value/text: expected something that can be read (it is too long), got "long""#;
    a_duration_that_overflows: Duration, r#"{"secs":18446744073709551615,"nanos":4294967295}"#
        => r#"/value: expected something that can be read (overflow deserializing Duration), got {"secs":18446744073709551615,"nanos":4294967295}"#;
    an_integer_of_128_bits: i128, "1e39"
        => r#"/value: expected something that can be read (it is beyond the integers of 128 bits), got 1e39"#;
    integers_of_128_bits: Vec<u128>, "[0, 340282366920938463463374607431768211456]"
        => r#"/value/1: expected something that can be read (it is beyond the integers of 128 bits), got 340282366920938463463374607431768211456"#;
    a_float_of_32_bits: f32, "1e39"
        => r#"/value: expected something that can be read (it is beyond the floats of 32 bits), got 1e39"#;
    keys_of_8_bits: BTreeMap<u8, u8>, r#"{"256":1}"#
        => r#"/value/256: expected something that can be read ("256" is no number of this kind), got 1"#;
    signed_keys: BTreeMap<i64, u8>, r#"{"9223372036854775808":1}"#
        => r#"/value/9223372036854775808: expected something that can be read ("9223372036854775808" is no number of this kind), got 1"#;
    keys_that_are_characters: BTreeMap<char, u8>, r#"{"a":1,"bc":2}"#
        => r#"/value/bc: expected something that can be read (invalid value: string "bc", expected a character), got 2"#;
    keys_that_are_booleans: BTreeMap<bool, u8>, r#"{"true":1,"yes":2}"#
        => r#"/value/yes: expected something that can be read ("yes" is no boolean), got 2"#;
    keys_that_are_documented_names: BTreeMap<Documented, u8>, r#"{"One":1,"Three":2}"#
        => r#"/value/Three: expected something that can be read (unknown variant `Three`, expected `One` or `Two`), got 2"#;
    an_address: IpAddr, r#""localhost""#
        => r#"/value: expected something that can be read (invalid IP address syntax), got "localhost""#;
    an_address_of_version_4: Ipv4Addr, r#""1.2.3""#
        => r#"/value: expected something that can be read (invalid IPv4 address syntax), got "1.2.3""#;
    addresses_of_version_6: Vec<Ipv6Addr>, r#"["1.2.3.4"]"#
        => r#"/value/0: expected something that can be read (invalid IPv6 address syntax), got "1.2.3.4""#;
    an_address_with_a_port: SocketAddr, r#""1.2.3.4""#
        => r#"/value: expected something that can be read (invalid socket address syntax), got "1.2.3.4""#;
    a_date_of_chrono: chrono::NaiveDate, r#""2023-02-29""#
        => r#"/value: expected something that can be read (input is out of range), got "2023-02-29""#;
    a_time_of_chrono: BTreeMap<String, chrono::NaiveTime>, r#"{"a/b":"24:00:01"}"#
        => r#"/value/a~1b: expected something that can be read (input is out of range), got "24:00:01""#;
    a_moment_of_chrono: Option<chrono::DateTime<chrono::Utc>>, r#""2024-02-29""#
        => r#"/value: expected something that can be read (premature end of input), got "2024-02-29""#;
    a_date_of_jiff: jiff::civil::Date, r#""2023-02-29""#
        => r#"/value: expected something that can be read (parsed date is not valid: parameter 'day' for `2023-02` is invalid, must be in range `1..=28`), got "2023-02-29""#;
    a_time_of_jiff: Vec<jiff::civil::Time>, r#"["24:00:01"]"#
        => r#"/value/0: expected something that can be read (failed to parse two digit integer as hour: parameter 'hour' is not in the required range of 0..=23), got "24:00:01""#;
    a_moment_of_jiff: jiff::Timestamp, r#""2024-02-29""#
        => r#"/value: expected something that can be read (failed to find time component, which is required for parsing a timestamp), got "2024-02-29""#;
    a_uuid: uuid::Uuid, r#""67e5""#
        => r#"/value: expected something that can be read (UUID parsing failed: invalid length: found 4), got "67e5""#;
    a_url: url::Url, r#""no scheme""#
        => r#"/value: expected something that can be read (relative URL without a base: "no scheme"), got "no scheme""#;
}

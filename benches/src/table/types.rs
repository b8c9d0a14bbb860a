//! The types and the bodies of the measured tools, which each contender declares with its own attributes.

/// Declares the types of fields, the results and the bodies.
///
/// `input` are the attributes of the types that are decoded, `output` those of the types that are serialised. With
/// `ranges`, the constraints of numbers are stated for `schemars`; a package without schemas of constraints gives the
/// attributes of `enums` instead.
#[macro_export]
macro_rules! workload_types {
    (input: { $($input:tt)* } output: { $($output:tt)* } ranges) => {
        $crate::workload_types!(@enums { $($input)* });
        $crate::workload_types!(@fields { $($input)* }
            { #[schemars(range(min = 1, max = 999))] } { #[schemars(range(min = 0.0))] });
        $crate::workload_types!(@results { $($output)* });
    };
    (input: { $($input:tt)* } enums: { $($enums:tt)* } output: { $($output:tt)* }) => {
        $crate::workload_types!(@enums { $($enums)* });
        $crate::workload_types!(@fields { $($input)* } {} {});
        $crate::workload_types!(@results { $($output)* });
    };
    (@enums { $($input:tt)* }) => {
        $($input)*
        #[derive(Clone, Copy, PartialEq)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum Tier { Bronze, Silver, Gold }

        $($input)*
        #[derive(Clone, Copy, PartialEq)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum Method { Standard, Express, Pickup }
    };
    (@fields { $($input:tt)* } { $($quantity:tt)* } { $($price:tt)* }) => {
        $($input)*
        pub(crate) struct Customer {
            /// Customer number
            pub(crate) id: u64,
            /// Full name
            pub(crate) name: String,
            /// E-mail address, if known
            pub(crate) email: Option<String>,
            /// Loyalty tier
            pub(crate) tier: Tier,
        }

        $($input)*
        pub(crate) struct Item {
            /// Stock keeping unit
            pub(crate) sku: String,
            /// Title as shown to the customer
            pub(crate) title: String,
            /// Quantity, 1 to 999
            $($quantity)*
            pub(crate) quantity: u32,
            /// Price of one, in euros
            $($price)*
            pub(crate) unit_price: f64,
            /// Free-form tags
            pub(crate) tags: Vec<String>,
            /// Remark for the packer
            pub(crate) note: Option<String>,
        }

        $($input)*
        pub(crate) struct Address {
            /// Street and number
            pub(crate) street: String,
            /// City
            pub(crate) city: String,
            /// Postal code
            pub(crate) postal_code: String,
            /// Two-letter country code
            pub(crate) country: String,
        }

        $($input)*
        pub(crate) struct Shipping {
            /// Shipping method
            pub(crate) method: Method,
            /// Address of the recipient
            pub(crate) address: Address,
            /// Instructions for the courier
            pub(crate) instructions: Option<String>,
        }
    };
    (@results { $($output:tt)* }) => {
        $($output)*
        pub(crate) struct Weather {
            pub(crate) city: String,
            pub(crate) days: u32,
            pub(crate) high_c: i32,
            pub(crate) summary: String,
        }

        $($output)*
        pub(crate) struct Receipt {
            pub(crate) order_id: String,
            pub(crate) customer: String,
            pub(crate) lines: usize,
            pub(crate) units: u32,
            pub(crate) total_cents: i64,
            pub(crate) method: String,
            pub(crate) eta_days: u32,
        }

        $($output)*
        pub(crate) struct Written {
            pub(crate) path: String,
            pub(crate) bytes: usize,
        }
    };
}

/// Declares the bodies of the measured tools, for the types of [`workload_types!`](crate::workload_types).
#[macro_export]
macro_rules! workload_bodies {
    () => {
        pub(crate) fn forecast_body(city: String, days: u32) -> Weather {
            let high_c = 18 + i32::try_from(days).unwrap_or_default();
            Weather { city, days, high_c, summary: "mild".to_string() }
        }

        #[allow(
            clippy::too_many_arguments,
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "the arguments of the tool; the sums are small"
        )]
        pub(crate) fn create_order_body(
            order_id: String,
            customer: Customer,
            items: Vec<Item>,
            shipping: Shipping,
            priority: u8,
            discount_percent: Option<f64>,
            coupon: Option<String>,
            gift: Option<bool>,
        ) -> Receipt {
            let full: i64 = items
                .iter()
                .map(|item| (item.unit_price * 100.0).round() as i64 * i64::from(item.quantity))
                .sum();
            let off = if coupon.is_some() { discount_percent.unwrap_or(0.0) } else { 0.0 };
            let method = match shipping.method {
                Method::Standard => "standard",
                Method::Express => "express",
                Method::Pickup => "pickup",
            };
            let eta_days = 1
                + u32::from(priority < 3)
                + u32::from(gift == Some(true))
                + u32::from(customer.tier == Tier::Bronze);
            Receipt {
                order_id,
                customer: customer.name,
                lines: items.len(),
                units: items.iter().map(|item| item.quantity).sum(),
                total_cents: (full as f64 * (1.0 - off / 100.0)).round() as i64,
                method: method.to_string(),
                eta_days,
            }
        }

        pub(crate) fn write_file_body(path: String, content: String) -> Written {
            let bytes = ::std::hint::black_box(&content).len();
            Written { path, bytes }
        }
    };
}

/// Declares a struct for the arguments of each tool, for the types of [`workload_types!`](crate::workload_types).
#[macro_export]
macro_rules! workload_arguments {
    (input: { $($input:tt)* }) => {
        $($input)*
        pub(crate) struct ForecastArgs {
            /// City to forecast, e.g. "Paris"
            pub(crate) city: String,
            /// Number of days, 1 to 14
            #[schemars(range(min = 1, max = 14))]
            pub(crate) days: u32,
        }

        $($input)*
        pub(crate) struct WriteArgs {
            /// Path relative to the workspace root
            pub(crate) path: String,
            /// The file's full new content
            pub(crate) content: String,
        }

        $($input)*
        pub(crate) struct OrderArgs {
            /// Order number
            pub(crate) order_id: String,
            /// The customer
            pub(crate) customer: Customer,
            /// The ordered items
            pub(crate) items: Vec<Item>,
            /// The method and the address of the delivery
            pub(crate) shipping: Shipping,
            /// 1 (low) to 5 (high)
            #[schemars(range(min = 1, max = 5))]
            pub(crate) priority: u8,
            /// Discount in percent, 0 to 100
            #[schemars(range(min = 0.0, max = 100.0))]
            pub(crate) discount_percent: Option<f64>,
            /// Coupon code
            pub(crate) coupon: Option<String>,
            /// Is it a gift
            pub(crate) gift: Option<bool>,
        }
    };
}

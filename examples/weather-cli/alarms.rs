//! Methods of a value as tools.

use std::sync::{Mutex, PoisonError};

use tool_runtime::prelude::*;

/// The alarms, in memory.
#[derive(Default)]
pub(crate) struct Alarms(Mutex<Vec<String>>);

#[toolset(name = "alarms")]
impl Alarms {
    /// Sets an alarm for a low temperature.
    #[tool(idempotent, destructive = false)]
    async fn set_alarm(
        &self,
        /// City name.
        city: String,
        /// Limit in degrees Celsius.
        #[schemars(range(min = -60.0, max = 60.0))]
        below: f64,
    ) -> String {
        let alarm = format!("{city} below {below} °C");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(alarm.clone());
        alarm
    }

    /// Lists the alarms.
    #[tool(read_only)]
    fn alarms(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

//! Methods of one value.

use std::sync::{Mutex, PoisonError};

use tool_runtime::prelude::*;

/// The alarms that were set; they ring as long as the program runs.
#[derive(Default)]
pub(crate) struct Alarms(Mutex<Vec<String>>);

#[toolset(name = "alarms")]
impl Alarms {
    /// Sets an alarm for when a temperature is passed.
    #[tool(idempotent, destructive = false)]
    async fn set_alarm(
        &self,
        /// City name.
        city: String,
        /// Degrees Celsius; below zero for frost.
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

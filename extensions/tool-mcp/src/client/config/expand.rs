//! Variables in a configuration.

use std::path::PathBuf;

use super::{ConfigError, ServerConfig, Transport};

impl ServerConfig {
    /// Returns the configuration with `${VAR}`, `${env:VAR}` and `${VAR:-default}` replaced in command, arguments,
    /// environment, working directory, URL and headers; `lookup` returns the value of a variable. The values inserted are
    /// not searched for variables again.
    ///
    /// A configuration that the program makes is used as it is; `McpServers` expands those
    /// of a file.
    ///
    /// # Errors
    ///
    /// If a variable has no value, or `${` is not closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_mcp::client::{Endpoint, ServerConfig, Transport};
    ///
    /// let config = ServerConfig::new("search", Endpoint::new("https://${HOST:-example.com}/mcp"));
    /// let expanded = config.expanded(|_| None)?;
    /// assert!(matches!(&expanded.transport, Transport::Http(it) if it.url == "https://example.com/mcp"));
    /// # Ok::<(), tool_mcp::client::ConfigError>(())
    /// ```
    pub fn expanded(mut self, lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let name = self.name.clone();
        let replace = |text: &mut String| -> Result<(), ConfigError> {
            *text = expand_variables(text, &lookup).map_err(|problem| ConfigError::new(&name, problem))?;
            Ok(())
        };
        match &mut self.transport {
            Transport::Stdio(process) => {
                replace(&mut process.command)?;
                process.args.iter_mut().try_for_each(&replace)?;
                process.env.values_mut().try_for_each(&replace)?;
                if let Some(directory) = &mut process.cwd
                    && let Some(text) = directory.to_str()
                {
                    let mut text = text.to_owned();
                    replace(&mut text)?;
                    *directory = PathBuf::from(text);
                }
            }
            Transport::Http(endpoint) | Transport::Sse(endpoint) => {
                replace(&mut endpoint.url)?;
                endpoint.headers.values_mut().try_for_each(&replace)?;
            }
        }
        Ok(self)
    }
}

fn expand_variables(text: &str, lookup: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        result.push_str(before);
        let Some((variable, after)) = after.split_once('}') else {
            return Err("a `${` is not closed by `}`".to_owned());
        };
        let (name, default) = match variable.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (variable, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        match lookup(name).filter(|value| default.is_none() || !value.is_empty()) {
            Some(value) => result.push_str(&value),
            None => match default {
                Some(default) => result.push_str(default),
                None => {
                    let help = format!("set it, or give a default by `${{{name}:-default}}`");
                    return Err(format!("the environment variable `{name}` is not set; {help}"));
                }
            },
        }
        rest = after;
    }
    result.push_str(rest);
    Ok(result)
}

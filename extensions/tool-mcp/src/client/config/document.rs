//! A configuration as JSON.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use rmcp::model::Implementation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ConfigError, DEFAULT_TIMEOUT, DEFAULT_TOTAL_TIMEOUT, Endpoint, Process, ServerConfig, Transport,
    default_client_info,
};
use crate::client::limits::ServerLimits;

/// The members of a configuration.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct ConfigDocument {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    #[serde(rename = "type", alias = "transport", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<PathBuf>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    inherit_env: bool,
    #[serde(alias = "serverUrl", alias = "httpUrl", skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<i64>,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_timeout: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_info: Option<Implementation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reconnect: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<ServerLimits>,
}

impl ConfigDocument {
    /// The members that a configuration has.
    pub(crate) const KEYS: [&str; 18] = [
        "name",
        "type",
        "transport",
        "command",
        "args",
        "env",
        "cwd",
        "inheritEnv",
        "url",
        "serverUrl",
        "httpUrl",
        "headers",
        "description",
        "timeout",
        "totalTimeout",
        "clientInfo",
        "reconnect",
        "limits",
    ];

    /// Checks the type of a member. The problem does not show the value.
    pub(crate) fn check_member_type(key: &str, value: &Value) -> Result<(), String> {
        let is_right = match key {
            "args" => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            "env" | "headers" => value.as_object().is_some_and(|map| map.values().all(Value::is_string)),
            "inheritEnv" => value.is_boolean(),
            "timeout" | "totalTimeout" => value.is_i64() || value.is_u64(),
            "reconnect" => value.is_u64(),
            "clientInfo" => value.is_object(),
            "limits" => ServerLimits::deserialize(value).is_ok(),
            _ => value.is_string(),
        };
        let expected = match key {
            "args" => "a list of strings",
            "env" | "headers" => "an object of strings",
            "inheritEnv" => "a boolean",
            "timeout" | "totalTimeout" => "a number of milliseconds",
            "reconnect" => "a number from 0 to 10",
            "clientInfo" => "an object with `name` and `version`",
            "limits" => "an object of limits, with sizes in bytes and times in milliseconds",
            _ => "a string",
        };
        if is_right { Ok(()) } else { Err(format!("`{key}` must be {expected}")) }
    }

    fn take_transport(&mut self) -> Result<Transport, String> {
        let kind = self.kind.as_deref().map(str::trim).filter(|kind| !kind.is_empty());
        let kind = match (kind, &self.command, &self.url) {
            (Some("stdio"), ..) | (None, Some(_), None) => "stdio",
            (Some("sse"), ..) => "sse",
            (Some("http" | "streamable" | "streamable_http" | "streamable-http" | "streamableHttp"), ..)
            | (None, None, Some(_)) => "http",
            (Some(other), ..) => {
                return Err(format!(
                    "the transport `{other}` is unknown; it is `stdio`, `http` (or `streamable`, `streamable_http`) or `sse`"
                ));
            }
            (None, Some(_), Some(_)) => {
                return Err("`command` and `url` exclude each other; remove one or set `type`".to_owned());
            }
            (None, None, None) => return Err("`command` or `url` is missing".to_owned()),
        };
        match kind {
            "stdio" => self.take_process().map(Transport::Stdio),
            "sse" => self.take_endpoint().map(Transport::Sse),
            _ => self.take_endpoint().map(Transport::Http),
        }
    }

    fn take_process(&mut self) -> Result<Process, String> {
        if self.url.is_some() || !self.headers.is_empty() {
            return Err("a `stdio` server has neither `url` nor `headers`".to_owned());
        }
        Ok(Process {
            command: self.command.take().ok_or("`command` is missing")?,
            args: std::mem::take(&mut self.args),
            env: std::mem::take(&mut self.env),
            cwd: self.cwd.take(),
            inherit_env: self.inherit_env,
        })
    }

    fn take_endpoint(&mut self) -> Result<Endpoint, String> {
        let is_process = self.command.is_some() || !self.args.is_empty() || !self.env.is_empty();
        if is_process || self.cwd.is_some() || self.inherit_env {
            return Err(
                "a server behind a URL has no `command`, `args`, `env`, `cwd` and `inheritEnv`".to_owned()
            );
        }
        let url = self.url.take().ok_or("`url` is missing")?;
        Ok(Endpoint { url, headers: std::mem::take(&mut self.headers) })
    }
}

impl TryFrom<ConfigDocument> for ServerConfig {
    type Error = ConfigError;

    fn try_from(document: ConfigDocument) -> Result<Self, ConfigError> {
        let config = Self::from_unvalidated_document(document)?;
        config.validate()?;
        Ok(config)
    }
}

impl ServerConfig {
    /// Makes a configuration whose values may have variables.
    pub(crate) fn from_unvalidated_document(mut document: ConfigDocument) -> Result<Self, ConfigError> {
        let name = std::mem::take(&mut document.name).trim().to_owned();
        let transport = document.take_transport().map_err(|problem| ConfigError::new(&name, problem))?;
        let time = |member: &str, millis: Option<i64>, default| match millis.map(u64::try_from) {
            None => Ok(default),
            Some(Ok(millis)) => Ok(Duration::from_millis(millis)),
            Some(Err(_)) => Err(ConfigError::new(&name, format!("`{member}` is negative"))),
        };
        let timeout = time("timeout", document.timeout, DEFAULT_TIMEOUT)?;
        let total_timeout = time("totalTimeout", document.total_timeout, DEFAULT_TOTAL_TIMEOUT)?;
        Ok(Self {
            name,
            transport,
            description: document.description,
            timeout,
            total_timeout,
            client_info: document.client_info.unwrap_or_else(default_client_info),
            reconnect: document.reconnect.unwrap_or(0).min(Self::MAX_RECONNECT),
            limits: document.limits.unwrap_or_default(),
        })
    }
}

impl From<ServerConfig> for ConfigDocument {
    fn from(config: ServerConfig) -> Self {
        let kind = Some(config.transport.name().to_owned());
        let millis = |time: Duration, default: Duration| {
            (time != default).then(|| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
        };
        let document = Self {
            name: config.name,
            kind,
            description: config.description,
            timeout: millis(config.timeout, DEFAULT_TIMEOUT),
            total_timeout: millis(config.total_timeout, DEFAULT_TOTAL_TIMEOUT),
            client_info: (config.client_info != default_client_info()).then_some(config.client_info),
            reconnect: (config.reconnect > 0).then_some(config.reconnect),
            limits: (config.limits != ServerLimits::default()).then_some(config.limits),
            ..Self::default()
        };
        match config.transport {
            Transport::Stdio(Process { command, args, env, cwd, inherit_env }) => {
                Self { command: Some(command), args, env, cwd, inherit_env, ..document }
            }
            Transport::Http(Endpoint { url, headers }) | Transport::Sse(Endpoint { url, headers }) => {
                Self { url: Some(url), headers, ..document }
            }
        }
    }
}

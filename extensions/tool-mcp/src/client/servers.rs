//! The servers of an `mcpServers` file, as desktop clients and editors write it.

use std::{fmt, io, path::Path};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Value};
use tool_runtime::{
    diagnostic::{Diagnostic, Severity},
    policy::Escape,
};

use super::{
    McpToolSet, McpToolSetBuilder,
    config::{ConfigDocument, ConfigError, ServerConfig},
    notices::MAX_NAME_CHARS,
};

/// The servers of an `mcpServers` file.
///
/// The file is a JSON object with the member `mcpServers`, or `servers`: an object with one member for each server. A server
/// has `command`, `args`, `env`, `cwd` and `inheritEnv`, or `url` and `headers`; and `type` (`stdio`, `http`, `sse`),
/// `description`, `timeout` and `totalTimeout` in milliseconds, `clientInfo`, `reconnect` and `disabled`. `${VAR}` is replaced by the value of
/// an environment variable when the server is used. Other members are [diagnostics](Self::diagnostics); they never prevent
/// the use of a server.
///
/// # Examples
///
/// ```
/// use tool_mcp::client::McpServers;
///
/// let servers = McpServers::parse(r#"{ "mcpServers": {
///     "files": { "command": "npx", "args": ["-y", "some-server", "/data"], "autoApprove": [] },
///     "search": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${TOKEN}" } },
///     "old": { "command": "old-server", "disabled": true }
/// } }"#)?;
/// assert_eq!(servers.names().collect::<Vec<_>>(), ["files", "search"]);
/// assert_eq!(
///     servers.diagnostics()[0].to_string(),
///     "warning: the member `autoApprove` of the server `files` is unknown, and has no effect",
/// );
/// assert!(servers.toolset("files").is_ok());
/// # Ok::<(), tool_mcp::client::ServersError>(())
/// ```
#[derive(Debug, Clone)]
pub struct McpServers {
    servers: Vec<ServerEntry>,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Clone)]
struct ServerEntry {
    name: String,
    disabled: bool,
    config: Result<ServerConfig, ConfigError>,
}

impl McpServers {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not valid JSON, or has no servers.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ServersError> {
        let path = path.as_ref();
        let of_file = |cause| ServersError { file: path.display().to_string(), cause };
        let text = std::fs::read_to_string(path).map_err(|error| of_file(ServersErrorCause::Io(error)))?;
        Self::parse(&text).map_err(|error| of_file(error.cause))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// If the text is not valid JSON, or has no servers.
    pub fn parse(text: &str) -> Result<Self, ServersError> {
        let invalid = |cause| ServersError { file: String::new(), cause };
        // The message has no part of the text, which may be secret.
        let file: File = serde_json::from_str(text).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            let problem = error.to_string();
            invalid(ServersErrorCause::Json(match error.is_data() {
                true if problem.starts_with(SERVER) => problem,
                true => format!("no object of servers at {place}"),
                false => format!("not valid JSON at {place}"),
            }))
        })?;
        let Some(Named(entries)) = file.mcp_servers.or(file.servers) else {
            return Err(invalid(ServersErrorCause::None));
        };
        let mut diagnostics = Vec::new();
        let servers =
            entries.into_iter().map(|(name, entry)| ServerEntry::read_entry(name, entry, &mut diagnostics));
        Ok(Self { servers: servers.collect(), diagnostics })
    }

    /// Returns the names of the servers that are not disabled, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().filter(|server| !server.disabled).map(|server| server.name.as_str())
    }

    /// Returns `true` if the file has a server of this name that is disabled.
    #[must_use]
    pub fn is_disabled(&self, name: &str) -> bool {
        self.servers.iter().any(|server| server.name == name && server.disabled)
    }

    /// Returns the diagnostics: unknown members, and servers that cannot be used.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the configuration of a server, also of a disabled one, with the values of the environment variables that it
    /// names.
    ///
    /// # Errors
    ///
    /// If there is no such server, its entry is invalid, or a variable is not set.
    pub fn config(&self, name: &str) -> Result<ServerConfig, ConfigError> {
        let Some(server) = self.servers.iter().find(|server| server.name == name) else {
            let names: Vec<_> = self.names().map(|name| format!("`{name}`")).collect();
            return Err(ConfigError::new(
                name,
                format!("it is not in the file, which has {}", names.join(", ")),
            ));
        };
        let config = server.config.clone()?.expanded(|variable| std::env::var(variable).ok())?;
        config.validate()?;
        Ok(config)
    }

    /// Returns the toolset of a server, which connects when it is used.
    ///
    /// # Errors
    ///
    /// As [`config`](Self::config).
    pub fn toolset(&self, name: &str) -> Result<McpToolSet, ConfigError> {
        Ok(McpToolSet::lazy(self.config(name)?))
    }

    /// Returns a builder of the toolset of a server.
    ///
    /// # Errors
    ///
    /// As [`config`](Self::config).
    pub fn builder(&self, name: &str) -> Result<McpToolSetBuilder, ConfigError> {
        Ok(McpToolSet::builder(self.config(name)?))
    }

    /// Returns one toolset for each server that is not disabled, in the order of the file; an error for each that cannot be
    /// used.
    #[must_use]
    pub fn toolsets(&self) -> Vec<Result<McpToolSet, ConfigError>> {
        self.names().map(|name| self.toolset(name)).collect()
    }
}

impl ServerEntry {
    fn read_entry(name: String, entry: Value, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let shown = Escape::LINE.at_most(MAX_NAME_CHARS).text(&name);
        let Value::Object(mut entry) = entry else {
            let error = ConfigError::new(&shown, "it is not an object");
            diagnostics.push(Diagnostic::new(Severity::Error, "invalid_server", error.to_string()));
            return Self { name, disabled: false, config: Err(error) };
        };
        let disabled = entry.remove("disabled").is_some_and(|value| value == true);
        let enabled = entry.remove("enabled").is_none_or(|value| value != false);
        let unknown: Vec<_> =
            entry.keys().filter(|key| !ConfigDocument::KEYS.contains(&key.as_str())).cloned().collect();
        for key in unknown {
            entry.shift_remove(&key);
            let key = Escape::LINE.at_most(MAX_NAME_CHARS).text(&key);
            let message = format!("the member `{key}` of the server `{shown}` is unknown, and has no effect");
            diagnostics.push(Diagnostic::new(Severity::Warning, "unknown_member", message));
        }
        let config = Self::read_entry_config(&name, &shown, entry);
        if let Err(error) = &config {
            diagnostics.push(Diagnostic::new(Severity::Error, "invalid_server", error.to_string()));
        }
        Self { name, disabled: disabled || !enabled, config }
    }

    fn read_entry_config(
        name: &str,
        shown: &str,
        mut entry: Map<String, Value>,
    ) -> Result<ServerConfig, ConfigError> {
        entry.insert("name".to_owned(), name.into());
        // The messages of `serde` may show values.
        for (key, value) in &entry {
            ConfigDocument::check_member_type(key, value)
                .map_err(|problem| ConfigError::new(shown, problem))?;
        }
        let document: ConfigDocument = serde_json::from_value(Value::Object(entry))
            .map_err(|_| ConfigError::new(shown, "a member is of the wrong type, or there by two names"))?;
        ServerConfig::from_unvalidated_document(document)
    }
}

/// The text of a file.
/// The beginning of the only message that has a part of the text.
const SERVER: &str = "the server ";

#[derive(Deserialize)]
struct File {
    #[serde(rename = "mcpServers")]
    mcp_servers: Option<Named>,
    servers: Option<Named>,
}

/// Values by their names, in order. Duplicates are rejected: the last would silently win.
struct Named(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnceEach;

        impl<'de> Visitor<'de> for OnceEach {
            type Value = Named;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of servers by their names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named, A::Error> {
                let mut entries: Vec<(String, Value)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if entries.iter().any(|(taken, _)| *taken == name) {
                        return Err(A::Error::custom(format_args!(
                            "{SERVER}`{}` is there twice",
                            Escape::LINE.at_most(MAX_NAME_CHARS).text(&name)
                        )));
                    }
                    entries.push((name, value));
                }
                Ok(Named(entries))
            }
        }

        deserializer.deserialize_map(OnceEach)
    }
}

/// The reason why a file of servers cannot be used.
#[derive(Debug)]
pub struct ServersError {
    /// Empty for a text.
    file: String,
    cause: ServersErrorCause,
}

#[derive(Debug)]
enum ServersErrorCause {
    Io(io::Error),
    Json(String),
    None,
}

impl fmt::Display for ServersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "`{}`: ", self.file)?;
        }
        match &self.cause {
            ServersErrorCause::Io(_) => f.write_str("the servers cannot be read"),
            ServersErrorCause::Json(problem) => write!(f, "the servers cannot be read: {problem}"),
            ServersErrorCause::None => f.write_str("there is no member `mcpServers`"),
        }
    }
}

impl std::error::Error for ServersError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            ServersErrorCause::Io(error) => Some(error),
            ServersErrorCause::Json(_) | ServersErrorCause::None => None,
        }
    }
}

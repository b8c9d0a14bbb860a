//! The server of a command line.

use std::path::Path;

use tool_cli::{Exit, Failure};

use crate::client::{Endpoint, McpServers, Process, ServerConfig, Transport, error_chain, shown_url};

/// The file that is read without `--config`, if there is one.
const DEFAULT_FILE: &str = ".mcp.json";

/// Returns the server `text`: a URL, a name in the file `config`, or a command line with its arguments.
pub(super) fn server_config(text: &str, config: Option<&str>) -> Result<ServerConfig, Failure> {
    let is_word = !text.contains(char::is_whitespace);
    if text.contains("://") && is_word {
        // Named without the parts that may be secret: messages contain the name.
        return validated(ServerConfig::new(shown_url(text), Endpoint::new(text)));
    }
    if is_word && lacks_scheme(text) {
        let message = format!("`{text}` has no scheme; a URL begins with `http://` or `https://`");
        return Err(Failure::quoting(Exit::Usage, message));
    }
    if is_word && (config.is_some() || Path::new(DEFAULT_FILE).exists()) {
        let servers = McpServers::from_file(config.unwrap_or(DEFAULT_FILE))
            .map_err(|error| Failure::quoting(Exit::Usage, error_chain(&error)))?;
        if servers.is_disabled(text) {
            let file = config.unwrap_or(DEFAULT_FILE);
            let message =
                format!("the server `{text}` is disabled in {file}; remove `disabled` from its entry");
            return Err(Failure::quoting(Exit::Usage, message));
        }
        // A command may have any name: one that is not in the default file is a command.
        if config.is_some() || servers.names().any(|name| name == text) {
            return servers.config(text).map_err(|error| Failure::quoting(Exit::Usage, error.to_string()));
        }
    }
    let mut words = split_words(text)?.into_iter();
    let Some(command) = words.next() else {
        return Err(Failure::usage(
            "SERVER is empty; give a command line, a URL, or a name of the configuration",
        ));
    };
    validated(ServerConfig::new(command.clone(), Process::new(command).args(words).inherit_env()))
}

/// Adds headers as the command line has them: `Name: value`. No message contains a value.
pub(super) fn with_headers<'a>(
    mut config: ServerConfig,
    headers: impl Iterator<Item = &'a String>,
) -> Result<ServerConfig, Failure> {
    for header in headers {
        let Some((name, value)) = header.split_once(':') else {
            return Err(Failure::usage("`--header` has no colon; write `--header 'Name: value'`"));
        };
        match &mut config.transport {
            Transport::Http(endpoint) | Transport::Sse(endpoint) => {
                endpoint.headers.insert(name.trim().to_owned(), value.trim().to_owned());
            }
            Transport::Stdio(_) => {
                let message = "`--header` is for a server behind a URL, and this one is a command";
                return Err(Failure::usage(message));
            }
        }
    }
    Ok(config)
}

/// Returns `true` for `localhost:3001/mcp` and the like, which no program is named.
fn lacks_scheme(text: &str) -> bool {
    let authority = text.split('/').next().unwrap_or_default();
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_port && !host.is_empty() || ["http", "http:", "https", "https:"].contains(&authority)
}

fn validated(config: ServerConfig) -> Result<ServerConfig, Failure> {
    config.validate().map_err(|error| Failure::quoting(Exit::Usage, error.to_string()))?;
    Ok(config)
}

/// Splits a command line into words: quotation marks group, and a backslash takes the next character as it is, except
/// between single quotation marks.
fn split_words(text: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            (it, Some(mark)) if it == mark => quote = None,
            ('\\', None | Some('"')) => match characters.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err(Failure::usage("SERVER ends in a backslash")),
            },
            (it @ ('"' | '\''), None) => {
                quote = Some(it);
                word.get_or_insert_default();
            }
            (it, None) if it.is_whitespace() => words.extend(word.take()),
            (it, _) => word.get_or_insert_default().push(it),
        }
    }
    if quote.is_some() {
        return Err(Failure::usage("a quotation mark in SERVER is not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_an_endpoint_and_any_other_text_a_command_line() {
        let config = server_config("http://127.0.0.1:3001/mcp", None).unwrap();
        assert!(matches!(config.transport, Transport::Http(it) if it.url == "http://127.0.0.1:3001/mcp"));
        let config = server_config(r#"npx -y "a server" 'b\' c\ d "" http://x/"#, None).unwrap();
        let Transport::Stdio(process) = config.transport else { unreachable!() };
        assert_eq!(process.command, "npx");
        assert_eq!(process.args, ["-y", "a server", r"b\", "c d", "", "http://x/"]);
        for wrong in ["", " ", "a 'b", "a \\", "ftp://a/b"] {
            assert!(server_config(wrong, None).is_err(), "{wrong}");
        }
    }
}

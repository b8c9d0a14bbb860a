//! The server of a command line.

use std::{path::Path, time::Duration};

use tool_cli::{
    Exit, Failure,
    clap::{Arg, ArgAction, ArgMatches, value_parser},
};

use crate::client::{
    Endpoint, McpServers, Process, ServerConfig, Transport, error_chain, url_without_secrets,
};

/// The file that is read without `--config`, if there is one.
const DEFAULT_FILE: &str = ".mcp.json";

/// Returns the arguments of a command that connects to a server: `SERVER`, `--config`, `--header`, `--timeout`. [`server_config`] reads them.
#[must_use]
pub fn server_arguments() -> [Arg; 4] {
    let server =
        "A command line in quotes (\"./server --stdio\"), a URL (http://..), or a name in the configuration";
    let config = "A file with `mcpServers` [default: .mcp.json, if it exists]";
    let header = "An HTTP header of each request, such as 'Authorization: Bearer ..'; may be repeated";
    [
        Arg::new("config").long("config").value_name("FILE").help(config),
        Arg::new("header").long("header").value_name("NAME: VALUE").action(ArgAction::Append).help(header),
        Arg::new("timeout")
            .long("timeout")
            .value_name("SECONDS")
            .value_parser(value_parser!(u64).range(1..))
            .help("The time for an answer [default: 30]"),
        Arg::new("server").value_name("SERVER").required(true).help(server),
    ]
}

/// Returns the server that a command line names by [`server_arguments`].
///
/// # Errors
///
/// If there is no such server, or an argument is invalid. The exit code is 2.
pub fn server_config(matches: &ArgMatches) -> Result<ServerConfig, Failure> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let config = resolve_server(text("server").unwrap_or_default(), text("config"))?;
    let config = add_header_arguments(config, matches.get_many::<String>("header").into_iter().flatten())?;
    Ok(match matches.get_one::<u64>("timeout") {
        Some(seconds) => config.timeout(Duration::from_secs(*seconds)),
        None => config,
    })
}

/// Returns the server `target`: a URL, a name in the file `config_file`, or a command line with its arguments.
fn resolve_server(target: &str, config_file: Option<&str>) -> Result<ServerConfig, Failure> {
    let is_word = !target.contains(char::is_whitespace);
    if target.contains("://") && is_word {
        // Named without the parts that may be secret: messages contain the name.
        return validated_config(ServerConfig::new(url_without_secrets(target), Endpoint::new(target)));
    }
    if is_word && is_url_without_scheme(target) {
        let message = format!("`{target}` has no scheme; a URL begins with `http://` or `https://`");
        return Err(Failure::quoting(Exit::Usage, message));
    }
    if is_word && (config_file.is_some() || Path::new(DEFAULT_FILE).exists()) {
        let servers = McpServers::from_file(config_file.unwrap_or(DEFAULT_FILE))
            .map_err(|error| Failure::quoting(Exit::Usage, error_chain(&error)))?;
        if servers.is_disabled(target) {
            let file = config_file.unwrap_or(DEFAULT_FILE);
            let message =
                format!("the server `{target}` is disabled in {file}; remove `disabled` from its entry");
            return Err(Failure::quoting(Exit::Usage, message));
        }
        // A command may have any name: one that is not in the default file is a command.
        if config_file.is_some() || servers.names().any(|name| name == target) {
            return servers.config(target).map_err(|error| Failure::quoting(Exit::Usage, error.to_string()));
        }
    }
    let mut words = split_command_line(target)?.into_iter();
    let Some(command) = words.next() else {
        return Err(Failure::usage(
            "SERVER is empty; give a command line, a URL, or a name of the configuration",
        ));
    };
    validated_config(ServerConfig::new(command.clone(), Process::new(command).args(words).inherit_env()))
}

/// Adds headers as the command line has them: `Name: value`. No message contains a value.
fn add_header_arguments<'a>(
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
fn is_url_without_scheme(text: &str) -> bool {
    let authority = text.split('/').next().unwrap_or_default();
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_port && !host.is_empty() || ["http", "http:", "https", "https:"].contains(&authority)
}

fn validated_config(config: ServerConfig) -> Result<ServerConfig, Failure> {
    config.validate().map_err(|error| Failure::quoting(Exit::Usage, error.to_string()))?;
    Ok(config)
}

/// Splits a command line into words: quotation marks group, and a backslash takes the next character as it is, except
/// between single quotation marks.
fn split_command_line(text: &str) -> Result<Vec<String>, Failure> {
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
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_an_endpoint_and_any_other_text_a_command_line() {
        let config = resolve_server("http://127.0.0.1:3001/mcp", None).unwrap();
        assert!(matches!(config.transport, Transport::Http(it) if it.url == "http://127.0.0.1:3001/mcp"));
        let config = resolve_server(r#"npx -y "a server" 'b\' c\ d "" http://x/"#, None).unwrap();
        let Transport::Stdio(process) = config.transport else { unreachable!() };
        assert_eq!(process.command, "npx");
        assert_eq!(process.args, ["-y", "a server", r"b\", "c d", "", "http://x/"]);
        for wrong in ["", " ", "a 'b", "a \\", "ftp://a/b"] {
            assert!(resolve_server(wrong, None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_are_split_at_blanks_that_nothing_quotes() {
        for (text, expected) in [
            ("", &[][..]),
            (" \t\n", &[]),
            ("a", &["a"]),
            (" a  b\tc ", &["a", "b", "c"]),
            ("a'b c'd", &["ab cd"]),
            ("''", &[""]),
            (r#""" a"#, &["", "a"]),
            (r#"'"' "'""#, &["\"", "'"]),
            (r#""a\"b" 'a\b' a\'b"#, &["a\"b", r"a\b", "a'b"]),
            (r"\ \\", &[" \\"]),
        ] {
            assert_eq!(split_command_line(text).unwrap(), expected, "{text}");
        }
        for (text, expected) in [
            ("a 'b", "a quotation mark in SERVER is not closed"),
            ("\"", "a quotation mark in SERVER is not closed"),
            ("a\\", "SERVER ends in a backslash"),
            ("\"a\\", "SERVER ends in a backslash"),
            ("'a\\", "a quotation mark in SERVER is not closed"),
        ] {
            assert_eq!(split_command_line(text).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn an_address_without_a_scheme_is_no_command() {
        for text in ["localhost:3001/mcp", "localhost:3001", "a:1", "http:/a", "https", "http", "https:"] {
            assert!(is_url_without_scheme(text), "{text}");
            let message = resolve_server(text, None).unwrap_err().to_string();
            assert_eq!(message, format!("`{text}` has no scheme; a URL begins with `http://` or `https://`"));
        }
        for text in ["npx", ":3001", "a:", "a:b", "a:1b", "./a", "httpd", "a/b:1", ""] {
            assert!(!is_url_without_scheme(text), "{text}");
        }
        // A command may have such an argument.
        assert!(resolve_server("serve localhost:3001", None).is_ok());
    }

    #[test]
    fn a_header_is_a_name_and_a_value_of_a_url() {
        let of = |server: &str, headers: &[&str]| {
            let headers: Vec<_> = headers.iter().map(|it| (*it).to_owned()).collect();
            add_header_arguments(resolve_server(server, None).unwrap(), headers.iter())
        };
        let config = of("http://a/mcp", &["A: 1 ", "B:x:y"]).unwrap();
        let Transport::Http(endpoint) = &config.transport else { panic!("{config:?}") };
        let header = |name: &str| endpoint.headers.get(name).map(String::as_str);
        assert_eq!((header("A"), header("B")), (Some("1"), Some("x:y")));
        let message = |server, headers| of(server, headers).unwrap_err().to_string();
        let missing = "`--header` has no colon; write `--header 'Name: value'`";
        assert_eq!(message("http://a/mcp", &["A: 1", "secret"]), missing);
        let command = "`--header` is for a server behind a URL, and this one is a command";
        assert_eq!(message("npx", &["A: secret"]), command);
        assert!(of("npx", &[]).is_ok());
    }

    #[test]
    fn a_word_is_a_name_in_the_file_that_is_given() {
        let file = std::env::temp_dir().join(format!("tool-mcp-target-{}.json", std::process::id()));
        let servers = r#"{ "mcpServers": {
            "files": { "command": "file-server", "args": ["-v"] },
            "old": { "command": "old-server", "disabled": true }
        } }"#;
        std::fs::write(&file, servers).unwrap();
        let name = file.to_str().unwrap();
        let config = |text| resolve_server(text, Some(name));
        let command = |text| match config(text).unwrap().transport {
            Transport::Stdio(process) => (process.command, process.args),
            other => panic!("{other:?}"),
        };
        assert_eq!(command("files"), ("file-server".to_owned(), vec!["-v".to_owned()]));
        // More than a word is a command line, with every file.
        assert_eq!(command("files -x"), ("files".to_owned(), vec!["-x".to_owned()]));
        assert!(matches!(config("http://a/mcp").unwrap().transport, Transport::Http(_)));
        let disabled = format!("the server `old` is disabled in {name}; remove `disabled` from its entry");
        assert_eq!(config("old").unwrap_err().to_string(), disabled);
        assert!(config("filse").unwrap_err().to_string().contains("`files`"));
        assert!(resolve_server("files", Some("nowhere.json")).is_err());
        std::fs::remove_file(file).unwrap();
    }
}

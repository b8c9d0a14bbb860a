//! Selectors: texts that name a server, or a tool of a server.

use std::collections::BTreeMap;

/// The selected server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerSelection<'a> {
    /// By its name.
    Named(&'a str),
    /// By its URL.
    Url(&'a str),
}

/// The part of a fragment that names a tool.
const TOOL_PARAMETER: &str = "tool=";

/// Returns the server that `selector` names; `None` if there is none.
pub(super) fn parse_server_selector<'a, T>(
    selector: &'a str,
    servers: &'a BTreeMap<String, T>,
) -> Option<ServerSelection<'a>> {
    let selector = selector.trim();
    match servers.get_key_value(selector) {
        Some((name, _)) => Some(ServerSelection::Named(name)),
        None => has_http_scheme(selector).then_some(ServerSelection::Url(selector)),
    }
}

/// Returns the server and the tool that `selector` names; `None` if it names no tool.
pub(super) fn parse_tool_selector<'a, T>(
    selector: &'a str,
    servers: &'a BTreeMap<String, T>,
) -> Option<(ServerSelection<'a>, String)> {
    let selector = selector.trim();
    if let Some((server, tool)) = split_tool_fragment(selector) {
        let selected = match servers.get_key_value(server) {
            Some((name, _)) => Some(ServerSelection::Named(name)),
            None => has_http_scheme(server).then_some(ServerSelection::Url(server)),
        };
        if let Some(selected) = selected.filter(|_| !tool.is_empty()) {
            return Some((selected, tool));
        }
    }
    let named = servers.keys().filter_map(|name| {
        let tool = selector.strip_prefix(name.as_str())?.strip_prefix('.')?;
        (!tool.is_empty()).then_some((name.as_str(), tool))
    });
    if let Some((name, tool)) = named.max_by_key(|(name, _)| name.len()) {
        return Some((ServerSelection::Named(name), tool.to_owned()));
    }
    let (url, tool) = split_url_and_tool(selector)?;
    Some((ServerSelection::Url(url), tool.to_owned()))
}

/// Returns the selector of a tool.
pub(super) fn format_tool_selector<T>(
    selected: ServerSelection<'_>,
    tool: &str,
    servers: &BTreeMap<String, T>,
) -> String {
    let (ServerSelection::Named(server) | ServerSelection::Url(server)) = selected;
    let plain = format!("{server}.{tool}");
    // The plain form may select another tool: of a server with a longer name, or of a URL that has a dot.
    if parse_tool_selector(&plain, servers).is_some_and(|(read, name)| read == selected && name == tool) {
        return plain;
    }
    let separator = if server.contains('#') { '&' } else { '#' };
    format!("{server}{separator}{TOOL_PARAMETER}{}", percent_encode_tool_name(tool))
}

pub(super) fn has_http_scheme(text: &str) -> bool {
    let starts =
        |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    starts("http://") || starts("https://")
}

/// Splits `server#tool=tool` and `server#fragment&tool=tool`.
fn split_tool_fragment(selector: &str) -> Option<(&str, String)> {
    let fragment = selector.find('#')?;
    let at = selector.rfind(TOOL_PARAMETER)?;
    let separator = at.checked_sub(1)?;
    let separates = match selector.as_bytes().get(separator)? {
        b'#' => separator == fragment,
        b'&' => separator > fragment,
        _ => false,
    };
    let tool = selector.get(at + TOOL_PARAMETER.len()..)?;
    separates.then(|| Some((selector.get(..separator)?, percent_decode_tool_name(tool)?))).flatten()
}

/// Splits `url.tool`, at the first dot of the last segment of the path.
fn split_url_and_tool(selector: &str) -> Option<(&str, &str)> {
    if !has_http_scheme(selector) || selector.contains(['?', '#']) {
        return None;
    }
    let path = selector.find("://")? + 3;
    let path = path + selector.get(path..)?.find('/')?;
    let segment = selector.rfind('/')?.max(path) + 1;
    let dot = segment + selector.get(segment..)?.find('.')?;
    let (url, tool) = (selector.get(..dot)?, selector.get(dot + 1..)?);
    (dot > segment && !tool.is_empty()).then_some((url, tool))
}

/// Encodes what would end a selector, or be removed from its end.
fn percent_encode_tool_name(tool: &str) -> String {
    let mut text = String::with_capacity(tool.len());
    for byte in tool.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'~' | b'/' => {
                text.push(byte.into())
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Decodes a tool; `None` if it is not UTF-8.
fn percent_decode_tool_name(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%').then(|| byte_from_hex_digits(after.get(..2)?)).flatten();
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn byte_from_hex_digits(digits: &[u8]) -> Option<u8> {
    digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::collections::BTreeMap;

    use super::{
        ServerSelection, format_tool_selector, has_http_scheme, parse_server_selector, parse_tool_selector,
        percent_encode_tool_name, split_tool_fragment, split_url_and_tool,
    };

    fn servers() -> BTreeMap<String, ()> {
        ["a", "a.b", "x#y"].into_iter().map(|name| (name.to_owned(), ())).collect()
    }

    #[test]
    fn the_longest_name_of_a_server_wins() {
        let servers = servers();
        // N07
        assert_eq!(
            parse_tool_selector("a.b.c", &servers),
            Some((ServerSelection::Named("a.b"), "c".to_owned()))
        );
        assert_eq!(
            parse_tool_selector("a.c.d", &servers),
            Some((ServerSelection::Named("a"), "c.d".to_owned()))
        );
        assert_eq!(
            parse_tool_selector("a#tool=b.c", &servers),
            Some((ServerSelection::Named("a"), "b.c".to_owned()))
        );
        assert_eq!(
            parse_tool_selector(" a.b.c ", &servers),
            Some((ServerSelection::Named("a.b"), "c".to_owned()))
        );
        for none in ["a", "a.", "b.c", "", ".", "a#tool="] {
            assert_eq!(parse_tool_selector(none, &servers), None, "{none}");
        }
        assert_eq!(parse_server_selector("a.b", &servers), Some(ServerSelection::Named("a.b")));
        assert_eq!(
            parse_server_selector("https://h/mcp", &servers),
            Some(ServerSelection::Url("https://h/mcp"))
        );
        assert_eq!(parse_server_selector("ftp://h/mcp", &servers), None);
    }

    #[test]
    fn a_url_is_split_at_the_first_dot_of_its_last_segment() {
        let servers = servers();
        // N07
        let url = ServerSelection::Url("https://h.example/v1.2/mcp");
        assert_eq!(
            parse_tool_selector("https://h.example/v1.2/mcp.x.y", &servers),
            Some((url, "x.y".to_owned()))
        );
        assert_eq!(parse_tool_selector("https://h.example/mcp#tool=x", &servers).unwrap().1, "x");
        for none in ["https://h.example", "https://h.example/", "https://h.example/mcp", "https://h/.x"] {
            assert_eq!(parse_tool_selector(none, &servers), None, "{none}");
        }
    }

    #[test]
    fn printed_selectors_select_the_same_tool() {
        let servers = servers();
        let urls = [
            "https://h.example/mcp",
            "https://h.example",
            "https://h.example/",
            "https://h.example/mcp/",
            "https://h.example/mcp.json",
            "https://h.example/mcp?key=a.b",
            "https://h.example/mcp#part",
            "https://h.example/mcp#tool=other",
            "https://h.example/mcp#a&tool=other",
            "HTTP://127.0.0.1:80/v1.2/mcp",
            "https://h.example?x=1#y",
        ];
        let tools = ["add", "x.y", "a/b", "b.c", "a b", "50%", "%41", "a#b", "a&tool=c", "é", " x ", "?"];
        let named = ["a", "a.b", "x#y"].map(ServerSelection::Named);
        for selected in urls.into_iter().map(ServerSelection::Url).chain(named) {
            for name in tools {
                let printed = format_tool_selector(selected, name, &servers);
                // N08
                assert_eq!(
                    parse_tool_selector(&printed, &servers),
                    Some((selected, name.to_owned())),
                    "{printed}"
                );
            }
        }
        assert_eq!(
            format_tool_selector(ServerSelection::Url(urls[0]), "x.y", &servers),
            "https://h.example/mcp.x.y"
        );
        assert_eq!(format_tool_selector(ServerSelection::Named("a"), "add", &servers), "a.add");
        assert_eq!(format_tool_selector(ServerSelection::Named("a"), "b.c", &servers), "a#tool=b.c");
    }

    #[test]
    fn a_url_has_a_scheme_in_any_case() {
        for (text, expected) in [
            ("http://h", true),
            ("HTTPS://h", true),
            ("http:/h", false),
            ("https:", false),
            ("httpx://h", false),
            ("", false),
        ] {
            assert_eq!(has_http_scheme(text), expected, "{text}");
        }
    }

    #[test]
    fn a_fragment_names_a_tool_behind_a_separator_of_its_own() {
        for (selector, expected) in [
            ("a#tool=x", Some(("a", "x"))),
            ("a#p&tool=x", Some(("a#p", "x"))),
            ("a#tool=y&tool=x", Some(("a#tool=y", "x"))),
            ("a&tool=x", None),
            ("a&tool=x#p", None),
            ("a#xtool=x", None),
            ("a#p#tool=x", None),
            ("tool=x#", None),
            ("a#tool=%zz%4", Some(("a", "%zz%4"))),
            ("a#tool=%41%2f%2F", Some(("a", "A//"))),
            ("a#tool=%ff", None),
            ("a#tool=%+1", Some(("a", "%+1"))),
        ] {
            let read = split_tool_fragment(selector);
            assert_eq!(read.as_ref().map(|(server, tool)| (*server, tool.as_str())), expected, "{selector}");
        }
        assert_eq!(percent_encode_tool_name("aZ09._-~/ %&#\u{e9}"), "aZ09._-~/%20%25%26%23%C3%A9");
    }

    #[test]
    fn a_dot_splits_a_url_without_query_and_fragment() {
        for (selector, expected) in [
            ("https://h/mcp.x", Some(("https://h/mcp", "x"))),
            ("https://h/a.b/mcp.x.y", Some(("https://h/a.b/mcp", "x.y"))),
            ("https://h/mcp.x/y", None),
            ("https://h/mcp.", None),
            ("https://h/.x", None),
            ("https://h.x", None),
            ("https://h/mcp.x?q", None),
            ("https://h/mcp.x#f", None),
            ("ftp://h/mcp.x", None),
        ] {
            assert_eq!(split_url_and_tool(selector), expected, "{selector}");
        }
    }
}

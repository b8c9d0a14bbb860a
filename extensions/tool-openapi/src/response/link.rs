//! Links in headers ([RFC 8288](https://www.rfc-editor.org/rfc/rfc8288)).

/// Returns the targets of the links in `header` that have the relation `relation` to the response itself.
pub(super) fn link_targets<'h>(header: &'h str, relation: &str) -> Vec<&'h str> {
    let (mut targets, mut rest) = (Vec::new(), header);
    while let Some((_, after)) = rest.split_once('<') {
        let Some((target, after)) = after.split_once('>') else { break };
        let (parameters, after) = read_link_parameters(after);
        rest = after;
        // Of several parameters of a name, the first one counts.
        let get =
            |name: &str| parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|it| &it.1);
        let is_related = get("rel")
            .is_some_and(|it| it.split_ascii_whitespace().any(|it| it.eq_ignore_ascii_case(relation)));
        // A link with an anchor is one of another resource.
        if is_related && get("anchor").is_none() {
            targets.push(target.trim());
        }
    }
    targets
}

/// Reads the parameters of a link, up to the comma before the next one.
fn read_link_parameters(text: &str) -> (Vec<(String, String)>, &str) {
    let (mut found, mut rest) = (Vec::new(), text.trim_start());
    while let Some(after) = rest.strip_prefix(';') {
        let end = after.find(['=', ';', ',']).unwrap_or(after.len());
        let name = after[..end].trim().to_owned();
        let (value, after) = match after[end..].strip_prefix('=') {
            Some(after) => read_link_value(after.trim_start()),
            None => (String::new(), &after[end..]),
        };
        found.push((name, value));
        rest = after.trim_start();
    }
    (found, rest)
}

/// Reads a token or a quoted text.
fn read_link_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',']).unwrap_or(text.len());
        return (text[..end].trim().to_owned(), &text[end..]);
    };
    let (mut value, mut chars) = (String::new(), quoted.char_indices());
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|it| it.1)),
            char => value.push(char),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::link_targets;

    #[test]
    fn links_are_found_by_their_relation() {
        let rows: [(&str, &[&str]); 9] = [
            ("</x?page=2>; rel=next", &["/x?page=2"]),
            ("<?page=2>;rel=\"prev next\", </y>; rel=last", &["?page=2"]),
            ("</a,b;c>; title=\"x, <y>; rel=next\"; rel=prev, </d>; REL=\"Next\"", &["/d"]),
            ("</a>; title=\"\\\"; rel=next\"; rel=prev", &[]),
            ("</a>; rel=next; rel=prev,</b>; rel=prev; rel=next", &["/a"]),
            ("</a>; rel=next; anchor=\"/other\"", &[]),
            ("</a>; rel=nextish", &[]),
            ("</a>; rel", &[]),
            ("</a; rel=next", &[]),
        ];
        for (header, expected) in rows {
            assert_eq!(link_targets(header, "next"), expected, "{header}");
        }
    }
}

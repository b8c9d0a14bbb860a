//! Resolution of URI references by RFC 3986.
//!
//! URIs only identify parts of a schema; nothing is fetched.

/// Resolves `reference` against `base`, which is `""` if there is none; neither has a fragment.
pub(super) fn resolve_reference(base: &str, reference: &str) -> String {
    let (base, own) = (UriParts::split_uri(base), UriParts::split_uri(reference));
    let resolved = if own.scheme.is_some() {
        UriParts { path: remove_dot_segments(&own.path), ..own }
    } else if own.authority.is_some() {
        UriParts { scheme: base.scheme, path: remove_dot_segments(&own.path), ..own }
    } else if own.path.is_empty() {
        UriParts { query: own.query.or(base.query), ..base }
    } else {
        let path = match own.path.strip_prefix('/') {
            Some(_) => own.path,
            None => merge_paths(&base, &own.path),
        };
        UriParts { path: remove_dot_segments(&path), query: own.query, ..base }
    };
    resolved.to_uri()
}

struct UriParts<'u> {
    scheme: Option<&'u str>,
    authority: Option<&'u str>,
    path: String,
    query: Option<&'u str>,
}

impl<'u> UriParts<'u> {
    fn split_uri(uri: &'u str) -> Self {
        let (before, query) = match uri.split_once('?') {
            Some((before, query)) => (before, Some(query)),
            None => (uri, None),
        };
        let is_scheme =
            |text: &str| text.bytes().all(|it| it.is_ascii_alphanumeric() || b"+-.".contains(&it));
        let (scheme, rest) = match before.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            _ => (None, before),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                (Some(authority), path)
            }
            None => (None, rest),
        };
        Self { scheme, authority, path: path.to_owned(), query }
    }

    fn to_uri(&self) -> String {
        let scheme = self.scheme.map(|it| format!("{it}:")).unwrap_or_default();
        let authority = self.authority.map(|it| format!("//{it}")).unwrap_or_default();
        let query = self.query.map(|it| format!("?{it}")).unwrap_or_default();
        [&scheme, &authority, &*self.path, &query].concat()
    }
}

/// Resolves `path` relative to `base`.
fn merge_paths(base: &UriParts<'_>, path: &str) -> String {
    match base.path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{path}"),
        None if base.authority.is_some() => format!("/{path}"),
        None => path.to_owned(),
    }
}

/// Removes the segments `.` and `..`.
fn remove_dot_segments(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    let mut steps = path.split('/').peekable();
    while let Some(step) = steps.next() {
        if step != "." && step != ".." {
            segments.push(step);
            continue;
        }
        // The empty segment before the first slash of an absolute path stays.
        if step == ".." && segments.len() > usize::from(path.starts_with('/')) {
            segments.pop();
        }
        if steps.peek().is_none() {
            segments.push("");
        }
    }
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use super::resolve_reference;

    #[test]
    fn references_are_resolved_as_the_rfc_has_them() {
        // RFC 3986, 5.4.
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../../g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g;x=1/../y", "http://a/b/c/y"),
        ] {
            assert_eq!(resolve_reference(base, reference), expected, "{reference}");
        }
        for (base, reference, expected) in [
            ("", "a/b", "a/b"),
            ("", "", ""),
            ("", "../a", "a"),
            ("", "a/..", ""),
            ("", "a/../..", ""),
            ("", "/..", "/"),
            ("http://a", "b", "http://a/b"),
            ("http://a?q", "b", "http://a/b"),
            ("http://a", "", "http://a"),
            ("a", "b", "b"),
            ("a/b", "../c", "c"),
            ("a/b/c", "../../../d", "d"),
            ("a/b?q", "?r", "a/b?r"),
            ("//a/b", "c", "//a/c"),
            ("http://a/b", "//c/./d/../e?q", "http://c/e?q"),
            ("http://a/b", "x+y-1.0:/c/../d", "x+y-1.0:/d"),
            // A colon behind a slash, or behind a sign that no scheme has, belongs to a path.
            ("http://a/b", "c/d:e", "http://a/c/d:e"),
            ("http://a/b", "c_d:e", "http://a/c_d:e"),
            ("http://a/b", "?c:d", "http://a/b?c:d"),
            ("urn:a:b", "", "urn:a:b"),
            ("urn:a:b", "?q", "urn:a:b?q"),
        ] {
            assert_eq!(resolve_reference(base, reference), expected, "{base} {reference}");
        }
    }
}

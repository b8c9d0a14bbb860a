#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Component, Path, PathBuf};

use proptest::prelude::*;

use super::{
    Match, PathPattern,
    normalize::{Location, PathRoot, PathStyle, normalize_path},
};

fn pattern(text: &str) -> PathPattern {
    PathPattern::new(text).unwrap().ignore_case(false)
}

fn on_windows(text: &str, base: Option<&str>) -> PathPattern {
    PathPattern::compiled_with_style(text, base, None, PathStyle::Windows).unwrap()
}

fn check(pattern: &PathPattern, expected: Match, paths: &[&str]) {
    for path in paths {
        assert_eq!(pattern.match_path(path), expected, "{pattern} {path:?}");
    }
}

#[test]
fn a_path_matches_in_all_of_its_spellings() {
    let etc = pattern("/etc/**");
    check(
        &etc,
        Match::Yes,
        &[
            "/etc/shadow",
            "/etc",
            "/etc/",
            "//etc/shadow",
            "///etc///shadow//",
            "/./etc/./shadow",
            "/tmp/../etc/shadow",
            "/../../etc/shadow",
            "/tmp/a/b/../../../etc/ssh/sshd_config",
            "/etc/x/../shadow",
            "file:///etc/shadow",
            "file:/etc/shadow",
            "FILE://localhost/etc/shadow",
            "file:///%65tc/shadow",
            "file:///tmp/%2e%2E/etc/shadow",
            "file:////etc/shadow",
        ],
    );
    check(&etc, Match::No, &["/", "/tmp/etc/shadow", "/etcetera", "/Etc/shadow", "/etc/../tmp", "/tmp/ etc"]);
}

#[test]
fn an_ambiguous_path_is_unclear() {
    check(
        &pattern("/etc/**"),
        Match::Unclear,
        &[
            "",
            " ",
            "\0",
            "/etc\0/shadow",
            "/tmp/a\n",
            " /etc/shadow",
            "/tmp/a ",
            "etc/shadow",
            "../etc/shadow",
            "~/x",
            "~root/x",
            "$HOME/x",
            "%USERPROFILE%/x",
            "/e*c/shadow",
            "/tmp/?",
            "\\etc\\shadow",
            "/tmp\\..\\etc",
            "C:\\etc",
            "c:/etc",
            "\\\\?\\C:\\etc",
            "file:etc/shadow",
            "file://host/etc/shadow",
            "file:///tmp/%00",
            "file:///tmp%2f..%2fetc/shadow",
            "file:///tmp/%zz",
            "file:///tmp/%g0",
            "file:///tmp/%0g",
            "file:///tmp/%6",
            "file:///etc#shadow",
            "1:/etc",
            "file:///tmp/%e4",
            "file:///tmp?x",
            "file:///C:/etc",
            "fi\tle:///etc/shadow",
            "http://localhost/etc/shadow",
            "vscode-remote:/etc/shadow",
        ],
    );
}

#[test]
fn one_star_matches_within_a_name_and_two_stars_match_across_names() {
    check(&pattern("/srv/*/secret"), Match::Yes, &["/srv/a/secret", "/srv/a/../b/secret"]);
    check(&pattern("/srv/*/secret"), Match::No, &["/srv/secret", "/srv/a/b/secret", "/srv/a/secret/b"]);
    check(&pattern("/srv/**/secret"), Match::Yes, &["/srv/secret", "/srv/a/b/secret"]);
    check(&pattern("/srv/*.key"), Match::Yes, &["/srv/.key", "/srv/a.key"]);
    check(&pattern("/srv/*.key"), Match::No, &["/srv/a/b.key", "/srv/a.keys"]);
    check(&pattern("**/.env"), Match::Yes, &[".env", "/.env", "/a/b/.env", "a/.env", "./a/../.env"]);
    check(&pattern("**/.env"), Match::No, &["/a/.envrc", "/.env/a"]);
    check(&pattern("**/.env"), Match::Unclear, &["../.env", "../a", "./~/.env", "./ a/.env", "./a:/.env"]);
    check(&pattern("/srv/a*b*"), Match::Yes, &["/srv/ab", "/srv/axbxbx"]);
    check(&pattern("/**"), Match::Yes, &["/", "/a/b"]);
    check(&pattern("/tmp/../etc/./*"), Match::Yes, &["/etc/shadow"]);
    check(&pattern("/../etc/**"), Match::Yes, &["/etc/shadow"]);
    check(&pattern("/Etc/**"), Match::Yes, &["/Etc/shadow"]);
}

#[test]
fn relative_paths_are_resolved_against_the_base() {
    let secrets = pattern("secrets/**").base("/srv/app").unwrap();
    check(
        &secrets,
        Match::Yes,
        &["secrets/a", "./secrets", "/srv/app/secrets/a", "../app/secrets/a", "x/../secrets/a"],
    );
    check(&secrets, Match::No, &["a", "../secrets/a", "/secrets/a"]);
    // A name that is ambiguous on its own is ambiguous after a base, too.
    check(
        &secrets,
        Match::Unclear,
        &["~/a", "$HOME/a", "%HOME%/a", " a", "a ", "C:/secrets/a", "c:secrets/a", "x:/../secrets/a"],
    );
    check(&secrets, Match::No, &["1:/a", "./~/a"]);
    check(
        &pattern("**/.env").base("/srv/app").unwrap(),
        Match::Yes,
        &[".env", "/.env", "/a/.env", "../../b/.env"],
    );
    let etc = pattern("/etc/**").base("/srv/app").unwrap();
    check(&etc, Match::Yes, &["../../etc/shadow", "../../../../etc/shadow"]);
    // Without a base, a relative path is comparable with relative patterns only.
    let secrets = pattern("secrets/**");
    check(&secrets, Match::Yes, &["secrets/a", "a/../secrets"]);
    check(&secrets, Match::No, &["a/secrets"]);
    check(&secrets, Match::Unclear, &["/srv/app/secrets/a", "../app/secrets/a"]);
}

#[test]
fn a_relative_pattern_has_the_style_of_its_base() {
    check(
        &pattern("secrets/**").base(r"C:\app").unwrap(),
        Match::Yes,
        &[r"C:\app\secrets\a", r"..\app\secrets"],
    );
    check(&pattern("secrets/**").base("/app").unwrap(), Match::No, &["/APP/secrets/a"]);
}

#[test]
fn a_pattern_with_a_drive_or_a_share_follows_the_rules_of_windows() {
    for (text, path) in [
        ("C:/work/**", r"c:\Work\a"),
        (r"\\server\share\**", "//SERVER/share/a"),
        ("//?/C:/work/**", r"C:\work"),
        (r"\\?\C:\work\**", "//?/c:/work/a"),
        (r"\\?\UNC\server\share\**", "//server/share/a"),
    ] {
        let pattern = PathPattern::new(text).unwrap();
        check(&pattern, Match::Yes, &[path]);
        assert_eq!((pattern.to_string().as_str(), text.parse()), (text, Ok(pattern)));
    }
}

#[test]
fn names_of_servers_and_shares_are_checked_like_other_names() {
    let anywhere = on_windows("**/.env", None);
    check(
        &anywhere,
        Match::Yes,
        &["//server/share/.env", r"C:\.env", "/.env", "file:///a/.env", "file://server/share/.env"],
    );
    check(
        &anywhere,
        Match::Unclear,
        &[
            "//ser:ver/share/.env",
            "//server/sh:are/.env",
            "//ser*er/share/.env",
            "//server/sh?re/.env",
            "//server./share/.env",
            "//server",
            "///server/share/.env",
            "//./C:/.env",
            "/??/C:/.env",
            r"\\?\UNC\ser:ver\share\.env",
            r"\\?\C:.env",
            "file:////server/.env",
            "file://user@server/share/.env",
            "file://server:1/share/.env",
            "file://ser%76er/share/.env",
            "file://server//.env",
            "file://server",
            "file://.../.env",
            "file://server/../a",
            "file://server/.. /a",
            "file:///C:.env",
            r"file:///a\.env",
            "file:///a?/.env",
            "file:///a#/.env",
        ],
    );
}

#[test]
fn paths_on_windows_follow_the_rules_of_windows() {
    let windows = on_windows("C:/Windows/**", None);
    check(
        &windows,
        Match::Yes,
        &[
            "C:\\Windows\\System32",
            "c:/windows",
            "C:\\WINDOWS. \\x",
            "C:/a/..\\Windows/x",
            "\\\\?\\C:\\Windows\\x",
            "//?/c:/Windows/x",
            "file:///C:/Windows/x",
            "file:///c%3A/Windows/x",
            "file:///C|/Windows/x",
        ],
    );
    check(&windows, Match::No, &["D:\\Windows\\x", "C:\\Users\\x", "C:/Windowsx"]);
    check(
        &windows,
        Match::Unclear,
        &[
            "C:Windows\\x",
            "C:",
            "\\Windows\\x",
            "/Windows/x",
            "Windows\\x",
            "\\\\localhost\\C$\\Windows",
            "\\\\.\\C:\\Windows",
            "\\\\?\\GLOBALROOT\\Device\\x",
            "\\??\\C:\\Windows",
            "C:\\WINDOW~1\\x",
            "C:\\Users\\a.txt::$DATA",
            "C:\\Users\\...\\x",
            "C:\\\u{0}",
        ],
    );
    check(&windows, Match::No, &["\\Users\\x"]);
    let share = on_windows("\\\\Server\\Share\\private\\**", None);
    check(
        &share,
        Match::Yes,
        &["//server/share/PRIVATE/a", "\\\\?\\UNC\\server\\share\\private", "file://server/share/private/a"],
    );
    check(&share, Match::No, &["\\\\server\\share\\public", "\\\\server\\share\\..\\..\\public"]);
    check(&share, Match::Unclear, &["\\\\10.0.0.1\\share\\private", "C:\\private", "private"]);
    let based = on_windows("secrets/**", Some("C:\\app"));
    check(&based, Match::Yes, &["secrets\\a", "C:\\App\\Secrets\\a", "\\app\\secrets"]);
    check(&based, Match::No, &["..\\secrets", "\\secrets"]);
}

#[test]
fn case_is_ignored_by_option() {
    let etc = pattern("/Etc/**").ignore_case(true);
    check(&etc, Match::Yes, &["/etc/a", "/ETC/a", "file:///eTc"]);
    check(&pattern("/Straße/**").ignore_case(true), Match::Unclear, &["/STRASSE/a"]);
    check(&pattern("/etc/shadow").ignore_case(true), Match::Unclear, &["/etc/\u{17f}hadow"]);
    check(&pattern("/etc/**").ignore_case(true), Match::Unclear, &["/e\u{200c}tc/a", "/etc\u{feff}"]);
    check(&pattern("/caf\u{e9}/**").ignore_case(true), Match::Yes, &["/CAF\u{c9}/a"]);
    check(&pattern("/caf\u{e9}/**").ignore_case(true), Match::Unclear, &["/cafe\u{301}/a"]);
    check(&pattern("/caf\u{e9}/**").ignore_case(true), Match::No, &["/tea/a", "/th\u{e9}/a"]);
    check(&pattern("/etc/**").ignore_case(true), Match::No, &["/caf\u{e9}/a"]);
}

#[test]
fn an_ineffective_pattern_is_an_error() {
    for text in [
        "",
        " /etc",
        "/etc/{a,b}",
        "/etc/?",
        "//?/C:/a?",
        "/etc/[ab]",
        "/etc/a**",
        "/srv/*/../a",
        "/srv/**/..",
        "../a",
        "~/a",
        "$HOME/a",
        "file:///etc",
        "http://a/b",
        "/etc\0",
        "C:a",
        "/etc\\a",
        "C:/a:b",
    ] {
        let refused = PathPattern::new(text);
        assert!(refused.is_err(), "{text:?}");
    }
    assert!(pattern("/a").base("b").is_err());
    assert!(pattern("/a").base("/b/*").is_err());
}

/// Generates paths of parts with a special meaning.
fn paths() -> impl Strategy<Value = String> {
    let part =
        prop::sample::select(vec!["..", ".", "", "etc", "a", "b c", ".x", "Etc", "ä", "...", "c:d", "file:"]);
    (prop::sample::select(vec!["", "/", "//", "./", "C:/", "\\\\s\\t\\"]), prop::collection::vec(part, 0..8))
        .prop_map(|(root, parts)| format!("{root}{}", parts.join("/")))
}

/// Returns the text of a location.
fn kind_and_pattern(location: &Location) -> String {
    let names = location.names.join("/");
    match &location.root {
        PathRoot::Relative if names.is_empty() => ".".to_owned(),
        PathRoot::Relative => names,
        PathRoot::Slash => format!("/{names}"),
        PathRoot::Drive(letter) => format!("{letter}:/{names}"),
        PathRoot::Share(server, share) => format!("//{server}/{share}/{names}"),
    }
}

/// Normalizes a path lexically with the standard library.
fn by_std(path: &str) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir if normal.has_root() && normal.parent().is_none() => {}
            Component::ParentDir if normal.file_name().is_some() => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

proptest! {
    #[test]
    fn normalization_is_idempotent(path in paths(), is_windows: bool) {
        let style = if is_windows { PathStyle::Windows } else { PathStyle::Unix };
        if let Some(location) = normalize_path(&path, style, None) {
            let again = normalize_path(&kind_and_pattern(&location), style, None);
            prop_assert_eq!(again, Some(location));
        }
    }

    #[test]
    fn paths_that_the_standard_library_treats_as_equal_have_equal_verdicts(path in paths()) {
        prop_assume!(path.starts_with('/'));
        let normal = by_std(&path);
        let normal = normal.to_str().unwrap();
        for pattern in [pattern("/etc/**"), pattern("/*/a"), pattern("**/b c"), pattern("/").base("/etc").unwrap()] {
            prop_assert_eq!(pattern.match_path(&path), pattern.match_path(normal), "{} {:?} {:?}", pattern, path, normal);
        }
    }

    #[test]
    fn arbitrary_texts_are_compared_without_a_panic(path: String, other in "[/\\\\.:%~a-cA-C*? \u{0}é]{0,20}") {
        for pattern in [pattern("/etc/**"), on_windows("C:/a/*/**", Some("C:/b"))] {
            pattern.match_path(&path);
            pattern.match_path(&other);
            pattern.match_path(&format!("file:{other}"));
        }
    }
}

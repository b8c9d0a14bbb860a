//! Arguments of `call`: flags, JSON, and messages about mistakes.

use super::{Line, file, hold_lines};

// Z19
#[test]
fn arguments_are_read_from_flags_and_json() {
    file("cake.json", r#"{"name": "tart", "eggs": 2, "oven": {"degrees": 180}}"#);
    let json = r#"{"name": "pie", "eggs": 3, "oven": {"degrees": 200}}"#;
    let (before, after) = (
        ["call", "--json", json, "bake", "--remark", "warm", "--eggs=1", "--eggs=2"],
        ["call", "bake", "--json", json],
    );
    let lines = [
        Line::new(&[
            "call",
            "bake",
            "--name",
            "tart",
            "--eggs",
            "2",
            "--grams-of-sugar",
            "1.5",
            "--vegan",
            "--glaze",
            "sugar",
            "--layers",
            "a",
            "--layers",
            "b",
            "--sizes",
            "2",
            "--oven.degrees=180",
            "--oven.fan=no",
            "--guests",
            r#"{"name": "Ada"}"#,
            "--remark",
            "7",
        ]),
        Line::new(&["call", "bake", "@cake.json"]),
        Line::new(&["call", "bake", "@cake.json", "--grams_of_sugar", "3", "--oven", r#"{"degrees": 1}"#]),
        Line::new(&before),
        Line::new(&after),
        Line::new(&["call", "bake", "-"]).input(json),
        Line::new(&["call", "--json", "-", "bake", "--oven.fan=true"]).input(json),
        Line::new(&["c", "wipe"]),
        Line::new(&["call", "--output", "json", "settings", "--json", "a", "--help", "--save", "3"]),
        Line::new(&["call", "--json", "{\"o b\": 1}", "settings", "--help=false"]),
        Line::new(&["call", "settings", "{\"json\": \"a\"}", "--help"]),
        Line::new(&["call", "block", "--approve", "always"]),
        Line::new(&["call", "--approve", "never", "block", "--approve", "always"]),
    ];
    hold_lines("arguments", &lines);
}

fn write_wrong_files() {
    file("broken.json", "{\"name\": \"tart\",\n\t\"eggs\": two}");
    file("wrong.json", "{\"name\": \"tart\",\n\t\"eggs\": 13, \"oven\": {\"degrees\": \"hot\"}}");
    file("void.json", " \n");
}

#[test]
fn mistakes_of_arguments_are_explained() {
    write_wrong_files();
    let wide = "東".repeat(40);
    let long = format!(r#"{{"name": "{wide}", "eggs": 1, "oven": {{"degrees": 1}}, "glaze": "{wide}"}}"#);
    let good = ["--name", "tart", "--oven.degrees", "1"];
    let with = |more: &[&'static str]| [&["call", "bake"], &good[..], more].concat();
    let more = [
        with(&["--eggs", "0"]),
        with(&["--eggs", "1", "--eggs", "x"]),
        with(&["--eggs", "1.5", "--glaze", "ice"]),
        with(&["--eggs", "1", "--vegan=maybe"]),
        with(&["--eggs", "1", "--vegan", "no"]),
        with(&["--eggs", "1", "--vegan", "nono"]),
        with(&["--eggs", "1", "--guests", "Ada"]),
        with(&["--eggs", "1", "--guests", r#"[{"name": "Ada"}]"#]),
        with(&["--eggs", "1", "--oven", "hot"]),
        with(&["--eggs", "1", "--sizes", "[1]"]),
        with(&["--eggs", "1", "--layers", "a", "--layers", "a"]),
        with(&["--eggs"]),
        with(&["--eggs", "1", "--name"]),
        with(&["--eggs", "1", "--eggs=2", "--remark=-x"]),
        with(&["--eggs", "1", "{}", "--vegan"]),
        with(&["--eggs", "1", "[]"]),
    ];
    let mut lines: Vec<_> = more.iter().map(|arguments| Line::new(arguments)).collect();
    let long_flag = ["call", "bake", &long];
    lines.extend([
        Line::new(&["call", "bake"]),
        Line::new(&["call", "bake"]).columns(50),
        Line::new(&["call", "bake", "@broken.json"]),
        Line::new(&["call", "bake", "@wrong.json"]),
        Line::new(&["call", "bake", "@wrong.json"]).columns(50),
        Line::new(&["call", "bake", "@void.json"]),
        Line::new(&["call", "bake", "@absent.json"]),
        Line::new(&["call", "bake", "-"]),
        Line::new(&["call", "bake", "{\"name\": \u{7}}"]),
        Line::new(&["call", "bake", "{\n\"name\": 1,\n\"eggs\": 1, \"oven\": {}}"]),
        Line::new(&["call", "bake", "[]", "--eggs", "1"]),
        Line::new(&["call", "bake", "--json", "[1]"]),
        Line::new(&["call", "bake", "--json", "[1]", "--vegan=true"]),
        Line::new(&["call", "bake", "--json", "{\"eggs\": 1, \"eggs\": 2}", "--vegan=true"]),
        Line::new(&["call", "bake", "--json", "{\"oven\": 1}", "--oven.fan=true"]),
        Line::new(&[
            "call",
            "bake",
            "--json",
            "{\"oven\": null, \"name\": \"a\", \"eggs\": 1}",
            "--oven.degrees=1",
        ]),
        Line::new(&["call", "--json", "{}", "bake", "{}"]),
        Line::new(&["call", "bake", "--json", "{}", "--json", "{}"]),
        Line::new(&long_flag).columns(60),
        Line::new(&["call", "bake", "--output", "json"]),
        Line::new(&["call", "bake", "--eggs", "99", "--glaze", "ice", "--output", "json"]),
        Line::new(&["call", "bake", "--eggs", "99", "--glaze", "ice"]),
        Line::new(&["call", "answer", "--form", "line", "--force"]),
        Line::new(&["call", "answer", "--form", "line", "--save", ""]),
        Line::new(&["call", "answer", "--form", "line", "--save", "a/", "--output", "json"]),
    ]);
    hold_lines("mistakes", &lines);
}

#[test]
fn unknown_flags_and_loose_words_are_explained() {
    let commands: [&[&str]; 20] = [
        &["call", "bake", "--egs", "2"],
        &["call", "bake", "--eggs", "-x"],
        &["call", "bake", "--egs", "2", "--zzz=1", "-q"],
        &["call", "many", "--wrong"],
        &["call", "hints", "--wrong"],
        &["call", "hints", "word"],
        &["call", "hints", "two", "words"],
        &["call", "bake", "tart", "2"],
        &["call", "bake", "tart", "2", "{}"],
        &["call", "many", "one", "two"],
        &["call", "many", "--flag-0", "it's", "a b"],
        &["call", "--approve", "never", "--output", "json", "--save", "x", "--force", "many", "-1"],
        &["call", "many", "--", "-x", "--y"],
        &["call", "many", "-", "-"],
        &["call", "--json", "{}", "many", "one"],
        &["call", "parts", "a", "b"],
        &["call", "values", "ten"],
        &["call", "values", "1"],
        &["call", "login", "ada", "4711"],
        &["call", "values", "--most", "1", "--help"],
    ];
    hold_lines("loose_words", &commands.map(Line::new));
}

// Other programs of the machine, and the history of the shell, can read a command line.
#[test]
fn a_secret_is_taken_from_its_sources_only() {
    file("pin.txt", "4711\r\n");
    file("login.json", r#"{"pin": 4711, "user": "ada"}"#);
    file("bad_login.json", r#"{"pin": 4711, "user": "a"}"#);
    file("broken_login.json", r#"{"pin": 4711, "#);
    let commands: [&[&str]; 22] = [
        &["call", "login", "--json", "\"4711\""],
        &["call", "login", "--pin", "env:SHOP_PIN", "--user", "ada"],
        &["call", "login", "--pin", "@pin.txt"],
        &["call", "login", "@login.json"],
        &["call", "login", "@login.json", "--box.key", "env:SHOP_PIN"],
        &["call", "login", "@bad_login.json"],
        &["call", "login", "@broken_login.json"],
        &["call", "login"],
        &["call", "login", "--pin", "4711"],
        &["call", "login", "--pin", "env:"],
        &["call", "login", "--pin", "env:SHOP_ABSENT"],
        &["call", "login", "--pin", "@absent.txt"],
        &["call", "login", "--pin", "@login.json"],
        &["call", "login", "--pin", "env:SHOP_PIN", "--user", "a", "--box.size", "x"],
        &["call", "login", r#"{"pin": 4711}"#],
        &["call", "login", r#"{"pni": 4711}"#],
        &["call", "login", r#"{"pin": 4711, "#],
        &["call", "login", r#"[4711]"#],
        &["call", "login", "--box", r#"{"key": "4711"}"#],
        &["call", "login", "--box", r#"{"key": null, "size": 1}"#, "--pin", "env:SHOP_PIN"],
        &["call", "login", r#"{"pin": null}"#],
        &["call", "login", r#"{"pin": "***"}"#],
    ];
    let mut lines: Vec<_> = commands.into_iter().map(Line::new).collect();
    lines.push(Line::new(&["call", "login", "--pin", "-"]).input("4711\n"));
    lines.push(Line::new(&["call", "login", "--pin", "-"]).input(""));
    lines.push(Line::new(&["call", "login", "--pin", "-"]).input("hunter2\n"));
    hold_lines("secrets", &lines);
}

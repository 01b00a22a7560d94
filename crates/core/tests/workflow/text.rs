//! Files that are hardly files.

use std::fmt::Write as _;

use signoff_core::workflow::{NoFiles, Tree, Workflow, text_of};

use crate::support::{GOOD, changed, known, show, wrong};

#[test]
fn empty_files() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "~", "\u{feff}"] {
        assert_eq!(
            wrong(text),
            "1:1: the file is empty\nhint: a workflow begins with `workflow: NAME`",
            "{text:?}"
        );
    }
}

#[test]
fn not_a_mapping() {
    assert_eq!(wrong("just text"), "1:1: the file must be a mapping, this is text");
    assert_eq!(wrong("- a\n- b\n"), "1:1: the file must be a mapping, this is a list");
}

#[test]
fn ten_megabytes() {
    let text = "a: b\n".repeat(2 * 1024 * 1024);
    assert_eq!(wrong(&text), "1:1: the file has 10485760 bytes; at most 1048576 are read");
}

#[test]
fn bytes_that_are_not_text() {
    let problems =
        Workflow::parse_bytes(b"workflow: a\nx: \xff\xfe", &NoFiles, &known()).unwrap_err();
    assert_eq!(show(&problems), "2:4: the file is not UTF-8 text\nhint: save it as UTF-8");
    assert!(text_of("ö".as_bytes()).is_ok());
    assert_eq!(
        wrong("workflow: a\npattern: \0graph"),
        "2:10: the character U+0000 is not allowed in a file\nhint: is this a text file?"
    );
}

#[test]
fn not_yaml() {
    let text = wrong("workflow: a\npattern: [graph\nagents: {}\n");
    assert!(text.contains("this is not YAML"), "{text}");
    let text = wrong("workflow: a\n\tpattern: graph\n");
    assert!(text.contains("found a tab"), "{text}");
}

#[test]
fn deep_nesting() {
    let text = format!("input: {}{}", "[".repeat(100), "]".repeat(100));
    assert_eq!(wrong(&text), "1:71: the file nests deeper than 64 levels");
    let mut text = String::new();
    for n in 0..100 {
        let _ = writeln!(text, "{}a:", " ".repeat(n));
    }
    assert_eq!(wrong(&text), "65:65: the file nests deeper than 64 levels");
    let _ = wrong(&"[".repeat(1_000_000));
    let _ = wrong(&"- ".repeat(500_000));
    let _ = wrong(&"? ".repeat(500_000));
    let _ = wrong(&"{a: ".repeat(250_000));
}

#[test]
fn alias_bombs() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..10 {
        let repeated = vec![format!("*a{}", n - 1); 10].join(", ");
        let _ = writeln!(text, "a{n}: &a{n} [{repeated}]");
    }
    assert_eq!(wrong(&text), "5:45: the file has more than 100000 values, aliases expanded");
    let long = "x".repeat(500_000);
    let text = format!("a: &a {long}\nb: [{}]\n", vec!["*a"; 1000].join(", "));
    assert!(wrong(&text).contains("bytes of text, aliases expanded"));
    assert_eq!(wrong("a: &a [b, *a]\n"), "1:11: this alias stands inside of what it repeats");
}

#[test]
fn a_small_alias_is_fine() {
    let tree = Tree::parse("a: &x {b: 1}\nc: *x\n").unwrap();
    assert_eq!(tree.to_value(), serde_json::json!({ "a": { "b": 1 }, "c": { "b": 1 } }));
}

#[test]
fn keys_twice_name_both_places() {
    assert_eq!(
        wrong(&format!("{GOOD}model: fast\n")),
        "39:1: the key `model` is here twice\nhint: it is already at 4:1"
    );
    assert_eq!(
        wrong(&changed("  budget:\n", "  venue:\n")).lines().next(),
        Some("25:3: the key `venue` is here twice")
    );
}

#[test]
fn what_yaml_can_and_we_do_not() {
    assert_eq!(
        wrong(&changed("model: default", "model: !!python/object x")).lines().next(),
        Some("4:8: tags such as `tag:yaml.org,2002:!python/object` are not supported")
    );
    assert_eq!(
        wrong("workflow: a\n---\nworkflow: b\n"),
        "2:1: a second document begins here\nhint: keep one workflow in a file and remove the `---`"
    );
    assert_eq!(
        wrong(&changed("limits: {", "limits: { 7: x, <<: {}, .inf: 1, ")),
        "38:11: a key must be text\nhint: put it in quotes\n\
         38:17: merge keys are not supported\nhint: write the keys out, or repeat a whole value with an alias\n\
         38:25: infinite and undefined numbers are not supported\nhint: put it in quotes if it is meant as text\n\
         38:25: a key must be text\nhint: put it in quotes"
    );
}

#[test]
fn positions_of_values_and_keys() {
    let tree = Tree::parse("a:\n  - x: 1\n    \"y/z\": {k: [1, 22]}\n").unwrap();
    let at =
        |pointer: &str| (tree.value_position(pointer).line, tree.value_position(pointer).column);
    assert_eq!(at("/a/0/x"), (2, 8));
    assert_eq!(at("/a/0/y~1z/k/1"), (3, 20));
    assert_eq!(at("/a/0/nothing"), (2, 5));
    let key = tree.key_position("/a/0/y~1z");
    assert_eq!((key.line, key.column), (3, 5));
}

#[test]
fn a_caret_points_at_the_place() {
    let text = changed("tools: [web_search, ", "tools: [web_serch, ");
    let problems = crate::support::parse(&text).unwrap_err();
    assert_eq!(
        problems[0].clone().in_file("party.yaml").render(&text),
        "party.yaml:22:13: there is no tool `web_serch`\n\
         22 |     tools: [web_serch, request_user_input]\n   |             ^\n\
         hint: did you mean `web_search`?"
    );
}

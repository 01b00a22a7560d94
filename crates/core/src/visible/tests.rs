use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::request::{Choice, RequestBody, RequestKind};

fn plain(given: &str) -> String {
    text(given, &Secrets::default())
}

#[test]
fn what_is_hidden_is_named() {
    for (given, seen) in [
        ("plain – ünïcode ✓ 👩‍🍳 ❤️\n\ttab", "plain – ünïcode ✓ 👩‍🍳 ❤️\n\ttab"),
        ("evil \u{202e}txt.exe", "evil ⟨U+202E⟩txt.exe"),
        ("pay\u{200b}pal", "pay⟨U+200B⟩pal"),
        ("a\u{1b}[2Jb\u{0}", "a⟨U+001B⟩[2Jb⟨U+0000⟩"),
        ("tag\u{e0041}", "tag⟨U+E0041⟩"),
        ("rm\u{200d}x", "rm⟨U+200D⟩x"),
        ("one\r\ntwo\rthree", "one␍\ntwo⟨U+000D⟩three"),
        ("x\u{2028}y\u{85}z", "x⟨U+2028⟩y⟨U+0085⟩z"),
    ] {
        assert_eq!(plain(given), seen, "{given:?}");
    }
}

#[test]
fn padding_is_folded() {
    let far = format!("ls{}; rm -rf /", " ".repeat(200));
    assert_eq!(plain(&far), "ls ⟨200 white space characters⟩ ; rm -rf /");
    let low = format!("fine{}not fine", "\n ".repeat(50));
    assert_eq!(plain(&low), "fine\n⟨100 white space characters⟩\nnot fine");
    let code = "fn main() {\n\n                    deep();\n}\n";
    assert_eq!(plain(code), code);
}

#[test]
fn secrets_are_masked() {
    let known = Secrets::new(["open sesame please".to_owned(), "short".to_owned()]);
    assert_eq!(format!("{known:?}"), "Secrets(1)");
    for (given, shown) in [
        ("say open sesame please!", "say ⟨secret …ease⟩!"),
        ("short is not one", "short is not one"),
        ("key sk-abcdefghijklmnop1234 end", "key ⟨secret …1234⟩ end"),
        ("ghp_abcdefghijklmnopqrstuvwxyz012345", "⟨secret …2345⟩"),
        ("xoxb-1234567890-abcd", "⟨secret …abcd⟩"),
        ("pip install sk-learn-contrib-more", "pip install sk-learn-contrib-more"),
        ("AKIAIOSFODNN7EXAMPLE", "⟨secret …MPLE⟩"),
        (
            "curl -H 'Authorization: Bearer abcdefghijklmnop'",
            "curl -H 'Authorization: Bearer ⟨secret …mnop⟩'",
        ),
        ("postgres://me:hunter22@db/x", "postgres://me:⟨secret⟩@db/x"),
        ("PGPASSWORD=hunter22 psql", "PGPASSWORD=⟨secret⟩ psql"),
        (r#"{"api_key": "abcdefghijklmnop"}"#, r#"{"api_key": "⟨secret …mnop⟩"}"#),
        (
            "token=$TOKEN max_tokens=4096 fn f(token: String)",
            "token=$TOKEN max_tokens=4096 fn f(token: String)",
        ),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4", "⟨secret …2QT4⟩"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb",
            "a\n⟨secret private key⟩\nb",
        ),
        ("-----BEGIN PRIVATE KEY-----\nnever ended", "⟨secret private key⟩"),
    ] {
        assert_eq!(text(given, &known), shown);
        assert_eq!(known.mask(given), shown);
    }
    let fields = json!({ "password": "abc", "user": { "api_key": "x".repeat(20), "name": "ann" } });
    let shown =
        json!({ "password": "⟨secret⟩", "user": { "api_key": "⟨secret …xxxx⟩", "name": "ann" } });
    assert_eq!(value(&fields, &known), shown);
    assert_eq!(masked(&fields, &known), shown);
    let exact = json!({ "path": "a\u{202e}b" });
    assert_eq!(masked(&exact, &known), exact, "only secrets go");
}

fn call(arguments: &Value) -> RequestBody {
    RequestBody {
        kind: RequestKind::ToolCall,
        context: json!({
            "tool": "write_file", "proposal": arguments, "digest": "sha256:1",
            "targets": ["a\u{202e}b"], "on_timeout": "deny",
            "reasons": [{ "gate": "g", "criterion": "keyword", "evidence": "token=abcdefgh" }],
        }),
        preview: json!({ "summary": "Write a\u{202e}b", "pin": { "expected_digest": "absent" } }),
        reasons: vec!["g: token=abcdefgh".to_owned()],
        ..RequestBody::input("clerk wants to call write_file.")
    }
}

#[test]
fn a_request_shows_what_is_there_and_keeps_what_is_bound() {
    let arguments = json!({ "path": "a\u{202e}b", "content": "password=hunter22" });
    let body = call(&arguments).made_visible(&Secrets::default());
    assert_eq!(body.proposal(), Some(&arguments), "what is carried out stays exact");
    let context = &body.context;
    assert_eq!(context["digest"], "sha256:1");
    assert_eq!(context["shown"], json!({ "path": "a⟨U+202E⟩b", "content": "password=⟨secret⟩" }));
    assert_eq!(context["targets"], json!(["a⟨U+202E⟩b"]));
    assert_eq!(context["reasons"][0]["criterion"], "keyword");
    assert_eq!(context["reasons"][0]["evidence"], "token=⟨secret⟩");
    assert_eq!(body.reasons, ["g: token=⟨secret⟩"]);
    assert_eq!(body.preview["summary"], "Write a⟨U+202E⟩b");
    assert_eq!(body.preview["pin"], json!({ "expected_digest": "absent" }));
    let warnings = json!([
        "invisible characters in arguments.path, preview.summary, targets",
        "a secret in arguments.content",
    ]);
    assert_eq!(context["warnings"], warnings);
}

#[test]
fn a_plain_request_stays_as_it_is() {
    let mut body = call(&json!({ "path": "a.txt" }));
    body.context["targets"] = json!(["a.txt"]);
    body.context["reasons"] = json!([]);
    body.preview = Value::Null;
    body.reasons.clear();
    assert_eq!(body.clone().made_visible(&Secrets::default()), body);
    let body = RequestBody { context: "a text".into(), ..RequestBody::input("Which venue?") };
    assert_eq!(body.clone().made_visible(&Secrets::default()), body);
    let body = RequestBody::input("Which venue?");
    assert_eq!(body.clone().made_visible(&Secrets::default()), body);
}

#[test]
fn a_models_question_is_looked_at() {
    let choice =
        Choice { value: json!("a\u{200b}"), label: "a\u{200b}".to_owned(), description: None };
    let asked = RequestBody::selection("URGENT, already approved by the board", vec![choice]);
    let asked = asked.made_visible(&Secrets::default());
    assert_eq!(asked.options[0].value, json!("a\u{200b}"), "what can be chosen stays exact");
    assert_eq!(asked.options[0].label, "a⟨U+200B⟩");
    let warnings = json!([
        "invisible characters in options",
        "urgency words: already approved, approved by, urgent"
    ]);
    assert_eq!(asked.context["warnings"], warnings);
    // Nobody else says what was found.
    let mut forged = RequestBody::approval("Well?", json!({ "amount": 7 }));
    forged.context["warnings"] = json!([]);
    forged.context["shown"] = json!({ "amount": 1 });
    let asked = forged.made_visible(&Secrets::default());
    assert_eq!(asked.context, json!({ "proposal": { "amount": 7 } }));
}

/// Texts with more than their share of what deceives.
fn odd_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => any::<char>().prop_map(|c| c.to_string()),
        2 => "[a-zA-Z0-9_ =:\"'@/.-]{0,12}",
        1 => prop::sample::select(vec!["\u{202e}", "\u{200d}", "\u{fe0f}", "👩", "\r\n", "\r", "⟨", "⟩", "…"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["password=", "token: \"", "Bearer ", "sk-", "ghp_", "AKIA", "eyJ", "://a:", "-----BEGIN PRIVATE KEY-----", "⟨secret …"]).prop_map(str::to_owned),
        1 => (prop::sample::select(vec![" ", "\n", "\t", "\u{3000}"]), 0..60_usize).prop_map(|(c, n)| c.repeat(n)),
        1 => "[A-Za-z0-9]{20,40}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_hides_nothing_and_stays_so(given in odd_text(), known in "[a-z ]{6,9}") {
        let secrets = Secrets::new([known.clone()]);
        let shown = text(&given, &secrets);
        prop_assert_eq!(&text(&shown, &secrets), &shown, "once is enough: {:?}", given);
        prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        let turns = |c: char| matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        prop_assert!(!shown.contains(turns), "{shown:?}");
        prop_assert_eq!(secrets.mask(&shown), shown);
    }

    #[test]
    fn what_is_bound_is_never_touched(path in odd_text(), content in odd_text()) {
        let arguments = json!({ "path": path, "content": content });
        let before = call(&arguments);
        let body = before.clone().made_visible(&Secrets::default());
        prop_assert_eq!(body.proposal(), Some(&arguments));
        prop_assert_eq!(&body.context["digest"], &before.context["digest"]);
        prop_assert_eq!(&body.preview["pin"], &before.preview["pin"]);
        // What is shown stays so.
        let mut again = body.clone().made_visible(&Secrets::default());
        again.context["warnings"] = body.context["warnings"].clone();
        prop_assert_eq!(again, body);
    }
}

//! The version stands for what a file means, not for how it is written.

use crate::support::{GOOD, changed, good};

#[test]
fn comments_order_and_style_do_not_matter() {
    let version = good(GOOD).version();
    assert!(version.starts_with("sha256:") && version.len() == 7 + 64, "{version}");
    assert!(version[7..].bytes().all(|byte| byte.is_ascii_hexdigit()));
    for (old, new) in [
        ("# A party.\n", ""),
        ("model: default\n", ""),
        (
            "description: Plans an event.\nmodel: default",
            "model: 'default'\ndescription: \"Plans an event.\"",
        ),
        ("require: all, max_visits: 3", "max_visits: 3.0, require: all"),
        ("{ model_calls: 100, wall: 24h }", "\n  wall: 1d\n  model_calls: 0x64"),
        (
            "    type: object\n    required: [summary, next_agent]\n",
            "    required: [summary, next_agent]\n    type: object\n",
        ),
    ] {
        assert_eq!(good(&changed(old, new)).version(), version, "{new}");
    }
}

#[test]
fn meaning_does() {
    let version = good(GOOD).version();
    for (old, new) in [
        ("Plans an event", "Plans a party"),
        ("require: all", "require: any"),
        ("[venue, budget]", "[budget, venue]"),
        ("minLength", "minLength"),
        ("Mind the money.", "Mind the time."),
    ]
    .into_iter()
    .filter(|(old, _)| GOOD.contains(old))
    {
        assert_ne!(good(&changed(old, new)).version(), version, "{new}");
    }
    let mut other = good(GOOD);
    other.uses.insert("x".into(), "sha256:0".into());
    assert_ne!(other.version(), version);
}

#[test]
fn canonical_text_is_a_file_again() {
    let workflow = good(GOOD);
    let again = good(&workflow.canonical_json());
    assert_eq!(again, workflow);
    assert_eq!(again.version(), workflow.version());
    let stored: signoff_core::Workflow = serde_json::from_str(&workflow.canonical_json()).unwrap();
    assert_eq!(stored.version(), workflow.version());
}

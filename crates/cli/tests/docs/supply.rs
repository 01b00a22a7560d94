//! What the program is made of is what `deny.toml` takes: licences, sources, and what must not be there.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::page::{read, root};

/// The texts of a list in `deny.toml`.
fn list(name: &str) -> BTreeSet<String> {
    let file = read(&root().join("deny.toml"));
    let after = file.split(&format!("\n{name} = [")).nth(1).unwrap_or_else(|| panic!("{name}"));
    let inside = after.split(']').next().unwrap();
    let found: BTreeSet<String> = inside.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(!found.is_empty(), "{name}");
    found
}

/// Whether a licence expression can be fulfilled by licences that are taken.
fn is_taken(expression: &str, taken: &BTreeSet<String>) -> bool {
    // Old manifests write `/` for OR.
    let text = expression.replace('/', " OR ").replace(['(', ')'], " ");
    let one = |licence: &str| taken.contains(licence.trim());
    let all = |these: &str| these.split(" AND ").all(one);
    // `A AND (B OR C)`, without brackets: enough that every side of an AND has one that is taken.
    text.split(" OR ").any(all) || text.split(" AND ").all(|side| side.split(" OR ").any(one))
}

#[test]
fn expressions_are_understood() {
    let taken: BTreeSet<String> = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned).into();
    for (expression, is) in [
        ("MIT", true),
        ("MIT OR GPL-3.0", true),
        ("MIT/Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("GPL-3.0", false),
        ("MIT AND GPL-3.0", false),
        ("(GPL-3.0 OR AGPL-3.0) AND MIT", false),
    ] {
        assert_eq!(is_taken(expression, &taken), is, "{expression}");
    }
}

#[test]
fn every_crate_has_a_licence_and_a_source_that_is_taken() {
    // Crates for other systems may not have been fetched here.
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let said = String::from_utf8(rustc.stdout).unwrap();
    let host = said.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--all-features", "--locked", "--offline"])
        .args(["--filter-platform", host])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let (licences, registries) = (list("allow"), list("allow-registry"));
    let banned = ["openssl", "openssl-sys", "native-tls"];
    let mut wrong = Vec::new();
    let packages = metadata["packages"].as_array().unwrap();
    for package in packages {
        let name = format!("{} {}", package["name"], package["version"]);
        match package["license"].as_str() {
            Some(licence) if is_taken(licence, &licences) => {}
            licence => wrong.push(format!("{name}: licence {licence:?}")),
        }
        let source = package["source"].as_str().map(|it| it.trim_start_matches("registry+"));
        if source.is_some_and(|source| !registries.contains(source)) {
            wrong.push(format!("{name}: source {source:?}"));
        }
        if banned.iter().any(|it| package["name"] == *it) {
            wrong.push(format!("{name} must not be there"));
        }
    }
    assert!(packages.len() > 100, "{}", packages.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

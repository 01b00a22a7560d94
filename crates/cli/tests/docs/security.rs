//! The threat model names tests; they must be there.

use crate::page::{page, read, root};

#[test]
fn every_test_that_the_threat_model_names_is_there() {
    let model = page("docs/security.md").text;
    let mut named = 0;
    for quoted in model.split('`').skip(1).step_by(2) {
        let Some((file, test)) = quoted.split_once(": ") else { continue };
        if std::path::Path::new(file).extension().is_none_or(|it| it != "rs") {
            continue;
        }
        let path = root().join("crates").join(file);
        assert!(path.exists(), "docs/security.md: there is no {file}");
        let found = test == "*" || read(&path).contains(&format!("fn {test}("));
        assert!(found, "docs/security.md: {file} has no test {test}");
        named += 1;
    }
    assert!(named > 40, "only {named} tests are named");
}

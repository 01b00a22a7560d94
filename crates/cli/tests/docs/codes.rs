//! `docs/errors.md` has every error code, and no other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::page::{page, read, root};

#[test]
fn every_error_code_is_explained() {
    let documented: BTreeSet<String> = page("docs/errors.md")
        .text
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned()))
        .collect();
    let mut made = BTreeSet::new();
    for file in sources() {
        collect(&read(&file), &mut made);
    }
    assert!(made.len() > 20, "codes were found: {made:?}");
    let missing: Vec<_> = made.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/errors.md: {missing:?}");
    let gone: Vec<_> = documented.difference(&made).collect();
    assert!(gone.is_empty(), "in docs/errors.md, but nothing makes them: {gone:?}");
}

/// Source files that are not tests or measurements.
fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for crate_folder in std::fs::read_dir(root().join("crates")).unwrap() {
        walk(&crate_folder.unwrap().path().join("src"), &mut files);
    }
    files
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let for_tests = name.ends_with("tests")
            || ["testkit", "model-server"]
                .iter()
                .any(|name| path.starts_with(root().join("crates").join(name)));
        if for_tests || ["bench", "conformance"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
}

/// The codes in `ErrorInfo::new("code", …)`, `ToolError::new("code", …)`, the short forms `hinted` and
/// `info`, `let code = …;` and
/// `fn code(&self)`.
fn collect(source: &str, codes: &mut BTreeSet<String>) {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let source: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    for constructor in ["ErrorInfo::new(", "ToolError::new(", "hinted(", "info("] {
        for after in source.split(constructor).skip(1) {
            if let Some(literal) = after.trim_start().strip_prefix('"') {
                codes.extend(literal.split('"').next().map(str::to_owned));
            }
        }
    }
    for (begin, end) in [("let code = ", ";\n"), ("fn code(&self)", "\n    }\n")] {
        for after in source.split(begin).skip(1) {
            let body = after.split(end).next().unwrap();
            codes.extend(literals(body));
        }
    }
}

/// The string literals that look like codes.
fn literals(body: &str) -> impl Iterator<Item = String> {
    let is_code = |text: &&str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(fits)
    };
    body.split('"').skip(1).step_by(2).filter(is_code).map(str::to_owned)
}

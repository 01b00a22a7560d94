//! `docs/errors.md` has every error code, and no other; and each has a page that says what to do.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::page::{page, read, root};

/// The shortest and the longest page, in lines.
const LINES: std::ops::RangeInclusive<usize> = 10..=25;

#[test]
fn every_error_code_is_explained() {
    let documented: BTreeSet<String> = listed().into_iter().map(|(code, _)| code).collect();
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

#[test]
fn every_error_code_has_a_page() {
    let mut listed_pages = BTreeSet::new();
    for (code, target) in listed() {
        assert_eq!(target, format!("errors/{code}.md"), "where docs/errors.md leads");
        listed_pages.insert(format!("{code}.md"));
    }
    let there: BTreeSet<String> = std::fs::read_dir(root().join("docs/errors"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(there, listed_pages, "the pages in docs/errors, and those docs/errors.md leads to");
}

#[test]
fn every_page_of_an_error_says_what_to_do() {
    for (code, target) in listed() {
        let page = page(&format!("docs/{target}"));
        let lines = page.text.lines().count();
        assert!(LINES.contains(&lines), "{code}: {lines} lines");
        let mut parts = page.text.split("\n## ");
        let head = parts.next().unwrap();
        let means = head.strip_prefix(&format!("# {code}\n\n")).unwrap_or_default();
        assert!(!means.trim().is_empty(), "{code}: it does not say what it means");
        let parts: Vec<(&str, &str)> = parts.map(|part| part.split_once("\n\n").unwrap()).collect();
        let titles: Vec<&str> = parts.iter().map(|(title, _)| *title).collect();
        assert_eq!(titles, ["Where", "Why", "What to do", "Example"], "{code}");
        for (title, text) in &parts[1..3] {
            assert!(text.lines().any(|line| line.starts_with("- ")), "{code}: {title}: {text}");
        }
        let blocks = page.blocks();
        let [example] = &blocks[..] else { panic!("{code}: one example") };
        match example.language.as_str() {
            "json" => {
                let value: Value = serde_json::from_str(&example.text).unwrap();
                let error = value.get("error").unwrap_or(&value);
                assert_eq!(error["code"], *code, "{}", example.text);
                assert!(error["message"].is_string(), "{}", example.text);
            }
            "console" => assert!(!example.text.trim().is_empty(), "{code}"),
            other => panic!("{code}: an example in {other}"),
        }
    }
}

/// The codes in `docs/errors.md`, and where each leads.
fn listed() -> Vec<(String, String)> {
    let listed: Vec<_> = page("docs/errors.md")
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("| [`")?.split_once("`]("))
        .map(|(code, rest)| (code.to_owned(), rest.split(')').next().unwrap().to_owned()))
        .collect();
    assert!(listed.len() > 20, "codes are listed: {listed:?}");
    listed
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

//! Reading and changing files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::Tools;

#[tokio::test]
async fn a_file_is_read_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::files(folder.path());
    fs::write(folder.path().join("f"), "one\ntwo\r\nthree\nfour").unwrap();
    let all = tools.call("read_file", json!({ "path": "./f" })).await.unwrap();
    assert_eq!(all["content"], "one\ntwo\r\nthree\nfour");
    assert_eq!((&all["lines"], &all["bytes"]), (&json!(4), &json!(19)));
    assert!(all.get("next_offset").is_none());
    let some = json!({ "path": "f", "offset": 2, "limit": 2 });
    let some = tools.call("read_file", some).await.unwrap();
    assert_eq!(some["content"], "two\r\nthree\n");
    assert_eq!((&some["first_line"], &some["last_line"]), (&json!(2), &json!(3)));
    assert_eq!((&some["next_offset"], &some["left"]), (&json!(4), &json!("1 of 4 lines")));
    assert_eq!(some["digest"], all["digest"]);
    assert_eq!(tools.code("read_file", json!({ "path": "f", "offset": 5 })).await, "no_such_line");
    fs::write(folder.path().join("empty"), "").unwrap();
    let empty = tools.call("read_file", json!({ "path": "empty" })).await.unwrap();
    assert_eq!((&empty["content"], &empty["lines"]), (&json!(""), &json!(0)));
}

#[tokio::test]
async fn five_megabytes_come_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::files(folder.path());
    let lines = (0..90_000).map(|n| format!("line {n} \t\"quoted\" {}\n", "ä".repeat(20)));
    let text = lines.collect::<Vec<_>>().concat();
    assert!(text.len() > 5_000_000);
    fs::write(folder.path().join("big"), &text).unwrap();
    let (mut read, mut offset, mut calls) = (String::new(), json!(1), 0);
    while !offset.is_null() {
        let wanted = json!({ "path": "big", "offset": offset, "limit": 100_000 });
        let piece = tools.call("read_file", wanted).await.unwrap();
        read += piece["content"].as_str().unwrap();
        offset = piece["next_offset"].clone();
        calls += 1;
    }
    assert!(read == text, "every line comes once");
    assert!((20..40).contains(&calls), "{calls}");

    fs::write(folder.path().join("line"), "ä".repeat(400_000) + "\nend").unwrap();
    let piece = tools.call("read_file", json!({ "path": "line" })).await.unwrap();
    assert!(piece["note"].as_str().unwrap().starts_with("line 1 is longer"));
    assert_eq!(piece["next_offset"], 2);
    let piece = tools.call("read_file", json!({ "path": "line", "offset": 2 })).await.unwrap();
    assert_eq!(piece["content"], "end");
}

#[tokio::test]
async fn what_is_not_text_is_reported_and_not_dumped() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::files(folder.path());
    for (content, says) in [
        (b"PNG\0\x01".as_slice(), "a zero byte at 3"),
        (b"ok\n\xff\xfe", "invalid UTF-8 at byte 3"),
        (b"ends in \xc3", "invalid UTF-8 at byte 8"),
    ] {
        fs::write(folder.path().join("f"), content).unwrap();
        let error = tools.call("read_file", json!({ "path": "f" })).await.unwrap_err().0;
        assert_eq!(error.code, "not_text");
        assert!(error.message.contains(says), "{}", error.message);
        assert!(error.message.contains(&format!("{} bytes", content.len())));
        let edit = json!({ "path": "f", "old_text": "a", "new_text": "b" });
        assert!(["not_text", "no_match"].contains(&tools.code("edit_file", edit).await.as_str()));
    }
}

#[tokio::test]
async fn a_write_is_exactly_what_was_shown() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::files(folder.path());
    let mut write = json!({ "path": "a/b/new.md", "content": "one\ntwo\n" });
    let shown = tools.preview("write_file", write.clone()).await.unwrap();
    assert_eq!(shown["summary"], "Create a/b/new.md (2 lines, 8 bytes)");
    assert_eq!(shown["diff"], "--- /dev/null\n+++ b/a/b/new.md\n@@ -0,0 +1,2 @@\n+one\n+two\n");
    assert!(!folder.path().join("a").exists(), "nothing happens before it is approved");
    write["expected_digest"] = shown["pin"]["expected_digest"].clone();
    assert_eq!(write["expected_digest"], "absent");

    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    fs::write(folder.path().join("a/b/new.md"), "somebody else's").unwrap();
    assert_eq!(tools.code("write_file", write.clone()).await, "file_changed");
    fs::remove_file(folder.path().join("a/b/new.md")).unwrap();
    let done = tools.call("write_file", write.clone()).await.unwrap();
    assert_eq!(done["result"], "created");
    // A second attempt at the same call.
    let again = tools.call("write_file", write).await.unwrap();
    assert_eq!((&again["result"], &again["digest"]), (&json!("unchanged"), &done["digest"]));

    let file = folder.path().join("a/b/new.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
    let write =
        json!({ "path": "a/b/new.md", "content": "one\n2\n", "expected_digest": done["digest"] });
    let shown = tools.preview("write_file", write.clone()).await.unwrap();
    assert!(shown["diff"].as_str().unwrap().ends_with("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"));
    assert_eq!(tools.call("write_file", write).await.unwrap()["result"], "replaced");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n2\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o750);
    let left: Vec<_> = fs::read_dir(folder.path().join("a/b")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file stays");
}

#[tokio::test]
async fn what_a_crash_left_is_cleared_by_the_next_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::files(folder.path());
    let write = json!({ "path": "f", "content": "x" });
    tools.call_as("k", "write_file", write.clone()).await.unwrap();
    fs::remove_file(folder.path().join("f")).unwrap();
    // What a first attempt leaves if the machine stops before the file has its name.
    let sum = <sha2::Sha256 as sha2::Digest>::digest(b"k");
    let hex = sum.iter().take(10).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let left = folder.path().join(format!(".signoff-{hex}.tmp"));
    fs::write(&left, "half").unwrap();
    tools.call_as("k", "write_file", write).await.unwrap();
    assert!(!left.exists());
    assert_eq!(fs::read_to_string(folder.path().join("f")).unwrap(), "x");
}

#[tokio::test]
async fn an_edit_names_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::files(folder.path());
    fs::write(folder.path().join("f"), "a = 1\nb = 1\n").unwrap();
    let edit = |old: &str, new: &str, all: bool| json!({ "path": "f", "old_text": old, "new_text": new, "all": all });
    let error = tools.call("edit_file", edit("= 1", "= 2", false)).await.unwrap_err().0;
    assert_eq!(error.code, "several_matches");
    assert!(error.message.ends_with("lines 1, 2"));
    assert_eq!(tools.code("edit_file", edit("c", "d", false)).await, "no_match");
    assert_eq!(tools.code("edit_file", edit("a", "a", false)).await, "no_change");
    let shown = tools.preview("edit_file", edit("a = 1", "a = 2", false)).await.unwrap();
    assert_eq!(shown["summary"], "Edit f in one place");
    let mut pinned = edit("a = 1", "a = 2", false);
    pinned["expected_digest"] = shown["pin"]["expected_digest"].clone();
    let done = tools.call("edit_file", pinned.clone()).await.unwrap();
    assert_eq!(done["diff"], shown["diff"]);
    assert_eq!(done["diff"], "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 2\n b = 1\n");
    assert_eq!(tools.code("edit_file", pinned).await, "file_changed");
    let done = tools.call("edit_file", edit(" = ", ": ", true)).await.unwrap();
    assert_eq!(done["replaced"], 2);
    assert_eq!(fs::read_to_string(folder.path().join("f")).unwrap(), "a: 2\nb: 1\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_at_the_same_time_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let tools = std::sync::Arc::new(Tools::files(folder.path()));
    let text = (0..40).map(|n| format!("<{n}>\n")).collect::<Vec<_>>().concat();
    fs::write(folder.path().join("f"), &text).unwrap();
    let calls: Vec<_> = (0..40)
        .map(|n| {
            let tools = std::sync::Arc::clone(&tools);
            tokio::spawn(async move {
                let edit = json!({ "path": "f", "old_text": format!("<{n}>"), "new_text": format!("[{n}]") });
                tools.call_as(&format!("k{n}"), "edit_file", edit).await.unwrap();
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    let now = fs::read_to_string(folder.path().join("f")).unwrap();
    assert_eq!(now, text.replace('<', "[").replace('>', "]"));
}

#[tokio::test]
async fn deleting_is_for_files_and_empty_folders() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::files(folder.path());
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("d/f"), "text").unwrap();
    assert_eq!(tools.code("delete_file", json!({ "path": "d" })).await, "folder_not_empty");
    assert_eq!(tools.code("delete_file", json!({ "path": "." })).await, "bad_path");
    let shown = tools.preview("delete_file", json!({ "path": "d/f" })).await.unwrap();
    assert_eq!(
        (&shown["summary"], &shown["detail"]),
        (&json!("Delete d/f (4 bytes)"), &json!("text"))
    );
    assert_eq!(shown["files"], json!({ "count": 1, "sample": ["d/f"] }));
    let pinned = json!({ "path": "d/f", "expected_digest": shown["pin"]["expected_digest"] });
    fs::write(folder.path().join("d/f"), "newer").unwrap();
    assert_eq!(tools.code("delete_file", pinned).await, "file_changed");
    assert_eq!(
        tools.call("delete_file", json!({ "path": "d/f" })).await.unwrap()["result"],
        "deleted"
    );
    assert_eq!(
        tools.call("delete_file", json!({ "path": "d/f" })).await.unwrap()["result"],
        "not_there"
    );
    assert_eq!(tools.call("delete_file", json!({ "path": "d" })).await.unwrap()["kind"], "folder");
    assert!(!folder.path().join("d").exists());
}

#[tokio::test]
async fn a_listing_is_bounded_and_begins_with_what_is_near() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::files(folder.path());
    fs::create_dir_all(folder.path().join("a/deep/er")).unwrap();
    for n in 0..600 {
        fs::write(folder.path().join(format!("a/deep/{n}.txt")), "x").unwrap();
    }
    fs::write(folder.path().join("a/deep/er/x.rs"), "").unwrap();
    fs::write(folder.path().join("z.rs"), "123").unwrap();
    let paths = |listed: &serde_json::Value| -> Vec<String> {
        let entries = listed["entries"].as_array().unwrap();
        entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
    };
    let near = tools.call("list_files", json!({ "depth": 1 })).await.unwrap();
    assert_eq!(
        near["entries"],
        json!([{ "path": "a", "kind": "folder" }, { "path": "z.rs", "kind": "file", "bytes": 3 }])
    );
    let all = tools.call("list_files", json!({})).await.unwrap();
    assert_eq!(paths(&all).len(), 500);
    assert!(paths(&all).contains(&"z.rs".to_owned()) && all.get("more").is_some());
    let code = tools.call("list_files", json!({ "depth": 9, "glob": "*.rs" })).await.unwrap();
    assert_eq!(paths(&code), ["a/deep/er/x.rs", "z.rs"]);
    let code = tools
        .call("list_files", json!({ "path": "a", "depth": 9, "glob": "deep/**/*.rs" }))
        .await
        .unwrap();
    assert_eq!(paths(&code), ["a/deep/er/x.rs"]);
    assert_eq!(tools.code("list_files", json!({ "glob": "[" })).await, "bad_glob");
    assert_eq!(tools.code("list_files", json!({ "path": "z.rs" })).await, "not_a_folder");
}

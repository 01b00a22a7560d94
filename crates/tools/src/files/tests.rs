use proptest::prelude::*;

use super::change::diff;
use super::edit::{Problem, replace};
use super::path::Relative;

#[test]
fn overlapping_occurrences_are_two() {
    assert_eq!(replace("aaa", "aa", "b", false), Err(Problem::Several(vec![1, 1])));
    assert_eq!(replace("aaa", "aa", "b", true), Ok(("ba".to_owned(), 1)));
    assert_eq!(replace("x\nx\n", "x", "y", false), Err(Problem::Several(vec![1, 2])));
    assert_eq!(replace("a\r\nb", "a\nb", "c", false), Err(Problem::Missing { line_ends: true }));
    assert_eq!(replace("a", "a", "a", false), Err(Problem::Same));
}

#[test]
fn a_new_file_comes_from_nowhere() {
    let path = Relative::parse("a/b.txt").unwrap();
    assert_eq!(diff(&path, None, "x\n"), "--- /dev/null\n+++ b/a/b.txt\n@@ -0,0 +1 @@\n+x\n");
}

/// What `patch` would make of `before`.
fn patched(before: &str, diff: &str) -> String {
    let mut old = before.split_inclusive('\n');
    let mut after = String::new();
    let mut at = 1;
    let lines: Vec<&str> = diff.split_inclusive('\n').skip(2).collect();
    for (index, line) in lines.iter().enumerate() {
        if let Some(range) = line.strip_prefix("@@ -") {
            let range = range.split(' ').next().unwrap();
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            let (start, count): (usize, usize) = (start.parse().unwrap(), count.parse().unwrap());
            // A hunk that takes nothing away stands after the line it names.
            for line in old.by_ref().take(start + usize::from(count == 0) - at) {
                after.push_str(line);
                at += 1;
            }
            continue;
        }
        if line.starts_with('\\') {
            continue;
        }
        let open = lines.get(index + 1).is_some_and(|next| next.starts_with('\\'));
        let text = if open { line[1..].strip_suffix('\n').unwrap() } else { &line[1..] };
        if line.starts_with(' ') || line.starts_with('-') {
            assert_eq!(old.next(), Some(text), "{diff}");
            at += 1;
        }
        if line.starts_with(' ') || line.starts_with('+') {
            after.push_str(text);
        }
    }
    after.extend(old);
    after
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec("[ab ä]{0,3}\n?", 0..30).prop_map(|lines| lines.concat())
}

proptest! {
    /// A diff says all there is to say: applied to what was there, it gives what is there now.
    #[test]
    fn a_diff_is_the_whole_change(before in text(), after in text()) {
        prop_assume!(before != after);
        let shown = diff(&Relative::parse("f").unwrap(), Some(&before), &after);
        prop_assert_eq!(patched(&before, &shown), after);
    }

    #[test]
    fn an_edit_changes_what_it_names_and_nothing_else(
        before in "[ab\n]{0,20}", old in "[ab\n]{1,3}", new in "[abc\n]{0,4}", after in "[ab\n]{0,20}"
    ) {
        prop_assume!(old != new);
        let text = format!("{before}{old}{after}");
        let places = (0..text.len()).filter(|at| text[*at..].starts_with(&old)).count();
        match replace(&text, &old, &new, false) {
            Ok((changed, times)) => {
                prop_assert_eq!((places, times), (1, 1));
                prop_assert_eq!(changed, format!("{before}{new}{after}"));
            }
            Err(Problem::Several(lines)) => prop_assert!(places > 1 && lines.len() == places.min(5)),
            Err(problem) => prop_assert!(false, "{:?}", problem),
        }
        prop_assert_eq!(replace(&text, &old, &new, true).unwrap().0, text.replace(&old, &new));
    }

    /// Whatever an agent writes, what is walked is made of plain names.
    #[test]
    fn a_path_has_only_plain_names(text in "(\\PC|[./\\x00-\\x20\u{202e}\u{200b}]|\\.\\./|//){0,12}") {
        if let Ok(path) = Relative::parse(&text) {
            prop_assert!(!text.starts_with('/'));
            for name in path.names() {
                prop_assert!(!name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']));
            }
            prop_assert_eq!(Relative::parse(&path.to_string()).unwrap(), path);
        }
    }
}

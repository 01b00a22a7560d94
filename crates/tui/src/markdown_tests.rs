use proptest::prelude::*;

use super::*;

fn shown(text: &str, columns: usize) -> String {
    let lines = lines(text, columns, Theme::Plain);
    let text: Vec<String> =
        lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect();
    text.join("\n")
}

const EVERYTHING: &str = "# A party for 30\n\nA paragraph with **bold**, *soft* and `code` that is longer than the line is wide.\n\n\
- one\n- two with words that go on to the next line\n  1. inner\n  2. inner again\n\n> said by somebody else\n\n\
```sh\nrm -rf ./build && echo 'a line of code that is too long'\n```\n\n\
| Item | Cost |\n|---|---:|\n| Catering for all guests | $750 |\n| **Total** | **$3,000** |\n\n---\n\n[the site](https://example.com) and - [x] done";

#[test]
fn everything_in_forty_columns() {
    insta::assert_snapshot!("markdown_40", shown(EVERYTHING, 40));
    insta::assert_snapshot!("markdown_24", shown(EVERYTHING, 24));
}

#[test]
fn what_is_unfinished_is_shown() {
    assert_eq!(shown("it is **very", 40), "it is **very");
    assert_eq!(shown("```rust\nfn main", 40), "╭ rust\n│ fn main");
    assert_eq!(shown("| a | b |\n|---|---|\n| 1", 40), "a │ b\n──┼──\n1 │");
}

#[test]
fn nothing_a_terminal_would_act_on_is_left() {
    let shown = shown("a\u{1b}[2Jb `\u{9b}31m` \u{202e}c", 60);
    assert_eq!(shown, "a⟨U+001B⟩[2Jb ⟨U+009B⟩31m ⟨U+202E⟩c");
}

proptest! {
    #[test]
    fn no_line_is_too_wide(text in "([a-z漢*_`#>|\\-\\n\\[\\]()0-9. ]{0,12}[\\n ]{0,2}){0,12}", columns in 12usize..50) {
        for line in lines(&text, columns, Theme::Dark) {
            // Deep quotes and lists keep at least four columns for words.
            let deep = line.to_string().chars().take_while(|c| " ▌•.│0123456789".contains(*c)).count();
            prop_assert!(line.width() <= columns.max(deep + 8) || line.to_string().contains('┼') || line.to_string().contains('│'), "{line}");
        }
    }
}

use proptest::prelude::*;
use serde_json::json;

use super::*;

proptest! {
    #[test]
    fn cuts_take_as_much_room_as_they_may(text in "\\PC{0,40}|[\\x00-\\x7f\u{fffd}ä😀]{0,40}", room in 0_usize..120) {
        let taken = |text: &str| json!(text).to_string().len() - 2;
        let (first, last) = (head(&text, room), tail(&text, room));
        prop_assert!(text.starts_with(first) && text.ends_with(last));
        prop_assert!(taken(first) <= room && taken(last) <= room);
        if let Some(next) = text[first.len()..].chars().next() {
            let longer = format!("{first}{next}");
            prop_assert!(taken(&longer) > room);
        }
        if taken(&text) <= room {
            prop_assert_eq!(first, last);
        }
    }
}

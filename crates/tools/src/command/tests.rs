use proptest::prelude::*;
use serde_json::{Map, Value};

use super::output::Output;
use super::quoted;

fn shown(pieces: &[&[u8]], most: usize) -> Map<String, Value> {
    let mut output = Output::new(most);
    for piece in pieces {
        output.keep(piece);
    }
    let mut result = Map::new();
    output.put("stdout", &mut result);
    result
}

#[test]
fn the_beginning_and_the_end_are_kept() {
    let result = shown(&[b"abcdefgh", b"ijklm", b"nop"], 8);
    assert_eq!(result["stdout"], "abcd\n… about 8 bytes left out …\nmnop");
    assert_eq!(result["stdout_bytes"], 16);
    assert_eq!(shown(&[b"abcd", b"efgh"], 8)["stdout"], "abcdefgh");
}

#[test]
fn a_character_cut_in_two_is_not_a_mistake_of_the_program() {
    let text = "ä€😀".repeat(20);
    for most in 2..40 {
        let result = shown(&[text.as_bytes()], most);
        assert!(!result["stdout"].as_str().unwrap().contains('\u{fffd}'), "{most}: {result:?}");
        assert!(!result.contains_key("stdout_note"));
    }
    let result = shown(&[b"a\xff\xfeb"], 100);
    assert_eq!(result["stdout"], "a\u{fffd}\u{fffd}b");
    assert!(result.contains_key("stdout_note"));
}

#[test]
fn control_characters_take_no_more_room_than_there_is() {
    let result = shown(&[&vec![1; 98_304]], 98_304);
    assert!(Value::Object(result).to_string().len() < 101 * 1024);
}

#[test]
fn arguments_are_told_apart() {
    assert_eq!(quoted("a b"), "\"a b\"");
    assert_eq!(quoted(""), "\"\"");
    assert_eq!(quoted("--x=1"), "--x=1");
}

proptest! {
    #[test]
    fn what_fits_is_whole_and_what_does_not_is_bounded(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..20),
        most in 2_usize..200,
    ) {
        let refs: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let all = pieces.concat();
        let result = shown(&refs, most);
        if all.len() <= most / 2 * 2 {
            prop_assert_eq!(result["stdout"].as_str().unwrap(), String::from_utf8_lossy(&all));
        } else {
            prop_assert_eq!(result["stdout_bytes"].as_u64().unwrap(), all.len() as u64);
            prop_assert!(result["stdout"].as_str().unwrap().len() <= most * 3 + 60);
        }
    }
}

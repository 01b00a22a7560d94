//! What is shown of words on their way.

use super::*;

#[test]
fn what_was_shown_is_found_again() {
    assert_eq!(rest_after("Hello you\nthere", "Hello y"), Some("ou\nthere"));
    assert_eq!(rest_after("a\nb c", "ab"), Some(" c"));
    assert_eq!(rest_after("a b", "ab"), Some(""));
    assert_eq!(rest_after("a b", ""), Some("a b"));
    assert_eq!(rest_after("a", "ab"), None);
    assert_eq!(rest_after("xa", "a"), None);
}

fn told(telling: &mut Telling) -> String {
    telling.ready.drain(..).collect()
}

fn call(activation: ActivationId, key: &str) -> ModelCall {
    ModelCall { activation, key: key.into() }
}

#[test]
fn what_is_cut_off_reads_sensibly() {
    let mut telling = Telling::new(0, false, None);
    let (ann, bob) = ("ann".into(), "bob".into());
    telling.delta(&ann, call(1, "m1"), "Hel");
    telling.delta(&bob, call(2, "m1"), "I also");
    telling.delta(&ann, call(1, "m1"), "lo");
    telling.restart(&call(2, "m1"));
    telling.restart(&call(1, "m1"));
    telling.delta(&ann, call(1, "m1"), "Good");
    telling.delta(&ann, call(1, "m1"), " day");
    telling.delta(&ann, call(1, "m2"), "Sir");
    let text = told(&mut telling);
    let wanted = "ann: Hello […]\n(That was cut off; it begins again.)\n\nann: Good day\nSir";
    assert_eq!(text, wanted);
}

#[test]
fn data_waits_for_its_entry() {
    let mut telling = Telling::new(0, false, None);
    let ann = "ann".into();
    telling.delta(&ann, call(1, "m1"), "Look:");
    for piece in [" ", "{\"a\"", ": 1}"] {
        telling.delta(&ann, call(1, "m2"), piece);
    }
    assert_eq!(told(&mut telling), "ann: Look:");
    let mut telling = Telling::new(0, true, None);
    telling.delta(&ann, call(1, "m1"), "middle of a message");
    assert_eq!(told(&mut telling), "", "the beginning was missed");
}

use signoff_store::LONGEST_WORD;

use super::*;
use crate::stream::word::LONGEST_TEXT;

fn who(agent: &str) -> Who {
    let id = || RunId::new("run_1");
    Who { run: id(), root: id(), agent: agent.into(), activation: 1, key: "m1".into() }
}

fn said(words: &[Word]) -> String {
    let texts = words.iter().map(|word| match word {
        Word::Says { text, .. } => text.as_str(),
        _ => "",
    });
    texts.collect()
}

#[test]
fn small_pieces_are_sent_together_and_large_ones_in_parts() {
    let mut speaking = Speaking::default();
    for piece in ["The ", "plan ", "is "] {
        speaking.say(who("a"), Some(piece));
    }
    assert_eq!(speaking.take().len(), 1);
    let long = "é\u{1}".repeat(2_000);
    speaking.say(who("a"), Some(&long));
    let words = speaking.take();
    assert_eq!(said(&words), long);
    assert!(words.len() >= long.len() / LONGEST_TEXT);
    for word in &words {
        let written = word.written().unwrap();
        assert!(written.len() < LONGEST_WORD, "{}", written.len());
        assert_eq!(Word::read(&written).as_ref(), Some(word));
    }
    // Each says where it belongs, from the first word on.
    let Some(Word::Says { at, .. }) = words.first() else { panic!("{words:?}") };
    assert_eq!(*at, "The plan is ".len() as u64);
}

#[test]
fn what_is_too_much_is_dropped_and_leaves_a_gap() {
    let mut speaking = Speaking::default();
    let much = "x".repeat(MOST_WAITING + 5_000);
    speaking.say(who("a"), Some(&much));
    let words = speaking.take();
    assert!(said(&words).len() <= MOST_WAITING);
    speaking.say(who("a"), Some("end"));
    let Some(Word::Says { at, .. }) = speaking.take().pop() else { panic!("nothing was said") };
    assert_eq!(at, much.len() as u64);
}

#[test]
fn two_who_speak_at_once_are_not_mixed() {
    let mut speaking = Speaking::default();
    for agent in ["a", "b", "a"] {
        let mut who = who(agent);
        who.key = agent.into();
        speaking.say(who, Some("word "));
    }
    assert_eq!(speaking.take().len(), 3);
}

#[derive(Debug)]
struct Nobody;

impl Wire for Nobody {
    fn say(&self, _: Vec<String>) {}

    fn hear(&self) -> tokio::sync::broadcast::Receiver<Arc<str>> {
        tokio::sync::broadcast::Sender::new(1).subscribe()
    }
}

#[test]
fn a_gap_is_noticed_and_a_beginning_is_not_one() {
    let exchange = Exchange::new(Arc::new(Nobody));
    let call = || (RunId::new("run_1"), who("a").call());
    // Who comes late hears the rest.
    assert!(exchange.follows(call(), 40, 10));
    assert!(exchange.follows(call(), 50, 5));
    assert!(!exchange.follows(call(), 60, 5));
    assert!(exchange.follows(call(), 65, 5));
}

#[tokio::test]
async fn nothing_is_said_that_nobody_listens_to() {
    let exchange = Exchange::new(Arc::new(Nobody));
    let (run, other) = (RunId::new("run_1"), RunId::new("run_2"));
    let speak = |run: &RunId, root: &RunId| {
        exchange.says((run, root), &"a".into(), &who("a").call(), Some("text"));
        locked(&exchange.speaking).take().len()
    };
    assert_eq!(speak(&run, &run), 0);
    locked(&exchange.wanted).insert(run.clone(), Instant::now() + COUNTS_FOR);
    assert_eq!(speak(&run, &run), 1);
    // Who listens to the whole hears its parts.
    assert_eq!(speak(&other, &run), 1);
    assert_eq!(speak(&other, &other), 0);
    locked(&exchange.wanted).insert(run.clone(), Instant::now());
    assert_eq!(speak(&run, &run), 0);
}

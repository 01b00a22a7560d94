use super::*;
use crate::history::{Acted, Answer};

fn answer(content: &str, outcome: Outcome) -> Answer {
    Answer { content: content.to_owned(), outcome }
}

/// A conversation in which everything is right.
fn right() -> History {
    let asked = |n: usize| Asked {
        request: format!("req_{n}"),
        answers: vec![
            answer(&format!("{n}a"), Outcome::Accepted),
            answer(&format!("{n}b"), Outcome::Refused(format!("{n}a"))),
        ],
        one_by_one: true,
    };
    let acted = |step: u64| Acted { step, key: format!("key{step}") };
    History {
        name: "c-1".to_owned(),
        runs: vec!["run_1".to_owned(), "run_1".to_owned()],
        asked: vec![asked(1), asked(2)],
        found: Some(Found {
            status: "completed".to_owned(),
            output: "1a 2a".to_owned(),
            decided: vec![
                ("req_1".to_owned(), "1a".to_owned()),
                ("req_2".to_owned(), "2a".to_owned()),
            ],
            gapless: true,
        }),
        acted: vec![acted(1), acted(2)],
        ..History::default()
    }
}

/// What the checker says of a history in which something is changed.
fn after(change: impl FnOnce(&mut History)) -> Verdict {
    let mut history = right();
    change(&mut history);
    check(&[history])
}

fn found(history: &mut History) -> &mut Found {
    history.found.as_mut().unwrap()
}

#[test]
fn what_is_right_is_right() {
    assert_eq!(check(&[right()]), Verdict::default());
}

#[test]
fn what_is_lost_is_noticed() {
    let changes: [fn(&mut History); 7] = [
        |it| it.found = None,
        |it| found(it).status = "running".to_owned(),
        |it| found(it).gapless = false,
        |it| found(it).decided.truncate(1),
        |it| it.gave_up = Some("it waited for too long".to_owned()),
        |it| it.acted.truncate(1),
        |it| it.asked[1].answers[0].outcome = Outcome::Unclear("503".to_owned()),
    ];
    for (n, change) in changes.into_iter().enumerate() {
        assert!(!after(change).lost.is_empty(), "change {n}");
    }
}

#[test]
fn what_is_wrong_is_noticed() {
    let changes: [fn(&mut History); 4] = [
        |it| found(it).output = "1b 2a".to_owned(),
        |it| found(it).decided[0].1 = "1b".to_owned(),
        |it| it.asked[0].answers[1].outcome = Outcome::Refused("1c".to_owned()),
        // The second answer got in before the first, which was acknowledged before it was sent.
        |it| {
            it.asked[0].answers[0].outcome = Outcome::Refused("1b".to_owned());
            it.asked[0].answers[1].outcome = Outcome::Accepted;
            found(it).decided[0].1 = "1b".to_owned();
            found(it).output = "1b 2a".to_owned();
        },
    ];
    for (n, change) in changes.into_iter().enumerate() {
        assert!(!after(change).wrong.is_empty(), "change {n}");
    }
}

#[test]
fn what_counted_twice_is_noticed() {
    let changes: [fn(&mut History); 3] = [
        |it| it.runs[1] = "run_2".to_owned(),
        |it| it.asked[0].answers[1].outcome = Outcome::Accepted,
        |it| found(it).decided.push(("req_1".to_owned(), "1a".to_owned())),
    ];
    for (n, change) in changes.into_iter().enumerate() {
        assert!(!after(change).twice.is_empty(), "change {n}");
    }
    let mut other = right();
    other.name = "c-2".to_owned();
    assert!(!check(&[right(), other]).twice.is_empty(), "one run for two");
}

#[test]
fn an_effect_under_two_keys_is_noticed() {
    let verdict = after(|it| it.acted.push(Acted { step: 1, key: "another".to_owned() }));
    assert_eq!(verdict.repeated.len(), 1, "{verdict:?}");
}

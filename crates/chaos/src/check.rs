//! Holds what clients saw against what the journals say.

use std::collections::BTreeSet;

use crate::history::{Asked, Found, History, Outcome};

/// How many questions a conversation asks, and how often it acts.
const TIMES: usize = 2;

/// What is wrong. All of it must be nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Conversations that did not come to their end, or of which something acknowledged is not there.
    pub lost: Vec<String>,
    /// Answers that are not those that were acknowledged.
    pub wrong: Vec<String>,
    /// Starts or answers that counted twice.
    pub twice: Vec<String>,
    /// Effects that were repeated under another key.
    pub repeated: Vec<String>,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }

    /// Everything that is wrong, in lines.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        [
            ("lost", &self.lost),
            ("wrong", &self.wrong),
            ("twice", &self.twice),
            ("repeated", &self.repeated),
        ]
        .into_iter()
        .flat_map(|(what, of)| of.iter().map(move |line| format!("{what}: {line}")))
    }
}

/// Checks all conversations.
pub fn check(histories: &[History]) -> Verdict {
    let mut verdict = Verdict::default();
    let mut runs = BTreeSet::new();
    for history in histories {
        check_one(history, &mut verdict);
        if let Some(run) = history.runs.first()
            && !runs.insert(run)
        {
            verdict.twice.push(format!("{}: {run} is the run of another one too", history.name));
        }
    }
    verdict
}

fn check_one(history: &History, verdict: &mut Verdict) {
    let name = &history.name;
    let runs: BTreeSet<&String> = history.runs.iter().collect();
    if runs.len() > 1 {
        verdict.twice.push(format!("{name}: started as {runs:?}"));
    }
    if let Some(why) = &history.gave_up {
        verdict.lost.push(format!("{name}: {why}"));
        return;
    }
    let Some(found) = &history.found else {
        verdict.lost.push(format!("{name}: its run is not there"));
        return;
    };
    if found.status != "completed" {
        verdict.lost.push(format!("{name}: it is {}", found.status));
    }
    if !found.gapless {
        verdict.lost.push(format!("{name}: its journal has a gap"));
    }
    if history.asked.len() != TIMES {
        verdict.lost.push(format!("{name}: it asked {} times", history.asked.len()));
    }
    for asked in &history.asked {
        check_asked(name, asked, found, verdict);
    }
    let given: Vec<&str> = history.asked.iter().filter_map(accepted).collect();
    if found.output != given.join(" ") {
        let output = &found.output;
        verdict.wrong.push(format!("{name}: it gave {output:?} when told {given:?}"));
    }
    for step in 1..=TIMES as u64 {
        let keys: BTreeSet<&String> =
            history.acted.iter().filter(|acted| acted.step == step).map(|it| &it.key).collect();
        match keys.len() {
            1 => {}
            0 => verdict.lost.push(format!("{name}: step {step} was never done")),
            n => verdict.repeated.push(format!("{name}: step {step} was done {n} times")),
        }
    }
}

/// The answer that was acknowledged.
fn accepted(asked: &Asked) -> Option<&str> {
    let stands = asked.answers.iter().find(|answer| answer.outcome == Outcome::Accepted);
    stands.map(|answer| answer.content.as_str())
}

fn check_asked(name: &str, asked: &Asked, found: &Found, verdict: &mut Verdict) {
    let request = &asked.request;
    let decided: Vec<&String> =
        found.decided.iter().filter(|(id, _)| id == request).map(|(_, content)| content).collect();
    let stands = match decided[..] {
        [one] => one,
        [] => {
            verdict.lost.push(format!("{name}: {request} has no decision"));
            return;
        }
        _ => {
            verdict.twice.push(format!("{name}: {request} was decided as {decided:?}"));
            return;
        }
    };
    let count =
        |outcome: &Outcome| asked.answers.iter().filter(|it| it.outcome == *outcome).count();
    match count(&Outcome::Accepted) {
        1 => {}
        0 => verdict.lost.push(format!("{name}: nobody's answer to {request} was acknowledged")),
        _ => verdict.twice.push(format!("{name}: both answers to {request} were acknowledged")),
    }
    let first = asked.answers.first();
    if asked.one_by_one && first.is_some_and(|first| first.outcome != Outcome::Accepted) {
        verdict.wrong.push(format!("{name}: {request} does not have its first answer"));
    }
    for answer in &asked.answers {
        match &answer.outcome {
            Outcome::Accepted if answer.content != *stands => {
                verdict.wrong.push(format!(
                    "{name}: {request} is {stands:?}, and {:?} was acknowledged",
                    answer.content
                ));
            }
            Outcome::Refused(told) if told != stands => {
                verdict.wrong.push(format!(
                    "{name}: {request} is {stands:?}, and {told:?} was said to stand"
                ));
            }
            Outcome::Accepted | Outcome::Refused(_) => {}
            Outcome::Unclear(why) => {
                verdict.lost.push(format!("{name}: no word about an answer to {request}: {why}"));
            }
        }
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;

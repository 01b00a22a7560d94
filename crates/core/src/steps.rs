//! A plan that agents and people agree on: its steps, and what changed from one version to the next.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// A line of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What is done, in a few words.
    pub title: String,
    /// What is done, in as many words as it takes.
    pub detail: String,
    /// Who does it.
    pub agent: String,
}

/// What became of a step from one version of a plan to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What became of it.
    pub change: Changed,
    /// Its number now; none, if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Its number before; none, if it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<u32>,
    /// What it is called.
    pub title: String,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// Nothing, but perhaps its number.
    Kept,
    /// It is described otherwise, or somebody else does it.
    Changed,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
}

impl Plan {
    /// What became of each step of `before`, in the order of this plan.
    pub fn changes_since(&self, before: &Self) -> Vec<Change> {
        let (old, new) = (&before.steps, &self.steps);
        let number = |n: usize| Some(u32::try_from(n + 1).unwrap_or(u32::MAX));
        let mut changes = Vec::new();
        let (mut i, mut j) = (0, 0);
        for (kept, here) in common(old, new).into_iter().chain([(old.len(), new.len())]) {
            changes.extend((i..kept).map(|n| Change {
                change: Changed::Removed,
                step: None,
                was: number(n),
                title: old[n].title.clone(),
            }));
            changes.extend((j..here).map(|n| Change {
                change: Changed::Added,
                step: number(n),
                was: None,
                title: new[n].title.clone(),
            }));
            if let (Some(was), Some(is)) = (old.get(kept), new.get(here)) {
                changes.push(Change {
                    change: if was == is { Changed::Kept } else { Changed::Changed },
                    step: number(here),
                    was: number(kept),
                    title: is.title.clone(),
                });
            }
            (i, j) = (kept + 1, here + 1);
        }
        changes
    }

    /// The plan as a list for people and agents. `mark` says what stands before each line.
    pub fn listed(&self, mark: impl Fn(u32) -> &'static str) -> String {
        let lines = (1..).zip(&self.steps).map(|(n, step)| {
            let Step { title, detail, agent } = step;
            format!("{}{n}. {title} ({agent}): {detail}\n", mark(n))
        });
        lines.collect()
    }
}

/// The changes as lines: `+` is new, `-` is gone, `~` is changed.
pub fn changes_as_text(changes: &[Change]) -> String {
    let line = |change: &Change| {
        let mark = match change.change {
            Changed::Kept => ' ',
            Changed::Changed => '~',
            Changed::Added => '+',
            Changed::Removed => '-',
        };
        let n = change.step.or(change.was).unwrap_or_default();
        format!("{mark} {n}. {}\n", change.title)
    };
    changes.iter().map(line).collect()
}

/// The longest list of steps that both have under the same title, by their places.
fn common(old: &[Step], new: &[Step]) -> Vec<(usize, usize)> {
    let same = |i: usize, j: usize| old[i].title.trim() == new[j].title.trim();
    let mut longest = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = if same(i, j) {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if same(i, j) {
            found.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if longest[i + 1][j] >= longest[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

/// JSON Schema of a plan of at most `max` steps, each done by one of `agents`.
pub fn plan_schema(agents: &[String], max: u32) -> Value {
    json!({
        "type": "object",
        "required": ["steps"],
        "properties": {
            "steps": {
                "type": "array", "minItems": 1, "maxItems": max,
                "items": step_schema(agents),
            },
        },
        "additionalProperties": false,
    })
}

/// JSON Schema of a step that is done by one of `agents`.
pub fn step_schema(agents: &[String]) -> Value {
    json!({
        "type": "object",
        "required": ["title", "detail", "agent"],
        "properties": {
            "title": { "type": "string", "minLength": 1, "maxLength": 200 },
            "detail": { "type": "string", "maxLength": 4000 },
            "agent": { "type": "string", "enum": agents },
        },
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(steps: &[(&str, &str)]) -> Plan {
        let step = |(title, detail): &(&str, &str)| Step {
            title: (*title).to_owned(),
            detail: (*detail).to_owned(),
            agent: "a".to_owned(),
        };
        Plan { steps: steps.iter().map(step).collect() }
    }

    #[test]
    fn changes_are_by_step() {
        let before = plan(&[("read", ""), ("sum", ""), ("write", "")]);
        let now = plan(&[("read", ""), ("check", ""), ("write", "shorter")]);
        let text = changes_as_text(&now.changes_since(&before));
        assert_eq!(text, "  1. read\n- 2. sum\n+ 2. check\n~ 3. write\n");
        assert!(now.changes_since(&now).iter().all(|it| it.change == Changed::Kept));
        let nothing = plan(&[]);
        assert_eq!(changes_as_text(&nothing.changes_since(&plan(&[("x", "")]))), "- 1. x\n");
        assert_eq!(changes_as_text(&plan(&[("x", "")]).changes_since(&nothing)), "+ 1. x\n");
    }

    #[test]
    fn a_step_moved_is_gone_and_new() {
        let moved = plan(&[("b", ""), ("a", "")]).changes_since(&plan(&[("a", ""), ("b", "")]));
        assert_eq!(changes_as_text(&moved), "- 1. a\n  1. b\n+ 2. a\n");
    }
}

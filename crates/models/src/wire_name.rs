//! Names and ids as the wire wants them: letters, digits, `_` and `-`, 64 at most.

use std::collections::{HashMap, HashSet};

use signoff_core::{Name, ToolSpec};

const MAX: usize = 64;

/// `text` with what the wire does not allow replaced.
fn clean(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut clean: String =
        text.chars().take(MAX).map(|c| if allowed(c) { c } else { '_' }).collect();
    if clean.is_empty() {
        clean.push('_');
    }
    clean
}

/// `text` cleaned, with a number behind it if somebody has that name already.
fn unique(text: &str, taken: &mut HashSet<String>) -> String {
    let base = clean(text);
    let mut name = base.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        let suffix = format!("_{number}");
        let kept = MAX.saturating_sub(suffix.len()).min(base.len());
        name = format!("{}{suffix}", &base[..kept]);
        number += 1;
    }
    name
}

/// The tools of a request by both their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolNames {
    to_wire: HashMap<Name, String>,
    from_wire: HashMap<String, Name>,
}

impl ToolNames {
    pub(crate) fn of(tools: &[ToolSpec]) -> Self {
        let mut taken = HashSet::new();
        let mut names = Self::default();
        for tool in tools {
            if names.to_wire.contains_key(&tool.name) {
                continue;
            }
            let wire = unique(&tool.name, &mut taken);
            names.from_wire.insert(wire.clone(), tool.name.clone());
            names.to_wire.insert(tool.name.clone(), wire);
        }
        names
    }

    /// What the wire calls `name`.
    pub(crate) fn wire(&self, name: &str) -> String {
        self.to_wire.get(name).cloned().unwrap_or_else(|| clean(name))
    }

    /// Which tool the wire means by `wire`.
    pub(crate) fn real(&self, wire: &str) -> Name {
        self.from_wire.get(wire).cloned().unwrap_or_else(|| wire.into())
    }
}

/// Ids that are unique in one request, whatever the models made them.
#[derive(Debug, Default)]
pub(crate) struct CallIds(HashSet<String>);

impl CallIds {
    pub(crate) fn add(&mut self, id: &str) -> String {
        unique(if id.is_empty() { "call" } else { id }, &mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use signoff_core::tool::Effects;

    use super::*;

    #[test]
    fn names_are_clean_unique_and_come_back() {
        let long = "x".repeat(80);
        let tools: Vec<ToolSpec> = ["files.read", "files/read", "ok-1", "", &long, &long[1..]]
            .iter()
            .map(|name| ToolSpec {
                name: (*name).into(),
                description: String::new(),
                parameters: json!({}),
                effects: Effects::default(),
            })
            .collect();
        let names = ToolNames::of(&tools);
        let wire: Vec<String> = tools.iter().map(|tool| names.wire(&tool.name)).collect();
        assert_eq!(wire[..4], ["files_read", "files_read_2", "ok-1", "_"]);
        assert!(wire.iter().all(|name| (1..=64).contains(&name.len())), "{wire:?}");
        for (tool, wire) in tools.iter().zip(&wire) {
            assert_eq!(names.real(wire), tool.name);
        }
        assert_eq!(&*names.real("unheard_of"), "unheard_of");
        let mut ids = CallIds::default();
        assert_eq!([ids.add("a b"), ids.add("a b"), ids.add("")], ["a_b", "a_b_2", "call"]);
    }
}

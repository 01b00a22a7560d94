//! The names that models know tools by: `SERVER_TOOL`, in letters, digits, `_` and `-`.

use std::collections::BTreeMap;

use signoff_core::text::digest;

/// The longest name that all model providers take.
const MAX_NAME: usize = 64;
/// The longest name of a server.
const MAX_SERVER: usize = 32;

/// Whether `name` can be a server's. Without `_`, so that no server's tools can pass for another's.
pub(crate) fn check_server(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || name.len() > MAX_SERVER || !name.chars().all(fits) {
        return Err(format!(
            "`{name}` cannot be the name of a server: use letters, digits and `-`, at most {MAX_SERVER}"
        ));
    }
    Ok(())
}

/// A name for each of the remote `tools`, which are all different. Where two would be the same, those
/// that had to be changed get a few digits of their own, so that no name depends on the order.
pub(crate) fn names(server: &str, tools: &[&str]) -> Vec<String> {
    let plain: Vec<String> =
        tools.iter().map(|tool| format!("{server}_{}", fitting(tool))).collect();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for name in &plain {
        *seen.entry(name).or_default() += 1;
    }
    let named = |(tool, name): (&&str, &String)| {
        let changed = *name != format!("{server}_{tool}");
        let shared = seen.get(name.as_str()).is_some_and(|count| *count > 1);
        if name.len() <= MAX_NAME && !(changed && shared) {
            return name.clone();
        }
        let kept = name.len().min(MAX_NAME - 9);
        format!("{}-{}", &name[..kept], digest(tool, 8))
    };
    tools.iter().zip(&plain).map(named).collect()
}

fn fitting(tool: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    tool.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_name_of_its_own() {
        let long = "x".repeat(200);
        let tools = ["add", "a.b", "a_b", "a b", "größe", &long];
        let found = names("srv", &tools);
        assert_eq!(found[0], "srv_add");
        assert_eq!(found[2], "srv_a_b");
        assert_eq!(found[4], "srv_gr__e");
        assert!(found[1].starts_with("srv_a_b-") && found[3].starts_with("srv_a_b-"));
        let unique: std::collections::BTreeSet<&String> = found.iter().collect();
        assert_eq!(unique.len(), tools.len());
        assert!(found.iter().all(|name| name.len() <= MAX_NAME));
        let reversed: Vec<&str> = tools.iter().rev().copied().collect();
        let again: Vec<String> = names("srv", &reversed).into_iter().rev().collect();
        assert_eq!(again, found);
    }

    #[test]
    fn a_server_cannot_pass_for_another() {
        assert!(check_server("web-search").is_ok());
        for wrong in ["", "a_b", "a b", "ä", &"x".repeat(33)] {
            assert!(check_server(wrong).is_err(), "{wrong}");
        }
    }
}

//! The messages of a conversation, as the client knows them and as they were.
//!
//! A client takes a snapshot as all there is. So what it has of its own stays in it, right after what it stood behind;
//! what a user said keeps the client's id; and what was told of this run and is in none of its messages goes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The largest snapshot, in bytes. Clients keep what they have if there is none.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// All messages: `ours` in their order, and those of the client that are no others. Ids that begin with one of `prefixes`
/// were given here. None, if it would be too much.
pub(super) fn merged(ours: &[Value], theirs: &[Value], prefixes: &[String]) -> Option<Vec<Value>> {
    let id = |message: &Value| message["id"].as_str().unwrap_or_default().to_owned();
    let known: BTreeSet<String> = ours.iter().map(id).collect();
    // What a user said, by the client's id.
    let mut renamed: BTreeMap<String, String> = BTreeMap::new();
    let mut users = ours.iter().filter(|message| message["role"] == "user");
    let mut next = users.next();
    for message in theirs.iter().filter(|message| message["role"] == "user") {
        if let Some(own) = next
            && text(own) == text(message)
        {
            renamed.insert(id(own), id(message));
            next = users.next();
        }
    }
    let taken: BTreeSet<&String> = renamed.values().collect();
    // What is only the client's, by the message it stands behind.
    let mut behind: BTreeMap<Option<String>, Vec<Value>> = BTreeMap::new();
    let mut anchor = None;
    for message in theirs {
        let its = id(message);
        if known.contains(&its) || taken.contains(&its) {
            anchor = Some(its);
        } else if !prefixes.iter().any(|prefix| its.starts_with(prefix.as_str())) {
            behind.entry(anchor.clone()).or_default().push(message.clone());
        }
    }
    let mut all = behind.remove(&None).unwrap_or_default();
    for message in ours {
        let mut message = message.clone();
        if let Some(name) = renamed.get(&id(&message)) {
            message["id"] = name.as_str().into();
        }
        let its = id(&message);
        all.push(message);
        all.extend(behind.remove(&Some(its)).unwrap_or_default());
    }
    let size: usize = all.iter().map(|message| message.to_string().len()).sum();
    (size <= MAX_BYTES).then_some(all)
}

fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ids(ours: &[Value], theirs: &[Value]) -> Vec<String> {
        let all = merged(ours, theirs, &["msg_r_".into(), "res_r_".into()]).unwrap();
        all.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn what_both_know_is_there_once_and_in_order() {
        let ours = [
            json!({ "id": "msg_r_2", "role": "user", "content": "Hi" }),
            json!({ "id": "msg_r_1.m1", "role": "assistant", "content": "Hello" }),
        ];
        assert_eq!(ids(&ours, &[]), ["msg_r_2", "msg_r_1.m1"]);
        let theirs = [
            json!({ "id": "s", "role": "system", "content": "Be kind" }),
            json!({ "id": "u", "role": "user", "content": [{ "type": "text", "text": "Hi" }] }),
            json!({ "id": "own", "role": "assistant", "content": "(a note)" }),
            json!({ "id": "msg_r_1.m1", "role": "assistant", "content": "Hel" }),
            json!({ "id": "msg_r_1.m1~2", "role": "assistant", "content": "Hello" }),
            json!({ "id": "late", "role": "user", "content": "And?" }),
        ];
        assert_eq!(ids(&ours, &theirs), ["s", "u", "own", "msg_r_1.m1", "late"]);
        let all = merged(&ours, &theirs, &["msg_r_".into()]).unwrap();
        assert_eq!(all[3]["content"], "Hello", "what was cut is made whole");
    }

    #[test]
    fn too_much_is_not_told() {
        let large = json!({ "id": "a", "role": "assistant", "content": "x".repeat(MAX_BYTES) });
        assert_eq!(merged(&[large], &[], &[]), None);
    }
}

//! Entries of a journal as the server writes them.

use serde_json::Value;
use signoff_core::journal::{Entry, Event};
use signoff_core::{RequestId, Timestamp};

/// An entry, and the request that it is about, if it is about one.
pub(crate) fn read(mut json: Value) -> Result<(Entry, Option<RequestId>), String> {
    let fields = json.as_object_mut().ok_or("an entry is not an object")?;
    let seq = fields.remove("seq").and_then(|seq| seq.as_u64()).ok_or("an entry has no `seq`")?;
    let at = fields.remove("at").and_then(|at| Timestamp::from_rfc3339(at.as_str()?));
    let request = fields.remove("request_id").and_then(|id| Some(RequestId::new(id.as_str()?)));
    fields.remove("run");
    let Some(Value::String(kind)) = fields.remove("type") else {
        return Err(format!("entry {seq} has no `type`"));
    };
    let event = Value::Object(
        [(kind.clone(), Value::Object(std::mem::take(fields)))].into_iter().collect(),
    );
    let event: Event = serde_json::from_value(event)
        .map_err(|error| format!("entry {seq} of type `{kind}` cannot be read: {error}"))?;
    Ok((Entry { seq, at: at.unwrap_or_default(), event }, request))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use signoff_core::{Actor, Decision, journal};

    use super::*;

    #[test]
    fn what_the_server_writes_is_read() {
        let event = Event::Decided {
            request: 2,
            decision: Decision::respond("x"),
            by: Actor::local(),
            sent: None,
        };
        let entry = Entry { seq: 7, at: Timestamp(1_000), event };
        let mut json = journal::to_json(&entry);
        json["run"] = "run_1".into();
        json["request_id"] = "req_1_2".into();
        assert_eq!(read(json).unwrap(), (entry, Some(RequestId::new("req_1_2"))));
    }

    #[test]
    fn what_is_no_entry_is_said() {
        for (json, problem) in [
            (json!([]), "not an object"),
            (json!({ "type": "output" }), "no `seq`"),
            (json!({ "seq": 3 }), "no `type`"),
            (json!({ "seq": 3, "type": "from_the_future" }), "`from_the_future` cannot be read"),
        ] {
            let told = read(json).unwrap_err();
            assert!(told.contains(problem), "{told}");
        }
    }
}

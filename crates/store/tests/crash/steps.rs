//! One commit of each kind there is, in an order in which each can be made, and how to see afterwards whether it is there.

use std::sync::Arc;

use serde_json::json;
use signoff_core::journal::{Input, Outcome};
use signoff_core::policy::Grant;
use signoff_core::request::RequestStatus;
use signoff_core::{Actor, RunStatus, Tenant};
use signoff_store::conformance::fixtures::{
    TTL, append, asked, at, begin, decide, end, executed, node, output, question, run,
};
use signoff_store::{
    AddLink, Append, AuditEntry, ChangeConversation, Definition, Duty, EndGrant, Lease, Mark,
    MovePush, MoveWebhook, NextPush, Noted, PutPolicy, PutPush, Rest, Scope, Store, TakeDuty,
    TakePushes, TakeWebhook, Told, User,
};

/// The kinds, in order. Each is one call and one commit.
pub const STEPS: &[&str] = &[
    "definition",
    "webhook",
    "create",
    "append",
    "create one that asks",
    "ask",
    "comment",
    "link",
    "decide",
    "claim",
    "renew",
    "end a call",
    "release",
    "create one with a deadline",
    "ask with a deadline",
    "expire",
    "create one with two questions",
    "ask twice",
    "decide both",
    "deliver",
    "push",
    "another push",
    "take pushes",
    "tell a push",
    "remove a push",
    "webhook told",
    "policy",
    "grant",
    "use a grant",
    "another grant",
    "end a grant",
    "user",
    "another user",
    "remove a user",
    "conversation",
    "secret",
    "duty",
    "end",
];

const VICTIM: &str = "victim";

/// The leases that the victim holds on its way.
#[derive(Default)]
pub struct Held {
    works: Option<Lease>,
    other: Option<Lease>,
}

fn asking(lease: &Lease, questions: u32, expires_at: Option<i64>) -> Append {
    let ask = |n: u32| asked(1 + u64::from(n), n, question("Where to?", expires_at));
    let entries = (1..=questions).map(ask).collect();
    Append { status: RunStatus::Waiting, rest: Rest::Park, ..append(lease, 1, entries) }
}

fn push(id: &str) -> PutPush {
    PutPush { run: run("works"), id: id.into(), body: format!("to {id}"), from: 0 }
}

fn grant(id: &str) -> Grant {
    let by = Actor::new("ann");
    let bypass = Grant::bypass(id.into(), Tenant::local(), None, by, at(1)).unwrap();
    Grant { times: Some(2), ..bypass }
}

fn user(name: &str) -> User {
    User {
        name: Actor::new(name),
        tenant: Tenant::local(),
        roles: vec!["viewer".into()],
        token: format!("token of {name}"),
        created_at: at(7),
    }
}

/// Makes the commit of this name.
pub async fn make(store: &Arc<dyn Store>, held: &mut Held, step: &str) {
    let works = || held.works.clone().unwrap();
    let other = || held.other.clone().unwrap();
    let (local, by) = (Tenant::local(), Actor::new("ann"));
    match step {
        "definition" => {
            let (hash, id, body) = ("h1".into(), "travel".into(), "{}".to_owned());
            store.put_definition(Definition { hash, id, body }).await.unwrap();
        }
        "webhook" => {
            let (name, node) = ("ops".into(), node(VICTIM));
            let take = TakeWebhook { name, node, now: at(1), ttl: TTL };
            assert!(store.take_webhook(take).await.unwrap().is_some());
        }
        "create" => held.works = Some(begin(store, "works", VICTIM, vec![]).await),
        "append" => store.append(append(&works(), 1, vec![output(2)])).await.unwrap(),
        "create one that asks" => held.other = Some(begin(store, "asks", VICTIM, vec![]).await),
        "create one with a deadline" => {
            held.other = Some(begin(store, "waits", VICTIM, vec![]).await);
        }
        "create one with two questions" => {
            held.other = Some(begin(store, "both", VICTIM, vec![]).await);
        }
        "ask" => store.append(asking(&other(), 1, None)).await.unwrap(),
        "ask with a deadline" => store.append(asking(&other(), 1, Some(9_000))).await.unwrap(),
        "ask twice" => store.append(asking(&other(), 2, None)).await.unwrap(),
        "comment" => {
            let what = Noted::Commented { text: "hm".to_owned() };
            let request = run("asks").request(1);
            store.mark(Mark { request, by, at: at(15), what }).await.unwrap();
        }
        "link" => {
            let (request, id, person) = (run("asks").request(1), "l1".into(), Actor::new("bob"));
            let link = AddLink { request, id, person, until: at(99), by, at: at(16) };
            store.add_link(link).await.unwrap();
        }
        "decide" => {
            store.decide(decide(&run("asks"), 1, "yes", "ann", 20)).await.unwrap();
        }
        "claim" => {
            let scope = Scope::Tree(run("asks"));
            let claimed = store.claim(scope, &node(VICTIM), at(30), TTL, 9).await.unwrap();
            held.other = claimed.into_iter().next();
        }
        "renew" => {
            let kept = store.renew(vec![other()], at(31).plus(TTL)).await.unwrap();
            assert_eq!(kept.len(), 1);
        }
        "end a call" => {
            let done = executed(3, Outcome::Ok(Arc::new(json!("done"))));
            store.append(append(&other(), 2, vec![done])).await.unwrap();
        }
        "release" => store.release(other()).await.unwrap(),
        "expire" => assert_eq!(store.fire_due(at(9_001), 10).await.unwrap(), 1),
        "decide both" => {
            let yes = |n| decide(&run("both"), n, "yes", "ann", 40);
            store.decide_all(vec![yes(1), yes(2)]).await.unwrap();
        }
        "deliver" => {
            let input = Input::Pause { by, reason: None };
            assert!(store.deliver(&run("works"), input, at(50)).await.unwrap());
        }
        "push" => assert!(store.put_push(push("one")).await.unwrap()),
        "another push" => assert!(store.put_push(push("two")).await.unwrap()),
        "take pushes" => {
            let take = TakePushes { node: node(VICTIM), now: at(60), ttl: TTL, limit: 10 };
            assert_eq!(store.take_pushes(take).await.unwrap().len(), 2);
        }
        "tell a push" => {
            let moved = MovePush {
                run: run("works"),
                id: "one".into(),
                node: node(VICTIM),
                told: Told { seq: 2, ..Told::default() },
                looked_at: at(61),
                next: NextPush::News,
            };
            assert!(store.move_push(moved).await.unwrap());
        }
        "remove a push" => assert!(store.remove_push(&run("works"), &"two".into()).await.unwrap()),
        "webhook told" => {
            let (name, node) = ("ops".into(), node(VICTIM));
            let moved = MoveWebhook { name, node, to: 1, now: at(70), posted: None, told: None };
            assert!(store.move_webhook(moved).await.unwrap());
        }
        "policy" => {
            let body = Some("{}".to_owned());
            let put = PutPolicy { tenant: local, body, replaces: None, by, at: at(1) };
            store.put_policy(put).await.unwrap();
        }
        "grant" => store.add_grant(grant("g1")).await.unwrap(),
        "use a grant" => assert!(store.use_grant(&"g1".into()).await.unwrap()),
        "another grant" => store.add_grant(grant("g2")).await.unwrap(),
        "end a grant" => {
            let end = EndGrant { tenant: local, id: "g2".into(), by, at: at(2) };
            assert!(store.end_grant(end).await.unwrap());
        }
        "user" => assert!(store.put_user(user("ann"), false).await.unwrap()),
        "another user" => assert!(store.put_user(user("bob"), false).await.unwrap()),
        "remove a user" => assert!(store.remove_user("bob").await.unwrap()),
        "conversation" => {
            let metadata = json!({ "for": "ann" }).as_object().cloned();
            let new = ChangeConversation::new(local, "conv_9".into(), at(80));
            store.change_conversation(ChangeConversation { metadata, ..new }).await.unwrap();
        }
        "secret" => {
            assert_eq!(store.secret("key", "first".to_owned()).await.unwrap(), "first");
        }
        "duty" => {
            let (duty, now) = (Duty::Retention, at(70));
            let take = TakeDuty { duty, node: node(VICTIM), now, until: now.plus(TTL) };
            assert!(store.take_duty(take).await.unwrap());
        }
        "end" => store.append(end(&works(), 2)).await.unwrap(),
        other => panic!("there is no step {other}"),
    }
}

/// Whether what this step changes is there. Nothing, if that cannot be told from outside, or not any more once the steps
/// after it are done.
pub async fn is_there(store: &Arc<dyn Store>, step: &str) -> Option<bool> {
    let head = |name: &str| store.run(&run(name)).unwrap().map_or(0, |record| record.head);
    let status = |name: &str, n| {
        let request = store.request(&run(name).request(n)).unwrap();
        request.map(|request| request.status)
    };
    let lines = |word: &str, about: &str| {
        let word = format!(r#""decision":"{word}""#);
        let audit = store.audit(None, 0, 99).unwrap();
        let of_it =
            |line: &&AuditEntry| line.request.as_str() == about && line.decision.contains(&word);
        audit.iter().filter(of_it).count()
    };
    let local = Tenant::local();
    let grants = store.grants(&local).unwrap();
    let users = store.users().unwrap();
    let has_user = |name: &str| users.iter().any(|user| user.name.as_str() == name);
    let pushes = store.pushes(&run("works")).unwrap();
    let inputs = |name: &str| store.inputs(&run(name), 0).unwrap().len();
    Some(match step {
        "definition" => store.definition("h1").unwrap().is_some(),
        "create" => head("works") >= 1,
        "append" => head("works") >= 2,
        "create one that asks" => head("asks") >= 1,
        "create one with a deadline" => head("waits") >= 1,
        "create one with two questions" => head("both") >= 1,
        "ask" => {
            let asked = status("asks", 1).is_some();
            assert_eq!(
                asked,
                lines("requested", run("asks").request(1).as_str()) == 1,
                "half of it"
            );
            asked
        }
        "end a call" => {
            let ended = head("asks") >= 3;
            assert_eq!(ended, lines("executed", run("asks").as_str()) == 1, "half of it");
            ended
        }
        "ask with a deadline" => status("waits", 1).is_some(),
        "ask twice" => {
            let both = [status("both", 1).is_some(), status("both", 2).is_some()];
            assert_eq!(both[0], both[1], "one question of two");
            both[0]
        }
        "comment" => store.notes(&run("asks").request(1)).is_ok_and(|notes| notes.len() == 1),
        "link" => {
            let audit = store.audit(None, 0, 99).unwrap();
            audit.iter().any(|line| line.decision.contains("linked"))
        }
        "decide" => {
            let decided = status("asks", 1) == Some(RequestStatus::Decided);
            assert_eq!(decided, head("asks") > 0 && inputs("asks") == 1, "half a decision");
            decided
        }
        "expire" => {
            let expired = status("waits", 1) == Some(RequestStatus::Expired);
            assert_eq!(expired, head("waits") > 0 && inputs("waits") == 1, "half an expiry");
            expired
        }
        "decide both" => {
            let decided = |n| status("both", n) == Some(RequestStatus::Decided);
            assert_eq!(decided(1), decided(2), "one decision of two");
            decided(1)
        }
        "deliver" => head("works") == 3 || (head("works") > 0 && inputs("works") == 1),
        "push" => pushes.iter().any(|push| &*push.id == "one"),
        "tell a push" => pushes.iter().any(|push| push.told.seq == 2),
        "policy" => store.policy(&local).unwrap().is_some(),
        "grant" => grants.iter().any(|grant| &*grant.id == "g1"),
        "use a grant" => grants.iter().any(|grant| &*grant.id == "g1" && grant.times == Some(1)),
        "user" => has_user("ann"),
        "remove a user" => has_user("ann") && !has_user("bob"),
        "end a grant" => !grants.iter().any(|grant| &*grant.id == "g2"),
        "remove a push" => !pushes.iter().any(|push| &*push.id == "two"),
        "conversation" => store.conversation(&local, &"conv_9".into()).unwrap().is_some(),
        // The first who asks gives it.
        "secret" => store.secret("key", "second".to_owned()).await.unwrap() == "first",
        "end" => store.run(&run("works")).unwrap().is_some_and(|run| run.status.is_over()),
        _ => return None,
    })
}

//! Many clients at once: an answer counts once, a key starts one run.

use serde_json::{Value, json};

use crate::support::{Client, Place, text};

const TIMES: usize = 1000;
const SIDE_BY_SIDE: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_decide_at_once_one_does() {
    let server = Place::new().serve();
    let racing: Vec<_> = (0..SIDE_BY_SIDE)
        .map(|_| {
            let server = server.client.clone();
            tokio::spawn(async move {
                for _ in 0..TIMES / SIDE_BY_SIDE {
                    race(&server).await;
                }
            })
        })
        .collect();
    for races in racing {
        races.await.unwrap();
    }
    let (mut asked, mut lines, mut more) = (0, 0, String::new());
    loop {
        let audit = server.read(&format!("/v1/audit?limit=500{more}")).await;
        let page = audit["data"].as_array().unwrap();
        lines += page.len();
        asked += page.iter().filter(|it| it["decision"]["decision"] == "requested").count();
        let Some(cursor) = audit["next_cursor"].as_str() else { break };
        more = format!("&cursor={cursor}");
    }
    assert_eq!((asked, lines - asked), (TIMES, TIMES), "each is asked once, and decided once");
}

/// Two answers to one question: one 200, and one 409 that says who was faster.
async fn race(server: &Client) {
    let run = server.start("ask", "hi").await;
    let request = server.pending(&run).await;
    let mine = ["ada", "bob"].map(|note| json!({ "decision": "approve", "note": note }));
    let deciding = mine.clone().map(|decision| {
        let (server, request) = (server.clone(), request.clone());
        tokio::spawn(async move { server.decide(&request, &decision).await })
    });
    let mut answers = Vec::new();
    for one in deciding {
        answers.push(one.await.unwrap());
    }
    let winner = answers.iter().position(|(status, _)| *status == 200).unwrap();
    let (status, late) = &answers[1 - winner];
    assert_eq!((*status, &late["error"]["code"]), (409, &json!("already_decided")), "{late}");
    let taken = &late["error"]["details"]["decision"];
    assert_eq!((&taken["note"], &taken["by"]), (&mine[winner]["note"], &json!("local")));
    let (status, again) = server.decide(&request, &mine[winner]).await;
    assert_eq!((status, &again["version"]), (200, &answers[winner].1["version"]));
}

async fn start(server: &Client, body: &Value) -> (u16, Value) {
    server.post("/v1/runs", body).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_starts_one_run() {
    let place = Place::new();
    let server = place.serve();
    let body = json!({ "workflow": "ask", "input": "hi", "idempotency_key": "order 66", "conversation": "c" });
    let starting: Vec<_> = (0..16)
        .map(|_| {
            let (server, body) = (server.client.clone(), body.clone());
            tokio::spawn(async move { start(&server, &body).await })
        })
        .collect();
    let mut created = 0;
    let mut ids = std::collections::BTreeSet::new();
    for one in starting {
        let (status, run) = one.await.unwrap();
        assert!([200, 201].contains(&status), "{run}");
        created += u32::from(status == 201);
        ids.insert(text(&run["id"]));
    }
    assert_eq!((created, ids.len()), (1, 1));
    for changed in [("input", "ho"), ("workflow", "late"), ("conversation", "d")] {
        let mut other = body.clone();
        other[changed.0] = changed.1.into();
        let (status, refused) = start(&server, &other).await;
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("idempotency_conflict")));
        assert_eq!(refused["error"]["details"]["run"], json!(ids.first()));
    }
    let _ = server.stop().exits(0);
    let server = place.serve();
    let (status, run) = start(&server, &body).await;
    assert_eq!(
        (status, text(&run["id"])),
        (200, ids.pop_first().unwrap()),
        "it outlives the server"
    );
    let plain = json!({ "workflow": "ask", "input": "hi", "idempotency_key": "other" });
    assert_eq!(start(&server, &plain).await.0, 201);
    assert_eq!(start(&server, &plain).await.0, 200, "without a conversation as well");
}

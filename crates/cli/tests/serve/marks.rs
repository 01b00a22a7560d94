//! Who looks after a request, comments, and the filters of the inbox.

use serde_json::{Value, json};

use crate::support::{Place, text};

#[tokio::test]
async fn a_request_is_claimed_given_away_and_commented() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("ask", "x").await;
    let request = server.pending(&run).await;
    let mark = async |what: &str, body: Value| {
        server.post(&format!("/v1/requests/{request}/{what}"), &body).await
    };
    let listed = async |query: &str| {
        let found = server.read(&format!("/v1/requests?{query}")).await;
        let counted = server.read(&format!("/v1/requests/count?{query}")).await;
        let data = found["data"].as_array().unwrap().len();
        assert_eq!(counted["count"], data);
        data
    };
    assert_eq!(listed("assignee=none").await, 1);
    let (status, claimed) = mark("claim", json!({})).await;
    assert_eq!((status, &claimed["assignee"]), (200, &json!("local")));
    assert_eq!((listed("assignee=me").await, listed("assignee=none").await), (1, 0));
    let (status, given) = mark("reassign", json!({ "to": "ada" })).await;
    assert_eq!((status, &given["assignee"]), (200, &json!("ada")));
    for what in ["claim", "release"] {
        let (status, held) = mark(what, json!({})).await;
        assert_eq!((status, &held["error"]["code"]), (409, &json!("already_claimed")), "{what}");
        assert_eq!(held["error"]["details"]["assignee"], "ada");
    }
    assert_eq!(listed("assignee=ada&status=pending").await, 1);
    for wrong in [json!({ "to": "" }), json!({ "to": 1 }), json!({ "too": "ada" })] {
        assert_eq!(mark("reassign", wrong).await.0, 400);
    }
    mark("reassign", json!({})).await;
    let (_, commented) = mark("comment", json!({ "text": "look twice" })).await;
    let said: Vec<&Value> =
        commented["notes"].as_array().unwrap().iter().map(|it| &it["what"]).collect();
    assert_eq!(said, ["claimed", "assigned", "assigned", "commented"]);
    assert_eq!(commented["notes"][3]["text"], "look twice");
    assert_eq!((&commented["notes"][3]["by"], &commented["version"]), (&json!("local"), &json!(1)));
    assert_eq!(mark("comment", json!({ "text": " " })).await.0, 400);

    // Others may decide what somebody looks after; then there is nothing left to claim.
    mark("claim", json!({})).await;
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    let (status, late) = mark("claim", json!({})).await;
    assert_eq!((status, &late["error"]["code"]), (409, &json!("already_decided")));
    assert_eq!(late["error"]["details"]["decision"]["by"], "local");
    assert_eq!(mark("comment", json!({ "text": "that was quick" })).await.0, 200);
    let (status, unknown) = server.post("/v1/requests/req_x_1/claim", &json!({})).await;
    assert_eq!((status, &unknown["error"]["code"]), (404, &json!("unknown_request")));
}

#[tokio::test]
async fn the_inbox_is_filtered_by_age_and_risk() {
    let place = Place::new();
    let risky = "workflow: risky\npattern: graph\nstart: ask\nexecutors:\n  \
                 ask: { ask: { prompt: Delete it?, kind: approval, risk: high } }\n";
    std::fs::write(place.path("flows/risky.yaml"), risky).unwrap();
    let server = place.serve();
    let run = server.start("risky", "x").await;
    let request = server.pending(&run).await;
    let plain = server.start("ask", "x").await;
    server.pending(&plain).await;
    let found = server.read("/v1/requests?risk=high").await;
    assert_eq!(found["data"].as_array().unwrap().len(), 1);
    assert_eq!(
        (text(&found["data"][0]["id"]), &found["data"][0]["risk"]),
        (request, &json!("high"))
    );
    assert_eq!(server.read("/v1/requests/count?age=1h").await["count"], 0);
    assert_eq!(server.read("/v1/requests/count?age=0s").await["count"], 2);
    for wrong in ["risk=huge", "age=long", "assigne=me"] {
        let (status, error) = server.get(&format!("/v1/requests?{wrong}")).await;
        assert_eq!((status, &error["error"]["code"]), (400, &json!("invalid_query")), "{wrong}");
    }
}

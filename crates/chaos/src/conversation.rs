//! One conversation, as its client leads it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_testkit::Chance;

use crate::client::{Client, Reply};
use crate::history::{Answer, Asked, Found, History, Outcome};

/// How long a conversation may take. Far longer than any fault lasts.
const PATIENCE: Duration = Duration::from_mins(6);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Leads a conversation to its end.
pub(crate) async fn lead(client: &Client, mut chance: Chance, name: String) -> History {
    let mut history = History { name, ..History::default() };
    if let Err(why) = talk(client, &mut chance, &mut history).await {
        history.gave_up = Some(why);
    }
    history
}

async fn talk(client: &Client, chance: &mut Chance, history: &mut History) -> Result<(), String> {
    let since = Instant::now();
    let name = history.name.clone();
    let body = json!({ "workflow": "chaos", "input": name, "idempotency_key": name });
    let (first, second) = (node(chance), 1 + node(chance));
    let (mut one, mut two) = (chance.split(), chance.split());
    let (first, second) = tokio::join!(
        client.post(&mut one, first, "/v1/runs", &body),
        client.post(&mut two, first + second, "/v1/runs", &body),
    );
    for started in [first?, second?] {
        let run = started.body["id"].as_str();
        let run = run.ok_or_else(|| format!("it was not started: {started:?}"))?;
        history.runs.push(run.to_owned());
    }
    let path = format!("/v1/runs/{}", history.runs[0]);
    let mut seen: Vec<String> = Vec::new();
    while since.elapsed() < PATIENCE {
        let run = client.get(chance, &path).await?;
        match run.body["status"].as_str() {
            Some("completed") => return Ok(()),
            Some("failed" | "cancelled") => return Err(format!("it ended as {}", run.body)),
            Some(_) => {}
            None => return Err(format!("a run that was started is not there: {run:?}")),
        }
        for request in run.body["pending"].as_array().into_iter().flatten() {
            let Some(request) = request.as_str().map(str::to_owned) else { continue };
            if !seen.contains(&request) {
                answer(client, chance, history, &request).await?;
                seen.push(request);
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err("it does not come to its end".to_owned())
}

/// Answers a question, twice.
async fn answer(
    client: &Client,
    chance: &mut Chance,
    history: &mut History,
    request: &str,
) -> Result<(), String> {
    let asked = client.get(chance, &format!("/v1/requests/{request}")).await?;
    let path = format!("/v1/requests/{request}/decision");
    let (first, other) = (node(chance), 1 + node(chance) % 2);
    let (mut one, mut two) = (chance.split(), chance.split());
    if asked.body["kind"] == "in_doubt" {
        history.in_doubt += 1;
        let retry = json!({ "decision": "retry" });
        let (first, second) = tokio::join!(
            client.post(&mut one, first, &path, &retry),
            client.post(&mut two, first + other, &path, &retry),
        );
        for told in [first?, second?] {
            if told.status != 200 {
                return Err(format!("a retry of {request} was refused: {told:?}"));
            }
        }
        return Ok(());
    }
    let content = |which: &str| format!("{}-{}-{which}", history.name, history.asked.len() + 1);
    let (this, that) = (content("this"), content("that"));
    let body = |content: &str| json!({ "decision": "respond", "content": content });
    let one_by_one = chance.one_in(2);
    let (this_body, that_body) = (body(&this), body(&that));
    let mut told_this = Box::pin(client.post(&mut one, first, &path, &this_body));
    let mut told_that = Box::pin(client.post(&mut two, first + other, &path, &that_body));
    let (told_this, told_that) = if one_by_one {
        let told_this = told_this.as_mut().await;
        (told_this, told_that.as_mut().await)
    } else {
        tokio::join!(told_this, told_that)
    };
    history.asked.push(Asked {
        request: request.to_owned(),
        answers: vec![
            Answer { content: this, outcome: outcome(told_this) },
            Answer { content: that, outcome: outcome(told_that) },
        ],
        one_by_one,
    });
    Ok(())
}

fn outcome(told: Result<Reply, String>) -> Outcome {
    match told {
        Ok(told) if told.status == 200 => Outcome::Accepted,
        Ok(told) if told.status == 409 => {
            let stands = &told.body["error"]["details"]["decision"]["content"];
            Outcome::Refused(stands.as_str().unwrap_or_default().to_owned())
        }
        Ok(told) => Outcome::Unclear(format!("{told:?}")),
        Err(why) => Outcome::Unclear(why),
    }
}

fn node(chance: &mut Chance) -> usize {
    usize::try_from(chance.within(0..3)).unwrap_or_default()
}

/// What the store says of a conversation now.
pub(crate) async fn find(client: &Client, chance: &mut Chance, history: &mut History) {
    let Some(run) = history.runs.first().cloned() else { return };
    let Ok(found) = client.get(chance, &format!("/v1/runs/{run}")).await else { return };
    let Ok(journal) = client.get(chance, &format!("/v1/runs/{run}/journal?limit=100")).await else {
        return;
    };
    if found.status != 200 || journal.status != 200 {
        return;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = journal.body["data"].as_array().cloned().unwrap_or_default();
    let gapless = (1..).zip(&entries).all(|(seq, entry)| entry["seq"] == seq)
        && found.body["head"] == entries.len();
    let decided = entries.iter().filter(|entry| entry["type"] == "decided").map(|entry| {
        let content = &entry["decision"]["content"];
        (text(&entry["request_id"]), text(content))
    });
    history.found = Some(Found {
        status: text(&found.body["status"]),
        output: text(&found.body["output"]),
        decided: decided.collect(),
        gapless,
    });
}

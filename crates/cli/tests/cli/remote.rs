//! An agent that runs elsewhere, from the configuration to the journal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::support::Place;

const WORKFLOW: &str = "workflow: complaint\nagents: { clerk: { remote: refunds } }\n\
    pattern: sequential\nsequential: { agents: [clerk] }\n";

/// An agent that asks one question. It runs until the test ends.
fn agent() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut answered = None;
        for stream in listener.incoming().flatten() {
            serve(stream, port, &mut answered);
        }
    });
    port
}

fn serve(stream: TcpStream, port: u16, answered: &mut Option<String>) {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = &body["params"]["message"];
    if message["taskId"] == "T-1" {
        *answered = message["parts"][0]["text"].as_str().map(str::to_owned);
    }
    let task = match answered {
        Some(answer) => json!({
            "id": "T-1", "status": { "state": "TASK_STATE_COMPLETED" },
            "artifacts": [{ "artifactId": "a", "parts": [{ "text": format!("refunded: {answer}") }] }],
        }),
        None => json!({ "id": "T-1", "status": {
            "state": "TASK_STATE_INPUT_REQUIRED",
            "message": { "messageId": "q", "parts": [{ "text": "How much?" }] },
        } }),
    };
    let answer = match body["method"].as_str() {
        None => json!({ "supportedInterfaces": [{
            "url": format!("http://127.0.0.1:{port}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
        }] }),
        Some("SendMessage") => json!({ "jsonrpc": "2.0", "id": 1, "result": { "task": task } }),
        Some(_) => json!({ "jsonrpc": "2.0", "id": 1, "result": task }),
    };
    let (answer, mut stream) = (answer.to_string(), reader.into_inner());
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{answer}", answer.len());
}

fn place(port: u16) -> Place {
    let place = Place::new();
    place.write("complaint.yaml", WORKFLOW);
    place.write("signoff.toml", format!("[a2a.refunds]\nurl = \"http://127.0.0.1:{port}\"\n"));
    place
}

#[test]
fn its_question_is_answered_on_the_command_line() {
    let place = place(agent());
    let run = place.run(&["run", "complaint.yaml", "my lamp", "--json"]).exits(3);
    assert_eq!(run.requests()[0]["prompt"], "How much?");
    assert_eq!(run.requests()[0]["context"]["task"], "T-1");
    let id = place.inbox()[0]["id"].as_str().unwrap().to_owned();
    place.run(&["inbox", "answer", &id, "all of it", "--workflows", "complaint.yaml"]).exits(0);
    let journal = place.run(&["journal", "last"]).exits(0).stdout;
    for line in ["task T-1 asks: How much?", "refunded: all of it"] {
        let found = journal.lines().any(|it| it.contains("remote  ") && it.contains(line));
        assert!(found, "{line}:\n{journal}");
    }
    assert!(journal.contains("intent") && journal.contains("\"remote\":\"refunds\""), "{journal}");
}

#[test]
fn a_remote_agent_must_be_configured() {
    let place = place(1);
    place.run(&["check", "complaint.yaml"]).exits(0);
    place.write("other.yaml", WORKFLOW.replace("remote: refunds", "remote: refund"));
    let said = place.run(&["check", "other.yaml"]).exits(2);
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(said.contains("other.yaml:2:28: there is no remote agent `refund`"), "{said}");
    assert!(said.contains("did you mean `refunds`?"), "{said}");
    place.write("signoff.toml", "[a2a.refunds]\nurl = \"ftp://x\"\n");
    let said = place.run(&["run", "complaint.yaml", "x"]).exits(2).stderr;
    assert!(said.contains("[a2a.refunds]: `url` must begin with http or https"), "{said}");
}

#[test]
fn an_agent_that_is_not_there_is_put_to_a_person() {
    let place = place(1);
    let run = place.run(&["run", "complaint.yaml", "my lamp", "--json"]).exits(3);
    let request = &run.requests()[0];
    assert_eq!(request["kind"], "step_error");
    assert_eq!(request["context"]["error"]["code"], "a2a_unavailable");
}

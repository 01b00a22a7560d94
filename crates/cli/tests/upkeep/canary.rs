//! Secrets are planted everywhere, everything is used, and they are looked for in all that comes out and stays.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::json;

use crate::kept::{Kept, said};
use crate::support::text;

/// Environment variables with secrets in them: of models, tool servers, agents, tools, webhooks and chats.
const PLANTED: [(&str, &str); 6] = [
    ("CANARY_MODEL", "canary-model-7f3a9c21d4"),
    ("CANARY_MCP", "canary-mcp-55e0b1aa90"),
    ("CANARY_A2A", "canary-a2a-0c8d7e6f1b"),
    ("CANARY_TOOL", "canary-tool-93b2f4e8c7"),
    ("CANARY_HOOK", "canary-hook-1122aabbcc"),
    ("CANARY_CHAT", "/canary-chat-8842deadbe"),
];
const PASSWORD: &str = "canary-password-6d5c4b3a";

/// A server that tells everybody in its errors everything it was sent, as careless ones do. Its port, and what it was sent.
fn telltale() -> (u16, Arc<Mutex<String>>) {
    let all = Arc::new(Mutex::new(String::new()));
    let heard_by_all = Arc::clone(&all);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let all = Arc::clone(&heard_by_all);
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0; 1];
                while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                    head.push(byte[0]);
                }
                let request = String::from_utf8_lossy(&head).into_owned();
                all.lock().unwrap().push_str(&request);
                let body =
                    json!({ "error": { "message": format!("you sent {request}") } }).to_string();
                let _ = write!(
                    stream,
                    "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\n\
                     content-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
            });
        }
    });
    (port, all)
}

fn configure(kept: &Kept, port: u16) {
    let config = format!(
        "[models.leaky]\nprovider = 'openai-chat'\nmodel = 'm'\nmax_retries = 0\n\
         base_url = 'http://127.0.0.1:{port}/v1'\napi_key_env = 'CANARY_MODEL'\n\
         [mcp.vault]\nurl = 'http://127.0.0.1:{port}/mcp'\nheaders_env = {{ x-token = 'CANARY_MCP' }}\n\
         [a2a.far]\nurl = 'http://127.0.0.1:{port}'\ntoken_env = 'CANARY_A2A'\n\
         [webhooks.desk]\nurl = 'http://127.0.0.1:{port}/hook'\nsecret_env = 'CANARY_HOOK'\n\
         allow_private = true\n\
         [channels.chat]\nkind = 'slack'\nurl_env = 'CANARY_CHAT_URL'\nallow_private = true\n\
         [tools.http]\nallow_private = true\nallow_plain = true\n\
         [tools.http.headers.'http://127.0.0.1:{port}']\nauthorization = {{ env = 'CANARY_TOOL' }}\n"
    );
    std::fs::write(kept.place.path("signoff.toml"), config).unwrap();
    let agent = |id: &str, more: &str| {
        format!(
            "workflow: {id}\npattern: sequential\nsequential: {{ agents: [a] }}\nagents:\n  a: {{ instructions: Go., {more} }}\n"
        )
    };
    let write = |name: &str, text: String| {
        std::fs::write(kept.place.path(&format!("flows/{name}")), text).unwrap();
    };
    write("leaky.yaml", agent("leaky", "model: leaky"));
    write("vault.yaml", agent("vault", "tools: ['mcp:vault/*']"));
    write("vault.script.yaml", "- { text: done }\n".to_owned());
    write("far.yaml", agent("far", "remote: far").replace("instructions: Go., ", ""));
    write("web.yaml", agent("web", "tools: [http_get]"));
    let call = format!(
        "- {{ turn: 1, call: [{{ tool: http_get, arguments: {{ url: 'http://127.0.0.1:{port}/x' }} }}] }}\n- {{ text: done }}\n"
    );
    write("web.script.yaml", call);
}

/// Where one of the secrets stands in what was written, if it does.
fn find(secrets: &[String], what: &str, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for secret in secrets {
        let place = bytes.windows(secret.len()).position(|it| it == secret.as_bytes());
        let Some(place) = place else { continue };
        let around = &bytes[place.saturating_sub(200)..(place + 100).min(bytes.len())];
        found.push(format!("{secret} in {what}: {}", String::from_utf8_lossy(around)));
    }
    found
}

fn find_in_files(secrets: &[String], folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_in_files(secrets, &path, found);
        } else {
            let bytes = std::fs::read(&path).unwrap_or_default();
            found.extend(find(secrets, &path.display().to_string(), &bytes));
        }
    }
}

#[tokio::test]
async fn no_secret_comes_out() {
    let [sqlite, mut postgres] = Kept::both();
    // Nobody asks for it there, and it is in the address all the same.
    let address = postgres.store.take().unwrap();
    postgres.store = Some(address.replacen("postgres@", &format!("postgres:{PASSWORD}@"), 1));
    for kept in [sqlite, postgres] {
        let (port, heard) = telltale();
        configure(&kept, port);
        let chat = format!("http://127.0.0.1:{port}{}", PLANTED[5].1);
        let mut env: Vec<(&str, &str)> = PLANTED.to_vec();
        env.push(("CANARY_CHAT_URL", &chat));
        env.extend(kept.store.iter().map(|store| ("SIGNOFF_STORE", store.as_str())));
        let mut secrets: Vec<String> = PLANTED.iter().map(|(_, it)| (*it).to_owned()).collect();
        secrets.push(PASSWORD.to_owned());
        let mut found = Vec::new();
        let run = |args: &[&str]| said(kept.command(args).envs(env.iter().copied()));

        let added = run(&["user", "add", "ada", "--role", "admin"]).exits(0);
        let token = added.stdout.trim().to_owned();
        secrets.push(token.clone());
        let server = kept.place.serve_in(&env, &["--log", "trace"]);
        let send = |method: Method, path: &str| server.request(method, path).bearer_auth(&token);
        let mut answers = String::new();
        let mut runs = Vec::new();
        for workflow in ["leaky", "vault", "far", "web", "ask"] {
            let body = json!({ "workflow": workflow, "input": "hi" });
            let made = send(Method::POST, "/v1/runs").json(&body).send().await.unwrap();
            let made: serde_json::Value = made.json().await.unwrap();
            let id = text(&made["id"]);
            let since = std::time::Instant::now();
            loop {
                let path = format!("/v1/runs/{id}");
                let now = send(Method::GET, &path).send().await.unwrap().text().await.unwrap();
                if !now.contains(r#""status":"running""#) {
                    answers.push_str(&now);
                    break;
                }
                assert!(since.elapsed() < signoff_testkit::process::PATIENCE, "{now}");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            runs.push(id);
        }
        // A link, used; and a page's cookie.
        let request = format!("req_{}_1", runs[4].trim_start_matches("run_"));
        let link = send(Method::POST, &format!("/v1/requests/{request}/link"));
        let link = link.json(&json!({ "for": "ada" })).send().await.unwrap();
        let link: serde_json::Value = link.json().await.unwrap();
        let url = text(&link["url"]);
        secrets.push(url.trim_start_matches("/decide/").to_owned());
        let form = "application/x-www-form-urlencoded";
        let decided = server.request(Method::POST, &url).header("content-type", form);
        let decided = decided.body("decision=approve&text=").send().await.unwrap();
        assert_eq!(decided.status(), 200);
        let session = server.request(Method::POST, "/v1/session").json(&json!({ "token": token }));
        let session = session.send().await.unwrap();
        let cookie = session.headers()["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().split_once('=').unwrap().1.to_owned();
        assert!(cookie.len() > 20, "{cookie}");
        secrets.push(cookie);

        let mut paths: Vec<String> = ["/v1/runs", "/v1/requests", "/v1/audit", "/metrics"]
            .into_iter()
            .chain(["/openapi.json", "/v1/workflows", "/v1/session", "/v1/grants"])
            .map(str::to_owned)
            .collect();
        paths.extend(runs.iter().map(|run| format!("/v1/runs/{run}/journal")));
        for path in &paths {
            let answer = send(Method::GET, path).send().await.unwrap().text().await.unwrap();
            answers.push_str(&answer);
            found.extend(find(&secrets, path, answer.as_bytes()));
        }
        found.extend(find(&secrets, "the runs", answers.as_bytes()));
        // What the telltale says does get there: in the words of the model's error, and as a tool's result.
        assert!(answers.matches("you sent").count() >= 2, "{answers}");
        let mut commands: Vec<Vec<&str>> = vec![
            vec!["doctor"],
            vec!["doctor", "--json"],
            vec!["audit", "export"],
            vec!["runs", "--json"],
            vec!["user", "list", "--json"],
            vec!["inbox", "list", "--json"],
            vec!["webhook", "test", "desk"],
            vec!["schema", "config"],
            vec!["run", "leaky", "hi", "--json"],
            vec!["prune", "--older-than", "1d", "--dry-run", "--json"],
        ];
        for id in &runs {
            commands.push(vec!["journal", id.as_str(), "--json"]);
            commands.push(vec!["export", id.as_str()]);
        }
        for command in commands {
            let said = run(&command);
            found.extend(find(&secrets, &command.join(" "), format!("{said:?}").as_bytes()));
        }
        let heard = heard.lock().unwrap().clone();
        for (name, secret) in PLANTED {
            // With this one only signatures are made.
            let used = heard.contains(secret) || name == "CANARY_HOOK";
            assert!(used, "{name} was not used, so nothing is shown: {heard}");
        }
        let ended = server.stop();
        assert!(ended.stderr.len() > 1000, "trace says much: {}", ended.stderr.len());
        for written in [&ended.stdout.join("\n"), &ended.stderr] {
            found.extend(find(&secrets, "the log", written.as_bytes()));
        }
        find_in_files(&secrets, &kept.place.path(".signoff"), &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
}

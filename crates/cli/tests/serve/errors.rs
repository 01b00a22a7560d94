//! The page of each error code is served as it stands in the repository.

use std::path::Path;

use reqwest::Method;
use serde_json::json;

use crate::support::Place;

#[tokio::test]
async fn every_page_is_served() {
    let server = Place::new().serve();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let mut pages = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let code = path.file_stem().unwrap().to_str().unwrap();
        let request = server.request(Method::GET, &format!("/errors/{code}"));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{code}: is it in crates/server/src/pages.rs?");
        assert_eq!(response.headers()["content-type"], "text/markdown; charset=utf-8");
        assert_eq!(response.text().await.unwrap(), std::fs::read_to_string(&path).unwrap());
        pages += 1;
    }
    assert!(pages > 100, "{pages}");
}

#[tokio::test]
async fn what_a_client_is_told_leads_to_a_page() {
    let server = Place::new().serve();
    let (_, answer) = server.get("/v1/runs/nope").await;
    let code = answer["error"]["code"].as_str().unwrap().to_owned();
    let page = server.request(Method::GET, &format!("/errors/{code}")).send().await.unwrap();
    assert!(page.text().await.unwrap().starts_with("# unknown_run\n"));
    let (status, answer) = server.get("/errors/unknown_rum").await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("unknown_code")));
    assert_eq!(answer["error"]["hint"], "did you mean `unknown_run`?");
    for other in ["/errors/../Cargo.toml", "/errors/%2e%2e%2fhttp", "/errors/unknown_run.md"] {
        assert_eq!(server.get(other).await.0, 404, "{other}");
    }
}

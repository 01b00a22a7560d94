//! Encrypted connections.

use std::path::Path;
use std::process::Command;

use signoff_test_postgres::Server;

use super::open;
use crate::Store as _;
use crate::conformance::fixtures::{new_run, run};

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("openssl is needed for this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A port that is free now.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn a_certificate_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["ca", "other"] {
        let subject = format!(
            "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {name}.key -out {name}.pem -subj /CN={name}"
        );
        openssl(folder.path(), &subject);
    }
    openssl(
        folder.path(),
        "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=db -addext subjectAltName=DNS:localhost",
    );
    openssl(
        folder.path(),
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -copy_extensions copy -out server.crt",
    );
    let port = free_port();
    let server = Server::start_with(&["listen_addresses=127.0.0.1", &format!("port={port}")]);
    server.use_certificate(&folder.path().join("server.crt"), &folder.path().join("server.key"));
    server.create("runs");
    let at = |host: &str, query: &str| format!("postgres://postgres@{host}:{port}/runs?{query}");
    let root = |name: &str| format!("sslrootcert={}", folder.path().join(name).display());

    let store = open(&at("localhost", &root("ca.pem")), "one").unwrap();
    store.create_run(new_run("a")).await.unwrap();
    assert!(store.run(&run("a")).unwrap().is_some());
    let count =
        "SELECT count(*) || ' ' || bool_and(ssl) FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)
        WHERE application_name = 'signoff'";
    assert_eq!(server.sql("runs", count), "3 true");

    for (address, why) in [
        (at("localhost", &root("other.pem")), "certificate"),
        (at("localhost", "sslmode=require"), "certificate"),
        // The certificate is for another name.
        (at("127.0.0.1", &root("ca.pem")), "certificate"),
        (at("localhost", "sslrootcert=/none.pem"), "/none.pem"),
    ] {
        let refused = open(&address, "two").unwrap_err().to_string();
        assert!(refused.contains(why), "{address}: {refused}");
    }
    let port = free_port();
    let plain = Server::start_with(&["listen_addresses=127.0.0.1", &format!("port={port}")]);
    let address = format!("postgres://postgres@localhost:{port}/postgres?sslmode=require");
    let refused = open(&address, "two").unwrap_err().to_string();
    assert!(refused.contains("TLS"), "{refused}");
    drop(plain);
}

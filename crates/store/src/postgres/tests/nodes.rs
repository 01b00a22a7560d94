//! Several nodes on one database.

use std::sync::Arc;
use std::time::Duration;

use super::{open, open_dyn, until};
use crate::conformance::fixtures::{TTL, at, begin, decide, new_run, node, run, waiting};
use crate::{Decided, Scope, Store};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_decide_once() {
    let address = signoff_test_postgres::fresh();
    let (_, one) = open_dyn(&address, "one");
    let (_, two) = open_dyn(&address, "two");
    for n in 0..100 {
        waiting(&one, &format!("a{n}"), None).await;
    }
    let race = |store: Arc<dyn Store>, by: &'static str| {
        tokio::spawn(async move {
            let mut won = Vec::new();
            for n in 0..100 {
                let name = format!("a{n}");
                let decided = store.decide(decide(&run(&name), 1, by, by, 20)).await.unwrap();
                if matches!(decided, Decided::Taken { .. }) {
                    won.push(n);
                }
            }
            won
        })
    };
    let (first, second) = (race(one.clone(), "ann"), race(two.clone(), "bob"));
    let mut won = first.await.unwrap();
    won.extend(second.await.unwrap());
    won.sort_unstable();
    assert_eq!(won, (0..100).collect::<Vec<_>>());
    let audit = two.audit(None, 0, 1000).unwrap();
    let mut before = String::new();
    for line in &audit {
        assert!(line.follows(&before));
        before.clone_from(&line.hash);
    }
    assert_eq!(audit.len(), 200, "each was asked and decided");
}

#[tokio::test]
async fn what_one_changes_the_other_hears() {
    let address = signoff_test_postgres::fresh();
    let (_, one) = open_dyn(&address, "one");
    let (_, two) = open_dyn(&address, "two");
    let mut took = Duration::ZERO;
    for n in 0..10 {
        let before = two.changes().unwrap();
        one.create_run(new_run(&format!("a{n}"))).await.unwrap();
        took += until("it is not heard", async || two.changes().unwrap() != before).await;
    }
    // By looking once a second it would be five seconds.
    assert!(took < Duration::from_secs(2), "{took:?}");
    // Looking for work that is not there changes nothing, or two nodes would keep each other busy.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let before = (one.changes().unwrap(), two.changes().unwrap());
    for store in [&one, &two] {
        assert_eq!(store.fire_due(at(0), 9).await.unwrap(), 0);
        store.claim(Scope::Tree(run("none")), &node("one"), at(0), TTL, 9).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(before, (one.changes().unwrap(), two.changes().unwrap()));
}

#[tokio::test]
async fn a_node_that_leaves_leaves_nothing_behind() {
    let address = signoff_test_postgres::fresh();
    let (_, one) = open_dyn(&address, "one");
    let (_, two) = open_dyn(&address, "two");
    begin(&two, "a", "two", vec![]).await;
    let claim = async || one.claim(Scope::All, &node("one"), at(1), TTL, 9).await.unwrap().len();
    assert_eq!(claim().await, 0);
    drop(two);
    assert_eq!(claim().await, 1);
}

#[tokio::test]
async fn a_node_that_is_cut_off_for_a_moment_keeps_its_leases() {
    let mut server = signoff_test_postgres::Server::start();
    let address = server.create("runs");
    let (_, one) = open_dyn(&address, "one");
    let (_, two) = open_dyn(&address, "two");
    begin(&two, "a", "two", vec![]).await;
    for _ in 0..3 {
        let all = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'signoff'";
        server.sql("postgres", all);
        for _ in 0..8 {
            let claimed = one.claim(Scope::All, &node("one"), at(1), TTL, 9).await.unwrap();
            assert_eq!(claimed, [], "a live node was taken for dead");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    server.crash();
    server.begin();
    for _ in 0..8 {
        assert_eq!(one.claim(Scope::All, &node("one"), at(1), TTL, 9).await.unwrap(), []);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_name_is_used_once() {
    let address = signoff_test_postgres::fresh();
    let first = open(&address, "same").unwrap();
    let refused = open(&address, "same").unwrap_err();
    assert!(refused.to_string().contains("running already"), "{refused}");
    drop(first);
    let mut again = open(&address, "same");
    for _ in 0..50 {
        if again.is_ok() {
            break;
        }
        // The server notices the end of a connection a moment later.
        tokio::time::sleep(Duration::from_millis(20)).await;
        again = open(&address, "same");
    }
    again.unwrap();
}

#[tokio::test]
async fn words_reach_all_other_nodes_and_no_other_database() {
    let (address, elsewhere) = (signoff_test_postgres::fresh(), signoff_test_postgres::fresh());
    let (_, one) = open_dyn(&address, "one");
    let (_, two) = open_dyn(&address, "two");
    let (_, three) = open_dyn(&address, "three");
    let (_, stranger) = open_dyn(&elsewhere, "two");
    let wire = |store: &Arc<dyn Store>| store.wire().unwrap();
    let mut ears = [&one, &two, &three, &stranger].map(|store| wire(store).hear());
    let long = "ü".repeat(crate::LONGEST_WORD / 2);
    let words: Vec<String> = (0..100).map(|n| format!("{n:02}{}", &long[4..])).collect();
    let mut said = words.clone();
    said.push("x".repeat(crate::LONGEST_WORD + 1));
    said.push("the last".to_owned());
    wire(&one).say(said);
    let [own, second, third, strange] = &mut ears;
    for ear in [second, third] {
        let mut heard = Vec::new();
        loop {
            let word = tokio::time::timeout(Duration::from_mins(1), ear.recv()).await;
            let word = word.unwrap().unwrap().to_string();
            if word == "the last" {
                break;
            }
            heard.push(word);
        }
        assert_eq!(heard, words);
    }
    // Neither its own, nor what is said on another database.
    assert!(own.try_recv().is_err());
    assert!(strange.try_recv().is_err());
}

#[tokio::test]
async fn what_was_missed_before_the_server_started_counts_no_more() {
    let mut server = signoff_test_postgres::Server::start();
    let address = server.create("runs");
    let (_, one) = open_dyn(&address, "one");
    let (_, two) = open_dyn(&address, "two");
    begin(&two, "a", "two", vec![]).await;
    // A node that was being missed when the server went down, and has not come back to it yet: here it never does.
    drop(two);
    server.sql("runs", "INSERT INTO nodes (id, lock) VALUES ('two', 1)");
    server.sql("runs", "UPDATE runs SET lease_node = 'two', lease_until = 9000000000000");
    server.sql("runs", "UPDATE nodes SET missing_since = now() WHERE id = 'two'");
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.stop();
    server.begin();
    let claim = async || one.claim(Scope::All, &node("one"), at(1), TTL, 9).await.unwrap().len();
    assert_eq!(claim().await, 0, "it is missed from now on, and not since before");
    let took = until("it is taken for dead in the end", async || claim().await == 1).await;
    assert!(took >= Duration::from_secs(1), "{took:?}");
}

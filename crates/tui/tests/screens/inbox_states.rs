//! States of the inbox that other tests do not show.

use crossterm::event::KeyCode;
use serde_json::json;
use signoff_client::InboxEvent;
use signoff_core::{Actor, Request, RequestId, Timestamp};
use signoff_tui::inbox;
use signoff_tui::screen::Input;
use signoff_tui::theme::Theme;

use crate::inbox::{inbox_in, press as inbox_press, seen as inbox_seen, typed as inbox_typed};
use crate::support::{NOW, diet, request, venue, within};

fn changed(inbox: &mut inbox::Inbox, change: &str, request: Request) -> Vec<inbox::Effect> {
    let request = Box::new(request);
    inbox.update(inbox::Told::Inbox(InboxEvent::Change { change: change.into(), request }))
}

#[test]
fn more_states_of_the_inbox() {
    let one = |body| inbox_in(Theme::Plain, vec![request(1, body, 60)]);
    // What was said before, and what people noted.
    let mut inbox = one(venue());
    let looked = inbox::Looked {
        notes: serde_json::from_value(json!([
            { "by": "ada", "what": "claimed", "to": "ada" }, { "by": "bob", "what": "commented", "text": "near the station" }]))
        .unwrap(),
        said: vec![
            signoff_tui::Spoken { by: "person".into(), text: "Plan a party for 30 people".into() },
            signoff_tui::Spoken { by: "coordinator".into(), text: "The venue specialist looks for a place.".into() },
        ],
    };
    inbox.update(inbox::Told::Looked(RequestId::new("req_1_1"), Box::new(looked)));
    inbox_press(&mut inbox, KeyCode::Enter);
    insta::assert_snapshot!("inbox_said_before", inbox_seen(&inbox, 90, 26));
    // By when.
    let inbox = one(within(diet(), 90));
    insta::assert_snapshot!("inbox_deadline_near", inbox_seen(&inbox, 90, 20));
    let inbox = one(within(diet(), -5));
    insta::assert_snapshot!("inbox_deadline_over", inbox_seen(&inbox, 90, 20));
    // Lines that are typed about it.
    for (keys, name) in [("xask Bob", "comment"), ("tada", "give")] {
        let mut inbox = one(venue());
        inbox_typed(&mut inbox, keys);
        insta::assert_snapshot!(format!("inbox_{name}"), inbox_seen(&inbox, 80, 20));
    }
    // Filters, and nothing that fits.
    let mut inbox = inbox_in(Theme::Plain, crate::inbox::all());
    inbox_typed(&mut inbox, "f!");
    insta::assert_snapshot!("inbox_filtered", inbox_seen(&inbox, 80, 14));
    let mut inbox = inbox_in(Theme::Plain, crate::inbox::all());
    inbox_typed(&mut inbox, "/nowhere");
    insta::assert_snapshot!("inbox_nothing_fits", inbox_seen(&inbox, 80, 14));
    // Marked, in 60 columns.
    let mut inbox = inbox_in(Theme::Plain, crate::inbox::all());
    inbox_typed(&mut inbox, "*D");
    insta::assert_snapshot!("inbox_bulk_60", inbox_seen(&inbox, 60, 20));
    // Others claim it, put it off, and it comes back.
    let mut inbox = one(diet());
    let mut claimed = request(1, diet(), 60);
    claimed.assignee = Some(Actor::new("bob"));
    changed(&mut inbox, "claimed", claimed);
    assert!(inbox_seen(&inbox, 90, 20).contains("@bob"));
    let mut away = request(1, diet(), 60);
    away.deferred_until = Some(Timestamp(NOW.0 + 3_600_000));
    changed(&mut inbox, "deferred", away);
    assert!(inbox_seen(&inbox, 90, 20).contains("0 waiting"));
    inbox.update(inbox::Told::Input(Input::LookedAt(false)));
    let effects = changed(&mut inbox, "reopened", request(1, diet(), 60));
    assert!(
        effects.contains(&inbox::Effect::Bell("Are there dietary needs?".into())),
        "{effects:?}"
    );
    // The way back to the server.
    inbox.update(inbox::Told::Inbox(InboxEvent::Lost { problem: "connection refused".into() }));
    insta::assert_snapshot!("inbox_lost_with_requests", inbox_seen(&inbox, 80, 14));
    assert_eq!(inbox.update(inbox::Told::Inbox(InboxEvent::Listening)), [inbox::Effect::Load]);
    assert!(inbox_seen(&inbox, 80, 14).contains("● live"));
}

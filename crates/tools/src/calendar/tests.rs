use super::*;
use event::Moment;
use ics::{Property, escape, fold, unfold};
use proptest::prelude::*;
use signoff_core::Timestamp;

fn call(folder: &Folder, act: Act, key: &str, arguments: Value) -> Result<Value, ToolError> {
    let now = Timestamp(1_794_700_800_000);
    act(folder, &Invocation { arguments, idempotency_key: key.into(), now, rounds: Vec::new() })
}

fn party(title: &str, start: &str) -> Value {
    json!({ "title": title, "start": start, "duration_minutes": 240, "location": "Pioneer Loft; 2nd floor" })
}

#[test]
fn what_is_created_is_listed_and_can_be_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path().join("calendars"));
    assert_eq!(call(&folder, list, "0", json!({})).unwrap()["events"], json!([]));

    let made = call(&folder, create, "1", party("Party, at last", "2026-11-20T18:00")).unwrap();
    assert_eq!(made["end"], "2026-11-20T22:00:00");
    call(&folder, create, "2", party("Set-up", "2026-11-19T16:00-08:00")).unwrap();
    assert_eq!(
        call(&folder, create, "1", party("Party, at last", "2026-11-20T18:00")).unwrap(),
        made,
        "a second attempt is the first"
    );

    let all =
        call(&folder, list, "3", json!({ "from": "2026-11-20", "to": "2026-11-20" })).unwrap();
    let titles: Vec<_> =
        all["events"].as_array().unwrap().iter().map(|e| e["title"].clone()).collect();
    assert_eq!(
        titles,
        ["Set-up", "Party, at last"],
        "both ends count, and both are the 20th in their terms"
    );
    let none = call(&folder, list, "3", json!({ "from": "2026-11-21" })).unwrap();
    assert_eq!(none["events"], json!([]));

    let gone = call(&folder, delete, "4", json!({ "title": "Set-up" })).unwrap();
    assert_eq!(gone["deleted"].as_array().unwrap().len(), 1);
    let gone = call(&folder, delete, "4", json!({ "title": "Set-up" })).unwrap();
    assert_eq!(gone["deleted"], json!([]), "deleting again is no error");
    call(&folder, delete, "5", json!({ "uid": made["uid"] })).unwrap();
    assert_eq!(call(&folder, list, "6", json!({})).unwrap()["events"], json!([]));
}

#[test]
fn the_file_is_as_the_standard_wants_it() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path().to_owned());
    let mut wanted = party(&"Ein sehr langes Fest über alle Maßen ".repeat(4), "2026-11-20T18:00Z");
    wanted["description"] = "one\ntwo, three; four \\ five".into();
    call(&folder, create, "key", wanted).unwrap();
    let text = std::fs::read_to_string(dir.path().join("event_planning.ics")).unwrap();
    assert!(text.split("\r\n").all(|line| line.len() <= 75 && !line.contains('\n')));
    let lines = unfold(&text);
    assert!(lines.contains(&"DTSTAMP:20261115T000000Z".to_owned()), "{text}");
    assert!(lines.contains(&"DTSTART:20261120T180000Z".to_owned()));
    assert!(lines.contains(&"DTEND:20261120T220000Z".to_owned()));
    assert!(lines.contains(&r"DESCRIPTION:one\ntwo\, three\; four \\ five".to_owned()));
    assert_eq!(lines.first().unwrap(), "BEGIN:VCALENDAR");
    assert_eq!(lines.last().unwrap(), "END:VCALENDAR");
}

#[test]
fn what_others_wrote_stays() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path().to_owned());
    let foreign = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nBEGIN:VTIMEZONE\nTZID:Europe/Berlin\nEND:VTIMEZONE\n\
                   BEGIN:VEVENT\nUID:theirs\nDTSTART;TZID=\"Europe/Berlin\":20261201T090000\nSUMMARY:Breakfast\n\
                   BEGIN:VALARM\nSUMMARY:Wake up\nEND:VALARM\nX-THEIRS:1\nEND:VEVENT\nEND:VCALENDAR\n";
    std::fs::write(dir.path().join("home.ics"), foreign).unwrap();
    call(
        &folder,
        create,
        "1",
        json!({ "title": "Ours", "start": "2026-12-01T08:00", "calendar": "Home" }),
    )
    .unwrap();
    let text = std::fs::read_to_string(dir.path().join("home.ics")).unwrap();
    assert!(unfold(foreign).iter().all(|line| unfold(&text).contains(line)));
    let all = call(&folder, list, "2", json!({ "calendar": "home" })).unwrap();
    assert_eq!(all["events"][1]["title"], "Breakfast", "not the alarm's summary");
    assert_eq!(all["events"][1]["start"], "2026-12-01T09:00:00[Europe/Berlin]");
}

#[test]
fn a_file_that_is_no_calendar_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path().to_owned());
    for text in ["my notes", "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nEND:VCALENDAR\r\n", ""] {
        let path = dir.path().join("event_planning.ics");
        std::fs::write(&path, text).unwrap();
        let ToolError(info) =
            call(&folder, create, "1", party("x", "2026-11-20T18:00")).unwrap_err();
        assert_eq!(info.code, "bad_calendar");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn bad_arguments_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path().to_owned());
    let cases: [(Act, Value); 6] = [
        (create, json!({ "title": "x", "start": "tomorrow" })),
        (create, json!({ "title": "x", "start": "2026-11-20" })),
        (create, json!({ "title": "x", "start": "9999-12-31T23:59", "duration_minutes": 60 })),
        (list, json!({ "from": "soon" })),
        (delete, json!({})),
        (delete, json!({ "uid": "a", "title": "b" })),
    ];
    for (act, arguments) in cases {
        let ToolError(info) = call(&folder, act, "1", arguments.clone()).unwrap_err();
        assert_eq!(info.code, "bad_arguments", "{arguments}");
    }
}

#[test]
fn many_writers_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path().to_owned());
    std::thread::scope(|scope| {
        for n in 0..8 {
            let folder = folder.clone();
            scope.spawn(move || {
                for m in 0..5 {
                    call(&folder, create, &format!("{n}-{m}"), party("x", "2026-11-20T18:00"))
                        .unwrap();
                }
            });
        }
    });
    let all = call(&folder, list, "2", json!({})).unwrap();
    assert_eq!(all["events"].as_array().unwrap().len(), 40);
}

#[tokio::test]
async fn the_tools_declare_what_they_do() {
    let dir = tempfile::tempdir().unwrap();
    let tools = Calendar::new(dir.path()).tools();
    let effects: Vec<_> =
        tools.iter().map(|tool| (&*tool.spec().name, tool.spec().effects)).collect();
    assert!(
        matches!(effects[0], ("create_calendar_event", e) if e.idempotent && e.file_edit && !e.read_only)
    );
    assert!(matches!(effects[1], ("list_calendar_events", e) if e.read_only));
    assert!(
        matches!(effects[2], ("delete_calendar_event", e) if e.destructive && e.idempotent && e.file_edit)
    );
    for tool in &tools {
        assert!(signoff_core::schema::compile(&tool.spec().parameters).is_ok());
    }
    let arguments = party("Party", "2026-11-20T18:00");
    let made = tools[0]
        .call(Invocation {
            arguments,
            idempotency_key: "k".into(),
            now: Timestamp(0),
            rounds: Vec::new(),
        })
        .await;
    assert_eq!(made.unwrap()["title"], "Party");
}

fn is_allowed(c: char) -> bool {
    c == '\n' || c == '\t' || !c.is_control()
}

proptest! {
    #[test]
    fn text_survives_escaping_and_folding(text in any::<String>()) {
        let line = format!("SUMMARY:{}", escape(&text));
        let folded = fold(&line);
        prop_assert!(folded.split("\r\n").all(|piece| piece.len() <= 75));
        let lines = unfold(&folded);
        prop_assert_eq!(lines.len(), 1);
        let back = Property::parse(&lines[0]).unwrap().text();
        let expected: String = text.replace("\r\n", "\n").replace('\r', "\n").chars().filter(|c| is_allowed(*c)).collect();
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn an_event_survives_its_file(title in any::<String>(), place in any::<String>(), minutes in 1u32..5000) {
        let clean = |text: &str| -> String {
            text.replace("\r\n", "\n").replace('\r', "\n").chars().filter(|c| is_allowed(*c)).collect()
        };
        let start = Moment::parse("2026-11-20T18:00").unwrap();
        let event = Event {
            uid: uid("k"), title: clean(&title), end: Some(start.plus_minutes(minutes).unwrap()), start,
            location: Some(clean(&place)), description: None,
        };
        let mut document = Document::empty("x");
        document.add(event.lines(Timestamp(0)));
        let back = Document::parse(&document.text()).unwrap();
        prop_assert_eq!(back.events().collect::<Vec<_>>(), vec![event]);
    }

    #[test]
    fn no_name_leaves_the_folder(name in prop_oneof![any::<String>(), "[a-z./\\\\ ~-]{0,12}", Just("..".to_owned()), Just("../x".to_owned())]) {
        let folder = Folder::new("/base".into());
        if let Ok(path) = folder.file(&name) {
            prop_assert_eq!(path.parent(), Some(std::path::Path::new("/base")));
            let stem = path.file_name().unwrap().to_str().unwrap();
            prop_assert!(path.extension().is_some_and(|it| it == "ics") && !stem.contains(['/', '\\', ':']));
        }
    }

    #[test]
    fn nothing_read_makes_it_panic(text in any::<String>()) {
        if let Some(document) = Document::parse(&text) {
            let _ = document.events().count();
        }
        let _ = Property::parse(&text);
    }
}

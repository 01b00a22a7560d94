//! How long the inbox takes for a frame when many wait. For `signoff bench` and a test.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;
use signoff_client::InboxEvent;
use signoff_core::request::{RequestBody, RequestStatus, Risk};
use signoff_core::{ConversationId, Request, RequestId, RunId, Tenant, Timestamp};

use crate::inbox::{Inbox, Told};
use crate::screen::Input;
use crate::theme::Theme;

const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// Milliseconds from a key or a change to the whole frame, sample by sample.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// A key that moves the cursor.
    pub scroll: Vec<f64>,
    /// A letter in the search.
    pub search: Vec<f64>,
    /// A request that was decided by somebody else.
    pub change: Vec<f64>,
}

/// Measures an inbox of so many requests by a clock in milliseconds.
pub fn frames(count: u32, samples: u32, clock: impl Fn() -> f64) -> Frames {
    let mut inbox = Inbox::new("me", Theme::Dark, true, NOW);
    inbox.update(Told::Loaded(Ok((0..count).map(request).collect())));
    let Ok(mut terminal) = Terminal::new(TestBackend::new(160, 50));
    let mut timed = |told: Told| {
        let since = clock();
        inbox.update(told);
        let Ok(_) = terminal.draw(|frame| inbox.draw(frame));
        clock() - since
    };
    let mut press = |code| timed(Told::Input(Input::Key(KeyEvent::new(code, KeyModifiers::NONE))));
    let mut frames = Frames::default();
    for n in 0..samples {
        frames.scroll.push(press(if n % 2 == 0 { KeyCode::PageDown } else { KeyCode::Down }));
    }
    for _ in 0..samples.div_ceil(8) {
        press(KeyCode::Char('/'));
        for c in "question 77".chars() {
            frames.search.push(press(KeyCode::Char(c)));
        }
        press(KeyCode::Esc);
    }
    for n in 0..samples {
        let mut request = Box::new(request(n * 7 % count.max(1)));
        request.status = RequestStatus::Decided;
        frames
            .change
            .push(timed(Told::Inbox(InboxEvent::Change { change: "decided".into(), request })));
    }
    frames
}

fn request(n: u32) -> Request {
    let proposal = json!({ "amount": n, "to": format!("account {n}"), "why": "as agreed" });
    let mut body = RequestBody::approval(
        format!("Question {n}: may this payment be made, as it was agreed with the customer?"),
        proposal,
    );
    body.agent_path = vec!["coordinator".into(), format!("agent_{}", n % 17).into()];
    body.risk = [None, Some(Risk::Low), Some(Risk::High)][n as usize % 3];
    let run = RunId::new(format!("run_{n:08}"));
    Request {
        id: RequestId::new(format!("req_{n:08}_1")),
        version: 1,
        status: RequestStatus::Pending,
        run: run.clone(),
        root: run,
        workflow: format!("workflow_{}", n % 5).into(),
        conversation: ConversationId::new(format!("conv_{n}")),
        tenant: Tenant::local(),
        assignee: None,
        body,
        created_at: Timestamp(NOW.0 - i64::from(n) * 1_000),
        decision: None,
        withdrawn: None,
        deferred_until: None,
    }
}

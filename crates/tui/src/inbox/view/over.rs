//! What is shown over the rest: what several decisions would cover, and what keys do.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::inbox::Inbox;
use crate::overlay::overlay;
use crate::text::{column, fit, wrap};

const HELP: &[(&str, &str)] = &[
    ("↑ ↓ j k", "move; PgUp, PgDn, g and G go further"),
    ("Enter →", "open the request: Tab goes through its form, Esc comes back"),
    ("a", "approve; what is risky or changed is opened first"),
    ("d", "deny: type a reason, or none, then Enter"),
    ("e", "change what is proposed, or type the answer"),
    ("c", "claim it, or let it go again"),
    ("x", "comment on it"),
    ("z", "put it off: 30m, 2h, 1d, or until a time"),
    ("t", "give it to somebody to look after"),
    ("Space *", "mark one, or all but those of high risk"),
    ("A D", "approve or deny all that are marked, after a look at them"),
    ("/", "search: all words must be there"),
    ("f w i !", "only this kind; this workflow; mine, nobody's; only risky ones"),
    ("Esc", "show all again"),
    ("r", "read the inbox again"),
    ("q Ctrl-C", "leave; nothing is decided by that"),
];

impl Inbox {
    pub(super) fn draw_bulk(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(bulk) = &self.bulk else { return };
        let theme = self.theme;
        let verb = if bulk.approve { "Approve" } else { "Deny" };
        let covers = bulk.covers.len();
        let things = if covers == 1 { "request" } else { "requests" };
        let title = format!(" {verb} {covers} {things}? ");
        let columns = usize::from(area.width).saturating_sub(6);
        let covers = bulk
            .covers
            .iter()
            .map(|(.., question)| Line::raw(fit(&format!("✓ {question}"), columns)));
        let leaves = bulk.leaves.iter().map(|(question, why)| {
            Line::styled(fit(&format!("– {why}: {question}"), columns), theme.warn())
        });
        let lines: Vec<Line<'static>> = covers.chain(leaves).skip(bulk.scrolled).collect();
        overlay(frame, area, &title, lines, theme);
    }

    pub(super) fn draw_help(&self, frame: &mut Frame<'_>, area: Rect) {
        let columns = usize::from(area.width).saturating_sub(6);
        let mut lines = Vec::new();
        for (keys, what) in HELP {
            for (n, row) in wrap(what, columns.saturating_sub(12)).into_iter().enumerate() {
                let keys = if n == 0 { *keys } else { "" };
                lines.push(Line::from(vec![
                    Span::styled(column(keys, 11), self.theme.accent()),
                    Span::raw(row),
                ]));
            }
        }
        let room = usize::from(area.height).saturating_sub(2);
        self.help_most.set(lines.len().saturating_sub(room));
        let lines = lines.split_off(self.help_at.min(self.help_most.get()));
        overlay(frame, area, " Keys ", lines, self.theme);
    }
}

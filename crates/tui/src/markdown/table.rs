//! Tables, which give way where they are too wide.

use pulldown_cmark::Alignment;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Page;
use crate::text::{fit, width};

pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) cell: String,
}

impl Page {
    pub(super) fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let count = table.rows.iter().map(Vec::len).max().unwrap_or(0);
        let before = self.before(false);
        let room = self
            .columns
            .saturating_sub(width(&before) + 3 * count.saturating_sub(1))
            .max(count * 3);
        let mut widths: Vec<usize> = (0..count)
            .map(|n| {
                table
                    .rows
                    .iter()
                    .filter_map(|row| row.get(n))
                    .map(|it| width(it))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        // The widest gives way first.
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max() else { break };
            if *widest <= 3 {
                break;
            }
            *widest -= 1;
        }
        for (n, row) in table.rows.iter().enumerate() {
            let mut spans = vec![Span::styled(before.clone(), self.theme.dim())];
            for (column, room) in widths.iter().enumerate() {
                if column > 0 {
                    spans.push(Span::styled(" │ ", self.theme.dim()));
                }
                let cell = fit(row.get(column).map_or("", String::as_str), *room);
                let left = room.saturating_sub(width(&cell));
                let cell = match table.alignments.get(column) {
                    Some(Alignment::Right) => format!("{}{cell}", " ".repeat(left)),
                    Some(Alignment::Center) => {
                        format!("{}{cell}{}", " ".repeat(left / 2), " ".repeat(left - left / 2))
                    }
                    _ => format!("{cell}{}", " ".repeat(left)),
                };
                let style = if n == 0 { self.theme.bold() } else { Style::new() };
                spans.push(Span::styled(cell, style));
            }
            self.lines.push(Line::from(spans));
            if n == 0 {
                let rules: Vec<String> = widths.iter().map(|room| "─".repeat(*room)).collect();
                let rule = format!("{before}{}", rules.join("─┼─"));
                self.lines.push(Line::styled(rule, self.theme.dim()));
            }
        }
        self.blank();
    }
}

//! A form below what was printed, for commands that print lines.

use std::io::{self, Stderr};
use std::time::Duration;

use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, Event, EventStream, KeyCode, KeyEventKind,
    KeyModifiers, poll,
};
use crossterm::terminal::{Clear, ClearType, disable_raw_mode, enable_raw_mode, size};
use crossterm::{cursor, execute};
use futures_util::StreamExt as _;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Text};
use ratatui::{Terminal, TerminalOptions, Viewport};
use signoff_core::Decision;

use crate::form::{self, Form, Reply};
use crate::overlay::scroll;
use crate::text::fit;
use crate::theme::Theme;

/// The most lines that are taken.
const TALLEST: u16 = 18;
const KEYS: &str = "Enter answers · Tab next part · ←→ choose · Esc types it instead · Ctrl-C leaves the run parked";

/// What a key led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Pressed {
    /// This was decided.
    Decide(Decision),
    /// The answer is to be typed as a line.
    Type,
    /// The person leaves.
    Leave,
}

/// A form on the last lines of the terminal. Taken away when dropped.
#[derive(Debug)]
pub struct Inline {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    events: Option<EventStream>,
    form: Option<Form>,
    theme: Theme,
}

impl Inline {
    /// Shows a form. Not on terminals that do not say where the cursor is.
    pub fn open(form: Form, theme: Theme) -> io::Result<Self> {
        let (columns, lines) = size()?;
        let wanted = form.draw(usize::from(columns.saturating_sub(2)), theme, true).lines.len() + 3;
        let height = u16::try_from(wanted)
            .unwrap_or(TALLEST)
            .min(TALLEST)
            .min(lines.saturating_sub(1))
            .max(3);
        enable_raw_mode()?;
        let options = TerminalOptions { viewport: Viewport::Inline(height) };
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stderr()), options);
        let terminal = terminal.inspect_err(|_| drop(disable_raw_mode()))?;
        execute!(io::stderr(), EnableBracketedPaste)?;
        Ok(Self { terminal, events: Some(EventStream::new()), form: Some(form), theme })
    }

    /// Takes the form away, and gives it with all that was typed.
    pub fn close(mut self) -> Option<Form> {
        self.form.take()
    }

    /// What is pressed next that ends it. May be given up at any point and asked again.
    pub async fn next(&mut self) -> io::Result<Pressed> {
        loop {
            self.draw()?;
            let event = match &mut self.events {
                Some(events) => events.next().await,
                None => None,
            };
            let Some(form) = &mut self.form else { return Ok(Pressed::Leave) };
            match event.transpose()? {
                None => return Ok(Pressed::Leave),
                Some(Event::Paste(text)) => form.paste(&text),
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    let control = key.modifiers.contains(KeyModifiers::CONTROL);
                    if control && key.code == KeyCode::Char('c') {
                        return Ok(Pressed::Leave);
                    }
                    if form::is_undo(key) {
                        form.undo();
                        continue;
                    }
                    match form.key(key) {
                        Reply::Decide(decision) => return Ok(Pressed::Decide(decision)),
                        Reply::Hide => return Ok(Pressed::Type),
                        Reply::Taken | Reply::Unused => {}
                    }
                }
                Some(_) => {}
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let Self { terminal, form: Some(form), theme, .. } = self else { return Ok(()) };
        terminal.draw(|frame| {
            let area = frame.area();
            let columns = usize::from(area.width.saturating_sub(2));
            let drawn = form.draw(columns, *theme, true);
            let height = usize::from(area.height.saturating_sub(2));
            let first = scroll(drawn.lines.len(), height, drawn.focus, None, true);
            let seen: Vec<Line<'static>> =
                drawn.lines.into_iter().skip(first).take(height).collect();
            let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
            frame.render_widget(Text::from(seen), inner);
            let keys = Line::styled(fit(KEYS, columns), theme.dim());
            let last = Rect { y: area.y + area.height.saturating_sub(1), height: 1, ..inner };
            frame.render_widget(keys, last);
            if let Some((x, y)) = drawn.cursor.filter(|(_, y)| *y >= first && *y - first < height) {
                let x = inner.x + u16::try_from(x).unwrap_or(0);
                frame.set_cursor_position(Position::new(
                    x,
                    inner.y + u16::try_from(y - first).unwrap_or(0),
                ));
            }
        })?;
        Ok(())
    }
}

impl Drop for Inline {
    fn drop(&mut self) {
        self.events = None;
        // Letting go of the keys wakes whoever waits for them; if nobody does, the next one must not find that.
        let _ = poll(Duration::ZERO);
        // Nobody can be told if this fails.
        let area = self.terminal.get_frame().area();
        let _ = execute!(
            io::stderr(),
            cursor::MoveTo(area.x, area.y),
            Clear(ClearType::FromCursorDown),
            DisableBracketedPaste,
            cursor::Show
        );
        let _ = disable_raw_mode();
    }
}

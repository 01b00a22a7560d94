//! The terminal, taken over for as long as a screen is there and given back in any case.

use std::io::{self, Stdout, Write as _};

use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, Event,
    EventStream, KeyEventKind,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use futures_util::StreamExt as _;
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};

use super::Input;
use crate::text::{fit, printable_line};

/// A terminal that shows screens.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    events: Option<EventStream>,
    title: String,
    /// Told to stop, the terminal is given back first.
    #[cfg(unix)]
    stop: tokio::signal::unix::Signal,
}

impl Screen {
    /// Takes the terminal.
    pub fn take() -> io::Result<Self> {
        // Whatever panics, the terminal is given back before it is said.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        #[cfg(unix)]
        let stop = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        enter()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Self {
            terminal,
            events: Some(EventStream::new()),
            title: String::new(),
            #[cfg(unix)]
            stop,
        })
    }

    /// Draws a frame, which is seen as a whole.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        execute!(io::stdout(), BeginSynchronizedUpdate)?;
        self.terminal.draw(view)?;
        execute!(io::stdout(), EndSynchronizedUpdate)
    }

    /// The next thing that comes from the terminal; none when it is gone.
    pub async fn next(&mut self) -> Option<Input> {
        let events = self.events.as_mut()?;
        loop {
            #[cfg(unix)]
            let stopped = self.stop.recv();
            #[cfg(not(unix))]
            let stopped = std::future::pending::<Option<()>>();
            let event = tokio::select! {
                event = events.next() => event?.ok()?,
                _ = stopped => return None,
            };
            return Some(match event {
                Event::Key(key) if key.kind == KeyEventKind::Release => continue,
                Event::Key(key) => Input::Key(key),
                Event::Paste(text) => Input::Paste(text),
                Event::Resize(..) => Input::Resized,
                Event::FocusGained => Input::LookedAt(true),
                Event::FocusLost => Input::LookedAt(false),
                Event::Mouse(_) => continue,
            });
        }
    }

    /// Says what is shown in the title of the window.
    pub fn title(&mut self, title: &str) -> io::Result<()> {
        let title = fit(&printable_line(title), 80);
        if title != self.title {
            execute!(io::stdout(), SetTitle(&title))?;
            self.title = title;
        }
        Ok(())
    }

    /// Calls for attention: a bell, and a note of the desktop where the terminal knows that.
    pub fn call(&mut self, text: &str) -> io::Result<()> {
        let text: String = printable_line(text).replace(';', ",");
        let mut out = io::stdout();
        write!(out, "\u{1b}]9;{}\u{7}\u{7}", fit(&text, 120))?;
        out.flush()
    }

    /// Gives the terminal to something else for a while.
    pub fn lend<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        // Between two inputs nobody reads the terminal, so that whoever it is lent to gets every key.
        give_back();
        let done = work();
        enter()?;
        execute!(io::stdout(), Clear(ClearType::All))?;
        // Knows nothing of what was shown before, and draws all of it.
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(done)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.events = None;
        give_back();
        // The title that the terminal had is not known; none is the honest one.
        let _ = execute!(io::stdout(), SetTitle(""));
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableFocusChange,
        cursor::Hide
    )
}

/// Nobody can be told if this fails.
fn give_back() {
    let _ = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

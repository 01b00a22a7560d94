//! Colours, and what stands in for them where there are none.

use ratatui::style::{Color, Modifier, Style};

/// What agents are marked with, so that colour is never the only sign.
const SIGNS: [&str; 8] = ["●", "▲", "■", "◆", "★", "▼", "○", "□"];

/// How things are painted. The terminal's own colours only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// For light text on a dark ground.
    #[default]
    Dark,
    /// For dark text on a light ground.
    Light,
    /// Without colours.
    Plain,
}

impl Theme {
    /// The theme of this name.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "dark" => Some(Self::Dark),
            "light" => Some(Self::Light),
            "plain" | "none" => Some(Self::Plain),
            _ => None,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Plain => "plain",
        }
    }

    fn colour(self, dark: Color, light: Color) -> Style {
        match self {
            Self::Dark => Style::new().fg(dark),
            Self::Light => Style::new().fg(light),
            Self::Plain => Style::new(),
        }
    }

    /// What matters most.
    pub fn accent(self) -> Style {
        self.colour(Color::Cyan, Color::Blue).add_modifier(Modifier::BOLD)
    }

    /// What matters least.
    pub fn dim(self) -> Style {
        match self {
            Self::Dark | Self::Plain => Style::new().add_modifier(Modifier::DIM),
            Self::Light => Style::new().fg(Color::DarkGray),
        }
    }

    /// What went well.
    pub fn good(self) -> Style {
        self.colour(Color::Green, Color::Green)
    }

    /// What went wrong.
    pub fn bad(self) -> Style {
        self.colour(Color::Red, Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What to look at.
    pub fn warn(self) -> Style {
        self.colour(Color::Yellow, Color::Magenta)
    }

    /// Strong words.
    pub fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The line or button that is chosen.
    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Code.
    pub fn code(self) -> Style {
        self.colour(Color::Yellow, Color::Magenta)
    }

    /// An agent, by its number.
    pub fn agent(self, n: usize) -> Style {
        let dark = [
            Color::Cyan,
            Color::Green,
            Color::Magenta,
            Color::Yellow,
            Color::Blue,
            Color::LightRed,
        ];
        let light =
            [Color::Blue, Color::Green, Color::Magenta, Color::Red, Color::Cyan, Color::Black];
        self.colour(dark[n % dark.len()], light[n % light.len()]).add_modifier(Modifier::BOLD)
    }

    /// The sign of an agent, by its number.
    pub fn sign(n: usize) -> &'static str {
        SIGNS[n % SIGNS.len()]
    }
}

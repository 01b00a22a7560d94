//! What the engine must know of a tool before it lets an agent call it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::Name;

/// A tool as an agent and a gate see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: Name,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// What calling it does to the world.
    #[serde(default)]
    pub effects: Effects,
}

/// What calling a tool does to the world. Nothing is assumed harmless unless said.
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Effects {
    /// It only looks.
    pub read_only: bool,
    /// Calling it twice with the same idempotency key is the same as calling it once.
    pub idempotent: bool,
    /// It can destroy what cannot be brought back.
    pub destructive: bool,
    /// It reaches outside this system.
    pub open_world: bool,
    /// It changes files.
    pub file_edit: bool,
    /// It runs programs.
    pub execute: bool,
    /// It uses the network.
    pub network: bool,
}

impl Effects {
    /// A tool that only looks.
    pub const READ_ONLY: Self = Self {
        read_only: true,
        idempotent: true,
        destructive: false,
        open_world: false,
        file_edit: false,
        execute: false,
        network: false,
    };

    /// The words for what holds, as conditions see them.
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            (self.read_only, "read_only"),
            (self.idempotent, "idempotent"),
            (self.destructive, "destructive"),
            (self.open_world, "open_world"),
            (self.file_edit, "file_edit"),
            (self.execute, "execute"),
            (self.network, "network"),
        ];
        all.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name).collect()
    }

    /// Those that these words say.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut effects = Self::default();
        for name in names {
            match name {
                "read_only" => effects.read_only = true,
                "idempotent" => effects.idempotent = true,
                "destructive" => effects.destructive = true,
                "open_world" => effects.open_world = true,
                "file_edit" => effects.file_edit = true,
                "execute" => effects.execute = true,
                "network" => effects.network = true,
                _ => {}
            }
        }
        effects
    }

    /// Whether a call may simply be made again when it is not known to have happened.
    pub fn repeatable(self) -> bool {
        self.read_only || self.idempotent
    }
}

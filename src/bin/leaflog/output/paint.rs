//! Colours, for terminals only.

use std::io::IsTerminal as _;

use leaflog::Role;

use crate::args::Colours;

/// Paints, or does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    colours: bool,
}

impl Paint {
    pub(crate) fn none() -> Self {
        Self { colours: false }
    }

    /// As was asked for; in doubt only on a terminal, and not if the user wants none anywhere (no-color.org).
    pub(crate) fn on_stdout(colours: Colours) -> Self {
        let unwanted = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colours = match colours {
            Colours::Always => true,
            Colours::Never => false,
            Colours::Auto => std::io::stdout().is_terminal() && !unwanted(),
        };
        Self { colours }
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.colours && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn label(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(crate) fn leaf(self, text: &str) -> String {
        self.with("1;32", text)
    }

    pub(crate) fn role(self, role: Option<Role>, text: &str) -> String {
        let code = match role {
            Some(Role::User) => "1;36",
            Some(Role::Assistant) => "34",
            _ => "35",
        };
        self.with(code, text)
    }
}

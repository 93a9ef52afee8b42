//! Going elsewhere in a session, with a summary of what is left if that is wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leaflog::{
    CommandSummarizer, EntryId, NavigateOptions, Navigation, NavigationDecision, Navigator, Session, Summary,
};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::app::App;
use crate::args::Navigate;
use crate::failure::Failure;
use crate::output::plain_lines;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NavigatedJson<'a> {
    cancelled: bool,
    leaf: Option<&'a EntryId>,
    editor_text: Option<&'a str>,
    summary_entry: Option<&'a EntryId>,
}

pub(super) fn run(app: &mut App, args: &Navigate) -> Result<(), Failure> {
    if args.summarize && args.summarizer.is_none() {
        let message =
            "--summarize needs a command that writes the summary: give --summarizer or set LEAFLOG_SUMMARIZER";
        return Err(Failure::Usage(message.to_owned()));
    }
    let session = Arc::new(app.open(&args.session)?);
    match navigate(&session, args)? {
        Navigation::Moved(moved) => {
            let (editor_text, entry) = (moved.editor_text.as_deref(), moved.summary_entry.as_ref());
            print(app, moved.leaf.as_ref(), editor_text, entry)
        }
        Navigation::Unchanged => {
            app.output.note("the leaf is there already; nothing was written");
            print(app, session.leaf().as_ref(), None, None)
        }
        Navigation::Cancelled => {
            if app.output.is_json() {
                let leaf = session.leaf();
                let cancelled =
                    NavigatedJson { cancelled: true, leaf: leaf.as_ref(), editor_text: None, summary_entry: None };
                app.output.json(&cancelled)?;
                app.output.flush()?;
            }
            Err(Failure::Cancelled("cancelled; the leaf is where it was"))
        }
        Navigation::Conflict { error, summary } => {
            let summary = summary.map(|summary: Summary| summary.text);
            if let Some(summary) = summary.as_ref().filter(|_| !app.output.is_json()) {
                // It was paid for: it must not be lost with the conflict.
                app.output.text(&format!("{}\n", plain_lines(summary)))?;
                app.output.flush()?;
            }
            Err(Failure::Conflict { error, summary })
        }
    }
}

fn print(
    app: &mut App,
    leaf: Option<&EntryId>,
    editor_text: Option<&str>,
    summary_entry: Option<&EntryId>,
) -> Result<(), Failure> {
    if app.output.is_json() {
        return app.output.json(&NavigatedJson { cancelled: false, leaf, editor_text, summary_entry });
    }
    app.output.line(leaf.map_or_else(|| "root".to_owned(), EntryId::to_string))?;
    editor_text.map_or(Ok(()), |text| app.output.text(&format!("{}\n", plain_lines(text))))
}

fn navigate(session: &Arc<Session>, args: &Navigate) -> Result<Navigation, Failure> {
    let options = options(args);
    let Some(command) = args.summarizer.as_ref().filter(|_| args.summarize) else {
        return Ok(Navigator::new(Arc::clone(session)).navigate(&args.entry, &options)?);
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    let early = Arc::clone(&interrupted);
    let navigator = Navigator::new(Arc::clone(session))
        .summarizer(CommandSummarizer::shell(command).time_limit(args.timeout))
        .before(move |_| {
            let interrupted = early.load(Ordering::SeqCst);
            Ok(if interrupted { NavigationDecision::cancel() } else { NavigationDecision::proceed() })
        });
    let navigator = Arc::new(navigator);
    let stopped = Arc::clone(&navigator);
    let _signals = Signalled::call(move || {
        interrupted.store(true, Ordering::SeqCst);
        stopped.abort();
    })?;
    Ok(navigator.navigate(&args.entry, &options)?)
}

fn options(args: &Navigate) -> NavigateOptions {
    let mut options = NavigateOptions::new().summarize(args.summarize).replace_instructions(args.replace_instructions);
    if let Some(instructions) = &args.instructions {
        options = options.instructions(instructions);
    }
    if let Some(label) = &args.label {
        options = options.label(label);
    }
    if let Some(window) = args.window {
        options = options.context_window(window);
    }
    if let Some(reserve) = args.reserve {
        options = options.reserve(reserve);
    }
    options
}

/// Calls back at Ctrl-C and at a request to end, which reach this process only: the summariser has a process group of
/// its own, and would go on without anybody to read it.
struct Signalled(signal_hook::iterator::Handle);

impl Signalled {
    fn call(act: impl Fn() + Send + 'static) -> Result<Self, Failure> {
        let mut signals =
            Signals::new([SIGINT, SIGTERM]).map_err(|error| Failure::io("cannot wait for signals", &error))?;
        let handle = signals.handle();
        std::thread::spawn(move || signals.forever().for_each(|_| act()));
        Ok(Self(handle))
    }
}

impl Drop for Signalled {
    fn drop(&mut self) {
        self.0.close();
    }
}

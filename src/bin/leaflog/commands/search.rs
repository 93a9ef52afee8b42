//! Searching one session, or all.

use std::io::IsTerminal as _;

use leaflog::{EntryKind, Error, ErrorKind, Hit, HitIn, ListOptions, Role, Session};
use regex::RegexBuilder;
use serde::Serialize;

use crate::app::App;
use crate::args::Search;
use crate::failure::Failure;
use crate::output::{Output, Progress, plain};

/// How many characters are shown before and behind a match.
const AROUND_CHARACTERS: usize = 40;

#[derive(Serialize)]
struct HitJson {
    session: String,
    path: String,
    entry: Option<String>,
    role: Option<&'static str>,
    /// `text`, `label` or `name`.
    place: &'static str,
    piece: String,
}

pub(super) fn run(app: &mut App, args: &Search) -> Result<(), Failure> {
    let search = search(args)?;
    let mut hits = Vec::new();
    let limit = args.limit.unwrap_or(usize::MAX);
    let mut left = limit;
    if limit > 0 {
        let mut visit = |app: &mut App, session: &Session, hit: &Hit| -> Result<bool, Failure> {
            if app.output.is_json() {
                hits.push(json(session, hit));
            } else {
                app.output.line(line(session, hit))?;
            }
            left -= 1;
            Ok(left > 0)
        };
        match args.session() {
            Some(named) => {
                let session = app.open(&named)?;
                for hit in session.search(&search)? {
                    if !visit(app, &session, &hit?)? {
                        break;
                    }
                }
            }
            None => search_all(app, args, &search, &mut visit)?,
        }
    }
    if app.output.is_json() { app.output.json_array(hits.into_iter().map(Ok)) } else { Ok(()) }
}

type Visit<'a> = dyn FnMut(&mut App, &Session, &Hit) -> Result<bool, Failure> + 'a;

fn search_all(app: &mut App, args: &Search, search: &leaflog::Search, visit: &mut Visit<'_>) -> Result<(), Failure> {
    let options = match &args.cwd {
        Some(cwd) => ListOptions::new().cwd(cwd),
        None => ListOptions::new(),
    };
    let store = app.store()?;
    let mut failure = None;
    let visit = &mut |session: &Session, hit| match visit(app, session, &hit) {
        Ok(more) => Ok(more),
        Err(failed) => {
            failure = Some(failed);
            Ok(false)
        }
    };
    // On a terminal the matches themselves show that something is done, and a bar would stand among them.
    let progress = (!std::io::stdout().is_terminal()).then(Progress::of_sessions);
    let tell = &mut |done, all| progress.as_ref().map_or((), |progress| progress.update(done, all));
    let unreadable = store.search_with_progress(search, &options, tell, visit)?;
    drop(progress);
    for (path, error) in unreadable {
        // In JSON there is no place for it among the hits, and it must not be silent.
        Output::warn(&format!("{} was not searched: {error}", path.display()));
    }
    failure.map_or(Ok(()), Err)
}

fn search(args: &Search) -> Result<leaflog::Search, Failure> {
    if args.pattern.is_empty() {
        return Err(Failure::Usage("an empty pattern would match everything".to_owned()));
    }
    let search = if args.regex || args.ignore_case {
        let pattern = if args.regex { args.pattern.clone() } else { regex::escape(&args.pattern) };
        let expression = RegexBuilder::new(&pattern).case_insensitive(args.ignore_case).build().map_err(|error| {
            // Over several lines the error draws where it is; the last one says what it is.
            let message = error.to_string();
            let last = message.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Error::new(ErrorKind::Invalid, format!("not a regular expression: {last}"))
        })?;
        leaflog::Search::matching(move |text| expression.find(text).map(|found| found.range()))
    } else {
        leaflog::Search::text(&args.pattern)
    };
    Ok(match args.role {
        Some(role) => search.role(role.into()),
        None => search,
    })
}

/// The role, or what else it is that says this.
fn who(hit: &Hit) -> &'static str {
    match (hit.place, hit.role, hit.kind) {
        (HitIn::Text, Some(role), _) => role.as_str(),
        (HitIn::Text, None, Some(EntryKind::Compaction)) => "compaction",
        (HitIn::Text, None, Some(EntryKind::BranchSummary)) => "branch_summary",
        (HitIn::Text, None, Some(EntryKind::CustomMessage)) => "custom_message",
        (HitIn::Text, None, _) => "message",
        (place, ..) => place.as_str(),
    }
}

fn line(session: &Session, hit: &Hit) -> String {
    let entry = hit.entry.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    format!("{} {entry} {}: {}", session.id(), who(hit), plain(&hit.excerpt(AROUND_CHARACTERS)))
}

fn json(session: &Session, hit: &Hit) -> HitJson {
    HitJson {
        session: session.id().to_string(),
        path: session.path().to_string_lossy().into_owned(),
        entry: hit.entry.as_ref().map(ToString::to_string),
        role: hit.role.map(Role::as_str),
        place: hit.place.as_str(),
        piece: hit.excerpt(AROUND_CHARACTERS),
    }
}

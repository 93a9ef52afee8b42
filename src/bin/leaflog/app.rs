//! What every command needs: where the sessions are, how they are opened, and where answers go.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use leaflog::{Error, ErrorKind, Session, SessionOptions, Store};

use crate::args::{Global, SessionArgs};
use crate::failure::Failure;
use crate::output::Output;

/// What names the newest session.
const LATEST: &str = "latest";

/// What the paths of sessions in databases begin with.
const SQLITE: &str = "sqlite:";

pub(crate) struct App {
    global: Global,
    pub(crate) output: Output,
}

impl App {
    pub(crate) fn new(global: Global) -> Self {
        let output = Output::new(global.json);
        Self { global, output }
    }

    /// How sessions are opened.
    pub(crate) fn options(&self) -> SessionOptions {
        let global = &self.global;
        SessionOptions::new().strict(global.strict).allow_shared_file_system(global.allow_shared_file_system)
    }

    /// Where the sessions are: as typed, or what `LEAFLOG_ROOT` says, or in the user's data folder.
    pub(crate) fn store(&self) -> Result<Store, Failure> {
        let from_environment = || env::var_os("LEAFLOG_ROOT").filter(|root| !root.is_empty()).map(PathBuf::from);
        let root = match self.global.root.clone().or_else(from_environment) {
            Some(root) => root,
            None => data_folder()?.join("leaflog"),
        };
        self.store_at(root)
    }

    /// The store at a location that was typed.
    pub(crate) fn store_at(&self, location: impl AsRef<Path>) -> Result<Store, Failure> {
        Ok(Store::at(location)?.with_options(self.options()))
    }

    /// The store that has the session at `path`: the usual one, unless the path names another.
    pub(crate) fn store_of(&self, path: &Path) -> Result<Store, Failure> {
        match path.to_str().filter(|name| name.starts_with(SQLITE)).and_then(|name| name.rsplit_once('#')) {
            Some((location, _)) => self.store_at(location),
            None => self.store(),
        }
    }

    /// The path of the session that was named.
    pub(crate) fn path(&self, named: &SessionArgs) -> Result<PathBuf, Failure> {
        match named.session.to_str() {
            Some(LATEST) => self.latest(named.any),
            // A path in full needs no folder of sessions.
            Some(name) if name.contains('/') || name.starts_with(SQLITE) => Ok(name.into()),
            Some(name) => Ok(self.store()?.find(name)?),
            None => Ok(named.session.clone().into()),
        }
    }

    fn latest(&self, any: bool) -> Result<PathBuf, Failure> {
        let cwd = if any { None } else { Some(current_folder()?) };
        Ok(self.store()?.latest(cwd.as_deref())?)
    }

    /// Opens the session that was named, and says on stderr if there is damage in it.
    pub(crate) fn open(&self, named: &SessionArgs) -> Result<Session, Failure> {
        let session = Session::open_with(self.path(named)?, self.options())?;
        let (damage, count) = session.damage();
        if let Some(first) = damage.first() {
            let place = format!("the first at line {}, offset {}", first.line, first.offset);
            self.output.note(&format!("{count} damaged records, {place}: {}", first.kind));
        }
        Ok(session)
    }
}

/// A folder that was typed, or the current one.
pub(crate) fn folder_or_current(typed: Option<&Path>) -> Result<PathBuf, Failure> {
    typed.map_or_else(current_folder, |folder| Ok(folder.to_owned()))
}

fn current_folder() -> Result<PathBuf, Failure> {
    env::current_dir().map_err(|error| Failure::io("cannot tell the current folder", &error))
}

fn data_folder() -> Result<PathBuf, Failure> {
    let strategy = etcetera::base_strategy::choose_base_strategy().map_err(|_| {
        let message = "there is no data folder for this user; give --root or set LEAFLOG_ROOT";
        Failure::Engine(Error::new(ErrorKind::NotFound, message))
    })?;
    Ok(strategy.data_dir())
}

/// A name for the library, which takes text.
pub(crate) fn as_text<'a>(name: &'a OsStr, what: &str) -> Result<&'a str, Failure> {
    name.to_str().ok_or_else(|| Error::new(ErrorKind::Invalid, format!("{what} is not UTF-8")).into())
}

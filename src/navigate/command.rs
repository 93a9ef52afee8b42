//! A summariser that runs a program (SPEC 6.4).
//!
//! Three threads keep its pipes moving, so that neither side waits for the other however much is written; the calling
//! thread watches the clock, the cancellation and the program. The program leads a process group of its own, which is
//! killed as a whole when the program is over, for whatever reason.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::cancellation::Cancellation;
use super::prompt::Prompt;
use super::summarizer::{Summarized, Summarizer, SummaryFailure};

/// How long a program may take unless the host says otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// How much a program may print, in bytes.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// How much of the end of a program's stderr an error shows, in bytes.
const STDERR_BYTES_SHOWN: usize = 2 << 10;

/// How often the program is looked at.
const POLL: Duration = Duration::from_millis(5);

/// How long the pipes may stay open when the program and its process group are gone.
const GRACE: Duration = Duration::from_secs(1);

/// Runs a program that gets the prompt on stdin and prints the summary on stdout (SPEC 6.4).
///
/// The summary is what was printed when the program ended with exit code 0; other processes of its process group are
/// killed then. It may print 1 MiB; bytes that are no UTF-8 become U+FFFD. Nothing printed, another exit code, too much
/// printed or too much time taken is a failure, which shows the last 2 KiB of what was said on stderr.
///
/// The program is out of reach of a terminal's Ctrl-C, which goes to another process group; a host that dies of a
/// signal should abort the navigation first.
///
/// # Examples
///
/// ```
/// use leaflog::{Cancellation, CommandSummarizer, Summarizer, summary_prompt};
///
/// let prompt = summary_prompt(&[], Some("Say hello."), true);
/// let command = CommandSummarizer::new("tail", ["-n", "1"]);
/// let summarized = command.summarize(&prompt, &Cancellation::new()).expect("`tail` is there");
/// assert_eq!(summarized.text, "Say hello.");
/// ```
#[derive(Clone, Debug)]
pub struct CommandSummarizer {
    program: OsString,
    arguments: Vec<OsString>,
    time_limit: Duration,
}

impl CommandSummarizer {
    /// Runs `program` with `arguments`; no shell is involved. The time limit is five minutes.
    pub fn new<A: AsRef<OsStr>>(program: impl AsRef<OsStr>, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        Self { program: program.as_ref().to_owned(), arguments, time_limit: TIME_LIMIT }
    }

    /// Runs a command line, as a person types it, by `sh -c`.
    pub fn shell(line: impl AsRef<OsStr>) -> Self {
        Self::new("sh", [OsStr::new("-c"), line.as_ref()])
    }

    /// How long the program may take before it is killed.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    fn failure(&self, what: &str, stderr: &[u8]) -> SummaryFailure {
        let program = self.program.to_string_lossy();
        let said = one_line(stderr);
        let colon = if said.is_empty() { "" } else { ": " };
        SummaryFailure::failed(format!("the summarizer `{program}` {what}{colon}{said}"))
    }

    fn judge(&self, ending: &Ending, output: Option<&[u8]>, stderr: &[u8]) -> Result<Summarized, SummaryFailure> {
        let printed_too_much = output.is_some_and(|output| output.len() as u64 > OUTPUT_BYTES_MAX);
        let what = match ending {
            Ending::Cancelled => return Err(SummaryFailure::Aborted),
            Ending::TimedOut => format!("took longer than {} s and was killed", self.time_limit.as_secs_f64()),
            // A program whose output was cut off may die of that.
            _ if printed_too_much => format!("printed more than {OUTPUT_BYTES_MAX} bytes"),
            Ending::Exited(status) if !status.success() => format!("failed ({status})"),
            Ending::Exited(_) | Ending::TooMuch => match output.map(String::from_utf8_lossy) {
                None => "is over, but what it started keeps its output open".to_owned(),
                Some(text) if text.trim().is_empty() => "printed nothing".to_owned(),
                Some(text) => return Ok(Summarized::new(text.trim())),
            },
        };
        Err(self.failure(&what, stderr))
    }
}

impl Summarizer for CommandSummarizer {
    fn summarize(&self, prompt: &Prompt, cancellation: &Cancellation) -> Result<Summarized, SummaryFailure> {
        let started = Running::start(self, prompt.to_string().into_bytes());
        let mut running = started.map_err(|error| self.failure(&format!("cannot be run: {error}"), b""))?;
        let ending = running.wait(self.time_limit, cancellation)?;
        let Said { output, stderr } = running.finish()?;
        self.judge(&ending, output.as_deref(), &stderr)
    }
}

/// How the watching ended.
enum Ending {
    Exited(ExitStatus),
    TooMuch,
    TimedOut,
    Cancelled,
}

/// What a program said.
struct Said {
    /// `None` if somebody keeps the pipe open.
    output: Option<Vec<u8>>,
    stderr: Vec<u8>,
}

type Reader = JoinHandle<io::Result<Vec<u8>>>;

/// A program with the threads that read what it says.
struct Running {
    child: Child,
    group: Pid,
    /// Whether its status was taken, after which its id may be that of another program.
    is_reaped: bool,
    output: Option<Reader>,
    stderr: Option<Reader>,
    printed_too_much: Arc<AtomicBool>,
}

impl Running {
    fn start(command: &CommandSummarizer, input: Vec<u8>) -> io::Result<Self> {
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = Pid::from_child(&child);
        let too_much = Arc::new(AtomicBool::new(false));
        let printed_too_much = Arc::clone(&too_much);
        // From here on the program is killed should anything fail.
        let mut running = Self { child, group, is_reaped: false, output: None, stderr: None, printed_too_much };
        running.output = Some(thread::Builder::new().spawn(move || read_head(stdout, &too_much))?);
        running.stderr = Some(thread::Builder::new().spawn(move || read_tail(stderr))?);
        thread::Builder::new().spawn(move || {
            // A program need not read its input; what it thinks of that shows in its exit code.
            let _ = stdin.map(|mut stdin| stdin.write_all(&input));
        })?;
        Ok(running)
    }

    /// Watches the program until it ends or is made to.
    fn wait(&mut self, limit: Duration, cancellation: &Cancellation) -> io::Result<Ending> {
        let start = Instant::now();
        loop {
            let ending = if cancellation.wait(POLL) {
                Ending::Cancelled
            } else if self.is_over()? {
                return self.stop().map(Ending::Exited);
            } else if self.printed_too_much.load(Ordering::Relaxed) {
                Ending::TooMuch
            } else if start.elapsed() >= limit {
                Ending::TimedOut
            } else {
                continue;
            };
            self.stop()?;
            return Ok(ending);
        }
    }

    /// Whether the program has ended. It stays a zombie until `stop`, so that nobody else gets its id.
    fn is_over(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.group), options)?.is_some())
    }

    /// Kills what is left of the process group and takes the program's status.
    fn stop(&mut self) -> io::Result<ExitStatus> {
        // ORDER: the group is killed before the status is taken, which frees the id. An error says that nobody is left.
        let _ = kill_process_group(self.group, Signal::KILL);
        self.is_reaped = true;
        self.child.wait()
    }

    /// What the program said on stdout, and the end of what it said on stderr.
    fn finish(&mut self) -> io::Result<Said> {
        let start = Instant::now();
        let collect = |reader: Option<Reader>| {
            let Some(reader) = reader else { return Ok(None) };
            while !reader.is_finished() {
                if start.elapsed() >= GRACE {
                    return Ok(None);
                }
                thread::sleep(POLL);
            }
            reader.join().expect("a reader does not panic").map(Some)
        };
        Ok(Said { output: collect(self.output.take())?, stderr: collect(self.stderr.take())?.unwrap_or_default() })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_reaped {
            // Nothing is left to tell anybody about.
            let _ = self.stop();
        }
    }
}

/// Reads to the end, or until it is too much; the pipe is closed then.
fn read_head(pipe: Option<impl Read>, too_much: &AtomicBool) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    }
    too_much.store(bytes.len() as u64 > OUTPUT_BYTES_MAX, Ordering::Relaxed);
    Ok(bytes)
}

/// Reads to the end and keeps the last bytes only.
fn read_tail(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let Some(mut pipe) = pipe else { return Ok(kept) };
    let mut chunk = [0; STDERR_BYTES_SHOWN];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => return Ok(kept),
            Ok(count) => kept.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        kept.drain(..kept.len().saturating_sub(STDERR_BYTES_SHOWN));
    }
}

/// Text for an error: control characters, line breaks too, become spaces.
fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let plain: String = text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    // A character that was cut in two at the front says nothing.
    plain.trim_start_matches(char::REPLACEMENT_CHARACTER).trim().to_owned()
}

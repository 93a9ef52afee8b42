//! What the operating system refuses: permissions, sizes, full disks.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{BINARY, Place, Run};

/// A user without rights; permissions do not bind root.
const NOBODY: u32 = 65534;

/// A copy of the binary that a user without rights can run.
struct Unprivileged {
    binary: PathBuf,
    root: PathBuf,
    is_root: bool,
}

impl Unprivileged {
    fn new(place: &Place) -> Self {
        let binary = place.folder().join("leaflog");
        // By another process: a file that this one has open for writing cannot be run while another test forks.
        assert!(Command::new("cp").arg(BINARY).arg(&binary).status().unwrap().success());
        set_mode(&binary, 0o755);
        set_mode(place.folder(), 0o755);
        // The kernel's own view of this process tells who we are.
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        Self { binary, root: place.root(), is_root }
    }

    fn run(&self, args: &[&str]) -> Run {
        let mut command = Command::new(&self.binary);
        command.args(args).current_dir("/").env_clear().env("LEAFLOG_ROOT", &self.root).env("HOME", "/");
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.stdin(Stdio::null()).output().unwrap().into()
    }

    fn denied(&self, args: &[&str]) {
        let line = self.run(&[args, &["--json"]].concat()).failed(1);
        let error: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(error["error"]["kind"], "denied", "{args:?}: {line}");
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn in_a_read_only_folder_everything_can_be_read_and_nothing_is_written() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two"]);
    let user = Unprivileged::new(&place);
    let folder = Path::new(&session).parent().unwrap();
    let old = folder.join("old");
    fs::write(&old, "{\"type\":\"session\",\"id\":\"old\",\"cwd\":\"/\"}\n").unwrap();
    let before = place.files();
    set_mode(&old, 0o644);
    set_mode(Path::new(&session), 0o444);
    set_mode(folder, 0o555);
    set_mode(&place.root(), 0o555);
    for command in ["tree", "path", "context", "entries", "tips", "stats", "info", "export"] {
        let run = user.run(&[command, &session]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{command}");
    }
    assert_eq!(user.run(&["list"]).stdout.lines().count(), 1);
    user.denied(&["append", &session, "--text", "x"]);
    user.denied(&["move", &session, &ids[0]]);
    user.denied(&["move", &session, &ids[0], "--summary", "x"]);
    user.denied(&["compact", &session, "--summary", "x"]);
    user.denied(&["label", &session, &ids[0], "x"]);
    user.denied(&["name", &session, "x"]);
    user.denied(&["migrate", old.to_str().unwrap()]);
    user.denied(&["fork", &session]);
    user.denied(&["clone", &session]);
    user.denied(&["new", "--cwd", "/elsewhere"]);
    user.denied(&["delete", &session]);
    user.denied(&["delete", &session, "--forever"]);
    let target = folder.join("copy");
    user.denied(&["export", &session, "-o", target.to_str().unwrap()]);
    set_mode(&place.root(), 0o755);
    set_mode(folder, 0o755);
    assert_eq!(place.files(), before);
}

#[test]
fn an_unreadable_session_is_an_error_of_every_command_and_marked_in_the_list() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one"]);
    let user = Unprivileged::new(&place);
    let folder = Path::new(&session).parent().unwrap();
    let before = place.files();
    set_mode(&place.root(), 0o755);
    set_mode(folder, 0o755);
    set_mode(Path::new(&session), 0o000);
    for command in ["tree", "path", "context", "entries", "tips", "stats", "info", "export", "fork", "clone"] {
        user.denied(&[command, &session]);
    }
    user.denied(&["append", &session, "--text", "x"]);
    user.denied(&["show", &session, &ids[0]]);
    let list = user.run(&["list", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(list[0]["damaged"], true);
    set_mode(folder, 0o000);
    user.denied(&["info", &session]);
    set_mode(&place.root(), 0o000);
    user.denied(&["list"]);
    user.denied(&["info", "some-id"]);
    set_mode(&place.root(), 0o755);
    set_mode(folder, 0o755);
    set_mode(Path::new(&session), 0o600);
    assert_eq!(place.files(), before);
}

/// Runs under a file-size limit of so many blocks of 512 bytes.
fn limited(place: &Place, blocks: u32, args: &[&str], input: &[u8]) -> Run {
    let mut command = place.command();
    let script = format!("ulimit -f {blocks} && exec \"$0\" \"$@\"");
    let environment: Vec<_> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    command = Command::new("/bin/sh");
    command.args(["-c", &script, BINARY]).args(args).current_dir(place.project()).env_clear().envs(environment);
    assert_cmd::Command::from_std(command).write_stdin(input).output().unwrap().into()
}

fn storage_full(run: Run) {
    let line = run.failed(1);
    let error: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(error["error"]["kind"], "storage-full", "{line}");
}

#[test]
fn over_a_file_size_limit_there_is_an_error_and_the_log_is_as_it_was() {
    let place = Place::new();
    let (session, ids) = place.conversation(&["one", "two"]);
    let before = place.files();
    let text = vec![b'x'; 100_000];
    // The write stores some of the record before it meets the limit.
    storage_full(limited(&place, 16, &["append", &session, "--text", "-", "--json"], &text));
    assert_eq!(place.files(), before);
    storage_full(limited(&place, 16, &["move", &session, &ids[0], "--summary", "-", "--json"], &text));
    storage_full(limited(&place, 16, &["compact", &session, "--summary", "-", "--json"], &text));
    let batch = "{\"role\":\"user\",\"content\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n".repeat(1000);
    storage_full(limited(&place, 16, &["append", &session, "--batch", "--json"], batch.as_bytes()));
    // The log is over the limit already: not a byte can be written.
    for args in [
        &["append", &session, "--text", "x", "--json"] as &[_],
        &["label", &session, &ids[0], "x", "--json"],
        &["name", &session, "x", "--json"],
        &["move", &session, &ids[0], "--json"],
        &["new", "--json"],
        &["fork", &session, "--json"],
        &["clone", &session, "--json"],
        &["export", &session, "-o", "../copy", "--json"],
    ] {
        storage_full(limited(&place, 0, args, b""));
    }
    assert_eq!(place.files(), before);
    place.ok(["append", &session, "--text", "there is room again"]);
}

#[test]
fn a_stream_that_meets_a_limit_keeps_what_it_acknowledged() {
    let place = Place::new();
    let session = place.session();
    let line = "{\"role\":\"user\",\"content\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n";
    let run = limited(&place, 16, &["append", &session, "--stream", "--durability", "os"], line.repeat(100).as_bytes());
    assert_eq!(run.code, Some(1));
    let acknowledged: Vec<_> = run.stdout.lines().collect();
    assert!(acknowledged.len() > 5 && acknowledged.len() < 100);
    assert!(
        run.line().starts_with(&format!("error: line {} of the input: ", acknowledged.len() + 1)),
        "{}",
        run.stderr
    );
    let stored = place.ok(["entries", &session]);
    assert_eq!(stored.lines().count(), acknowledged.len());
    assert!(stored.lines().zip(&acknowledged).all(|(record, id)| record.contains(*id)));
    assert_eq!(place.json(["info", &session, "--json", "--strict"])["leaf"], *acknowledged.last().unwrap());
}

/// Plays on a file system of 64 KiB of its own; prints one line a command: exit code, and whether the log changed.
const FULL_DISK: &str = r#"
mount -t tmpfs -o size=64k,mode=700 none "$1" 2>/dev/null || exit 77
cd "$1" && S=$("$0" --root "$1" new --cwd /project) && "$0" append "$S" --text first >/dev/null || exit 1
attempt() { before=$(cksum <"$S"); "$0" "$@" --json </dev/null; code=$?; [ "$before" = "$(cksum <"$S")" ] && echo "$code same" || echo "$code changed"; }
head -c 200000 /dev/zero | tr '\0' x >"$2/large"
before=$(cksum <"$S"); "$0" append "$S" --text - --json <"$2/large"; code=$?
[ "$before" = "$(cksum <"$S")" ] && echo "$code same" || echo "$code changed"
attempt append "$S" --text 'fits again'
head -c 60000 /dev/zero >filler 2>/dev/null; head -c 4096 /dev/zero >>filler 2>/dev/null; head -c 4096 /dev/zero >>filler 2>/dev/null
head -c 8000 /dev/zero | tr '\0' x >"$2/small"
before=$(cksum <"$S"); "$0" append "$S" --text - --json <"$2/small"; code=$?
[ "$before" = "$(cksum <"$S")" ] && echo "$code same" || echo "$code changed"
attempt --root "$1" new --cwd /project
attempt --root "$1" fork "$S"
attempt export "$S" -o copy
find . -type f ! -name filler | wc -l
rm filler; attempt append "$S" --text 'room again'
"$0" entries "$S" --strict | wc -l
"#;

#[test]
fn on_a_full_disk_there_is_an_error_and_the_log_is_as_it_was() {
    let place = Place::new();
    let mount = place.folder().join("disk");
    fs::create_dir(&mount).unwrap();
    let mut command = Command::new("unshare");
    command.args(["-rm", "/bin/sh", "-c", FULL_DISK, BINARY]).arg(&mount).arg(place.folder());
    let Ok(output) = command.stdin(Stdio::null()).output() else {
        eprintln!("skipped: there is no unshare here, so no small disk can be mounted");
        return;
    };
    let run = Run::from(output);
    if run.code != Some(0) && (run.code == Some(77) || run.stderr.starts_with("unshare:")) {
        eprintln!("skipped: no small disk can be mounted here: {}", run.stderr);
        return;
    }
    let lines: Vec<_> = run.stdout.lines().filter(|line| !line.starts_with('{')).map(str::trim).collect();
    let refused = "1 same";
    let expected = [refused, "0 changed", refused, refused, refused, refused, "1", "0 changed", "3"];
    assert_eq!(lines, expected, "{}{}", run.stdout, run.stderr);
    let errors: Vec<Value> = run.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(errors.len(), 5);
    assert!(errors.iter().all(|error| error["error"]["kind"] == "storage-full"), "{}", run.stderr);
}

#[test]
fn what_cannot_fit_is_refused_before_it_is_read() {
    let place = Place::new();
    let session = place.session();
    let large = place.file("large", "");
    // Sparse: it takes no room.
    File::options().write(true).open(&large).unwrap().set_len((1 << 30) + 1).unwrap();
    let before = fs::read(&session).unwrap();
    for args in [
        &["append", &session, "--text", "-"] as &[_],
        &["append", &session, "--message", "-"],
        &["append", &session, "--entry", "-"],
        &["append", &session, "--batch"],
        &["move", &session, "root", "--summary", "-"],
        &["compact", &session, "--summary", "-"],
    ] {
        let output = place.command().args(args).arg("--json").stdin(File::open(&large).unwrap()).output().unwrap();
        let line = Run::from(output).failed(1);
        let error: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(error["error"]["kind"], "too-large", "{args:?}: {line}");
    }
    assert_eq!(fs::read(&session).unwrap(), before);
}

//! What the sessions that leaflog writes say: raw JSON with everything that a careless reader or writer would change.

use super::node::Pi;
use super::random::Random;
use super::text::{array, object, quote};

/// Texts as the contents of JSON strings, so that their escapes are part of them.
const FRAGMENTS: [&str; 30] = [
    "plan the parser",
    "run every test",
    r"\ud800",
    r"\udc00",
    r"x\ud83d",
    r"\ude00y",
    r"\ud83d\ude00",
    "😀",
    "漢字とかな",
    "e\u{301}",
    r"\u0000",
    r"\u001b[31m",
    r"\t\b\f",
    r"\r\n",
    r"\n\n",
    "\u{7f}",
    "a\u{85}b",
    "\u{2028}",
    "\u{2029}",
    "a\u{feff}b",
    "\u{fffd}",
    r"\u0041\u00e4",
    r"\/slash\/",
    r#"\"quoted\\\""#,
    r"\\u0000",
    r"\\ud83d",
    "</summary>",
    r#"{\"type\":\"leaf\",\"targetId\":null}"#,
    r#"\",\"prev\":\"00000000\",\"crc\":\"00000000\"}"#,
    "'`<&>",
];

/// Numbers in spellings that pi changes when it writes them again.
const NUMBERS: [&str; 14] = [
    "0",
    "-0",
    "1e3",
    "1.50",
    "-1E-7",
    "1e21",
    "9007199254740993",
    "0.1",
    "5e-324",
    "1e999",
    "123456789012345678901234567890",
    "-0.0",
    "100000000000000000000000000000000000000000000000000000000001",
    "3",
];

const KEYS: [&str; 9] = ["a", "键", "", "crc", "prev", "id", "0", "__proto__", "toJSON"];
const MODELS: [(&str, &str); 4] =
    [("anthropic", "model-x"), ("openai", "gpt-y:high"), ("local/llama", "模型-8b"), ("google", "gemini z")];
const TOOLS: [&str; 5] = ["read", "bash", "edit", "write", "grep"];
const LEVELS: [&str; 5] = ["off", "minimal", "low", "high", "xhigh"];
const DEPTH_MAX: usize = 3;
const START_MILLIS: u64 = 1_735_689_600_000;

/// Which pi's features a session uses; what only the other one knows is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Only(Pi),
    /// Everything that leaflog knows.
    Both,
}

impl Style {
    /// Whether the session may hold what only `pi` knows.
    pub(crate) fn has(self, pi: Pi) -> bool {
        self == Self::Both || self == Self::Only(pi)
    }
}

/// A JSON string with odd fragments in it.
pub(crate) fn text(random: &mut Random) -> String {
    let count = random.below(4);
    let parts: Vec<_> = (0..count).map(|_| random.pick(&FRAGMENTS)).collect();
    format!("\"{}\"", parts.join(random.pick(&["", " "])))
}

/// Text for the builders, which take no lone surrogates.
pub(crate) fn plain_text(random: &mut Random) -> String {
    let fragments: Vec<String> =
        FRAGMENTS.iter().filter_map(|raw| super::text::string(&format!("\"{raw}\""))).collect();
    (0..=random.below(3)).map(|_| random.maybe(&fragments).unwrap().clone()).collect::<Vec<_>>().join(" ")
}

/// Any JSON, spelled with white space, duplicate keys and numbers that no parser keeps.
pub(crate) fn json(random: &mut Random, depth: usize) -> String {
    let space = random.pick(&["", "", " ", "\t", " \n "]);
    match random.below(if depth < DEPTH_MAX { 6 } else { 4 }) {
        0 => text(random),
        1 | 2 => random.pick(&NUMBERS).to_owned(),
        3 => random.pick(&["null", "true", "false", "{}", "[]"]).to_owned(),
        4 => {
            let elements: Vec<_> = (0..random.below(4)).map(|_| json(random, depth + 1)).collect();
            format!("[{space}{}{space}]", elements.join(&format!(",{space}")))
        }
        _ => {
            let members: Vec<_> = (0..random.below(4))
                .map(|_| format!("{}{space}:{space}{}", quote(random.pick(&KEYS)), json(random, depth + 1)))
                .collect();
            format!("{{{space}{}{space}}}", members.join(&format!("{space},")))
        }
    }
}

pub(crate) fn model(random: &mut Random) -> (&'static str, &'static str) {
    random.pick(&MODELS)
}

pub(crate) fn level(random: &mut Random) -> &'static str {
    random.pick(&LEVELS)
}

pub(crate) fn tools(random: &mut Random) -> Vec<&'static str> {
    TOOLS.iter().filter(|_| random.chance(50)).copied().collect()
}

pub(crate) fn usage(random: &mut Random) -> String {
    let (input, output) = (random.below(50_000), random.below(50_000));
    let cost = random.pick(&["0", "0.1", "1e-7", "0.30000000000000004", "12.50"]);
    format!(
        r#"{{"input":{input},"output":{output},"cacheRead":7,"cacheWrite":0,"totalTokens":{},"cost":{{"total":{cost}}}}}"#,
        input + output
    )
}

fn blocks(random: &mut Random) -> String {
    array((0..random.below(4)).map(|_| match random.below(5) {
        0 => r#"{ "type":"image","data":"aGk=","mimeType":"image/png" }"#.to_owned(),
        _ => object([("type", Some(r#""text""#)), ("text", Some(text(random).as_str()))]),
    }))
}

/// The content of a message: a string or blocks.
pub(crate) fn content(random: &mut Random) -> String {
    if random.chance(50) { text(random) } else { blocks(random) }
}

fn time(random: &mut Random) -> String {
    let millis = START_MILLIS + random.next() % 10_000_000_000;
    // The same number in another spelling.
    if random.chance(10) { format!("{millis}.0") } else { millis.to_string() }
}

/// A message of any role.
pub(crate) fn message(random: &mut Random, style: Style) -> String {
    let system = if style.has(Pi::Today) { 5 } else { 0 };
    let role = random.weighted(&[
        (30, "user"),
        (34, "assistant"),
        (18, "toolResult"),
        (6, "bashExecution"),
        (4, "custom"),
        (system, "system"),
        (1, "notice"),
    ]);
    let null = style.has(Pi::Today) && random.chance(6);
    let body = match role {
        "assistant" => assistant(random),
        "toolResult" => {
            let call = random.below(1000);
            let (tool, details) = (random.pick(&TOOLS), json(random, 1));
            format!(
                r#""toolCallId":"call_{call}","toolName":"{tool}","details":{details},"isError":false,"content":{}"#,
                blocks(random)
            )
        }
        "bashExecution" => shell(random),
        "custom" => format!(r#""customType":"扩展","display":true,"content":{}"#, content(random)),
        _ => format!(r#""content":{}"#, content(random)),
    };
    let body = if null && body.contains(r#""content":"#) { without_content(random, &body) } else { body };
    let space = random.pick(&["", "", " "]);
    format!(r#"{{{space}"role":"{role}",{body},"timestamp":{}{space}}}"#, time(random))
}

/// Content that is null or missing, as old and hand-edited files have it.
fn without_content(random: &mut Random, body: &str) -> String {
    // It stands last in every body.
    let head = body.split(r#""content":"#).next().unwrap();
    let rest = if random.chance(50) { r#""content":null"# } else { r#""note":1"# };
    format!("{head}{rest}")
}

fn assistant(random: &mut Random) -> String {
    let (provider, model) = model(random);
    let usage = usage(random);
    let stop = random.pick(&["stop", "toolUse", "error", "aborted"]);
    let blocks = array((0..random.below(4)).map(|_| match random.below(3) {
        0 => object([("type", Some(r#""thinking""#)), ("thinking", Some(text(random).as_str()))]),
        1 => object([("type", Some(r#""text""#)), ("text", Some(text(random).as_str()))]),
        _ => {
            let (call, tool) = (random.below(1000), random.pick(&TOOLS));
            format!(
                r#"{{"type":"toolCall","id":"call_{call}","name":"{tool}","arguments":{{"value":{}}}}}"#,
                json(random, 1)
            )
        }
    }));
    format!(
        r#""api":"some-api","provider":"{provider}","model":"{model}","usage":{usage},"stopReason":"{stop}","content":{blocks}"#
    )
}

fn shell(random: &mut Random) -> String {
    let (command, output) = (text(random), if random.chance(20) { r#""""#.to_owned() } else { text(random) });
    let exit = random.pick(&["0", "1", "-1", "137", "null", "2.0"]);
    let flag = |random: &mut Random| random.chance(30);
    let (cancelled, truncated, excluded) = (flag(random), flag(random), flag(random));
    format!(
        r#""command":{command},"output":{output},"exitCode":{exit},"cancelled":{cancelled},"truncated":{truncated},"fullOutputPath":"out put.log","excludeFromContext":{excluded}"#
    )
}

//! A session as one page for the browser, which loads nothing.
//!
//! The page holds the session as JSON in elements that are no scripts, with every `<` as `\u003c`, so that no text can
//! end its element; the page's own script puts texts into the page as text. A policy in the page allows that script
//! and its style sheet, by their hashes, and pictures that are in the page itself. Nothing else.

use std::collections::HashMap;

use leaflog::{ActivePath, EntryId, Session, TreeOptions};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::view::{Part, Speaker, View};
use super::{Sink, title};
use crate::failure::Failure;
use crate::output::shortened;

const BODY: &str = include_str!("page.html");
const SCRIPT: &str = concat!(include_str!("parts.js"), include_str!("page.js"));
const STYLE: &str = include_str!("page.css");

/// How many characters of an entry the tree shows.
const PREVIEW_CHARACTERS_MAX: usize = 120;

/// What the page's script is told besides the entries.
#[derive(Serialize)]
struct SessionJson<'a> {
    title: String,
    /// Names with values.
    about: Vec<(&'static str, &'a str)>,
    /// The number of the leaf, and of the entry to open at.
    leaf: Option<usize>,
    start: Option<usize>,
    nodes: Vec<NodeJson>,
}

/// A node of the tree: id, number of the parent, speaker, title, beginning, label, whether it is active.
#[derive(Serialize)]
struct NodeJson(String, Option<usize>, Speaker, String, String, Option<String>, bool);

#[derive(Serialize)]
struct RecordJson<'a> {
    time: &'a str,
    #[serde(flatten)]
    view: &'a View,
}

/// Writes the page. It opens at the path through `entry`, or at the active path.
pub(crate) fn write(session: &Session, entry: Option<&EntryId>, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let start = session.path_ids(entry)?.pop();
    let title = title(session)?;
    put(&head(&title), sink)?;
    let mut numbers = HashMap::new();
    let mut leaf = None;
    let mut nodes = Vec::new();
    for node in session.tree(&TreeOptions::new().active(ActivePath::Full))? {
        let node = node?;
        let entry = session.entry(&node.id)?;
        let view = View::of(&entry, session);
        data(
            r#"<script class="record" type="application/json">"#,
            &RecordJson { time: entry.timestamp(), view: &view },
            sink,
        )?;
        let parent = node.parent_id.and_then(|parent| numbers.get(&parent).copied());
        leaf = leaf.or(node.leaf.then_some(nodes.len()));
        let preview = preview(&view);
        let speaker = Speaker::of(node.kind, node.role);
        nodes.push(NodeJson(node.id.to_string(), parent, speaker, view.title, preview, node.label, node.active));
        numbers.insert(node.id, nodes.len() - 1);
    }
    let header = session.header();
    let about =
        vec![("Session", header.id.as_str()), ("Folder", header.cwd.as_str()), ("Created", header.timestamp.as_str())];
    let start = start.and_then(|start| numbers.get(&start).copied());
    let session = SessionJson { title, about, leaf, start, nodes };
    data(r#"<script id="session" type="application/json">"#, &session, sink)?;
    put(&format!("<script>{SCRIPT}</script>\n</body>\n</html>\n"), sink)
}

fn head(title: &str) -> String {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="leaflog {}">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
{BODY}"#,
        env!("CARGO_PKG_VERSION")
    )
}

/// Writes a value as JSON inside an element that `start` opens.
fn data(start: &str, value: &impl Serialize, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let json = serde_json::to_string(value).map_err(|error| Failure::Output(error.into()))?;
    // In JSON a `<` stands in strings only.
    put(&format!("{start}{}</script>\n", json.replace('<', "\\u003c")), sink)
}

/// The first words of what an entry says.
fn preview(view: &View) -> String {
    let words = |text: &str| {
        // The marks of a heading say nothing here.
        let words: Vec<_> =
            text.trim_start_matches(['#', ' ']).split_whitespace().take(PREVIEW_CHARACTERS_MAX).collect();
        shortened(&words.join(" "), PREVIEW_CHARACTERS_MAX)
    };
    let texts = view.parts.iter().map(|part| match part {
        Part::Text { text } | Part::Output { text } => words(text),
        Part::Call { name, text, .. } => words(&format!("→ {name} {}", text.replace('\n', ", "))),
        Part::Image { .. } => "(an image)".to_owned(),
        Part::Thinking { .. } | Part::Unknown { .. } => String::new(),
    });
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

/// The hash of an inline script or style sheet, as a content security policy names it.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = (0..3).fold(0_usize, |number, at| number << 8 | usize::from(*chunk.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let digit = char::from(DIGITS[number >> (18 - 6 * at) & 0x3f]);
            text.push(if at <= chunk.len() { digit } else { '=' });
        }
    }
    text
}

fn put(text: &str, sink: &mut Sink<'_>) -> Result<(), Failure> {
    sink(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_a_content_security_policy() {
        assert_eq!(base64(b"leaf"), "bGVhZg==");
        assert_eq!(base64(b"leaf!"), "bGVhZiE=");
        assert_eq!(base64(b"leaves"), "bGVhdmVz");
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn the_page_names_no_other_place() {
        for part in [BODY, SCRIPT, STYLE] {
            for token in ["http:", "https:", "//cdn", "@import", "url(", "innerHTML", "insertAdjacentHTML", "eval("] {
                assert!(!part.contains(token), "{token}");
            }
            // Carriage returns would be taken out by the browser before it computes the hash.
            assert!(!part.contains('\r'));
        }
    }

    #[test]
    fn no_text_can_end_its_element() {
        let mut written = Vec::new();
        let texts = ["</script><script>alert(1)</script>", "<!--", "a\0b\u{2028}"];
        data("<script>", &texts, &mut |bytes| {
            written.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
        let written = String::from_utf8(written).unwrap();
        let inner = written.strip_prefix("<script>").and_then(|rest| rest.strip_suffix("</script>\n")).unwrap();
        assert!(!inner.contains(['<', '\0']), "{inner}");
        assert_eq!(serde_json::from_str::<Vec<String>>(inner).unwrap(), texts);
    }
}

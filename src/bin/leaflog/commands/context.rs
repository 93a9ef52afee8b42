//! What the model sees.

use leaflog::{ContextOptions, EntryId, Message, Settings, ToolCall, to_llm};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::args::Context;
use crate::failure::Failure;
use crate::output::{GapJson, Output, plain, plain_lines};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextJson<'a> {
    messages: &'a [Message],
    #[serde(flatten)]
    settings: &'a Settings,
    gaps: Vec<GapJson<'a>>,
    open_tool_calls: Vec<ToolCallJson<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    orphan_results: &'a [EntryId],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    suspects: &'a [EntryId],
    #[serde(skip_serializing_if = "Option::is_none")]
    off_path_first_kept: Option<&'a EntryId>,
}

#[derive(Serialize)]
struct ToolCallJson<'a> {
    id: &'a str,
    name: &'a str,
    entry: Option<&'a EntryId>,
}

impl<'a> From<&'a ToolCall> for ToolCallJson<'a> {
    fn from(call: &'a ToolCall) -> Self {
        Self { id: &call.id, name: &call.name, entry: call.entry.as_ref() }
    }
}

pub(super) fn run(app: &mut App, args: Context) -> Result<(), Failure> {
    let session = app.open(&args.session)?;
    let mut options = ContextOptions::new().settings(args.settings.into());
    if let Some(from) = args.from {
        options = options.from(from);
    }
    let mut context = session.context(&options)?;
    if args.llm {
        context.messages = to_llm(&context.messages);
    }
    if app.output.is_json() {
        return app.output.json(&to_json(&context));
    }
    print(&mut app.output, &context.messages, "")?;
    note(&app.output, &context);
    Ok(())
}

fn to_json(context: &leaflog::Context) -> ContextJson<'_> {
    ContextJson {
        messages: &context.messages,
        settings: &context.settings,
        gaps: GapJson::all(&context.gaps),
        open_tool_calls: context.open_tool_calls.iter().map(ToolCallJson::from).collect(),
        orphan_results: &context.orphan_results,
        suspects: &context.suspects,
        off_path_first_kept: context.off_path_first_kept.as_ref(),
    }
}

fn note(output: &Output, context: &leaflog::Context) {
    output.note_gaps(&context.gaps);
    for call in &context.open_tool_calls {
        output.note(&format!("the tool call {} ({}) has no result", call.id, call.name));
    }
    for entry in &context.orphan_results {
        output.note(&format!("the tool result {entry} answers no call of the context"));
    }
    for entry in &context.suspects {
        output.note(&format!("the entry {entry} is not what its checksum says"));
    }
    if let Some(entry) = &context.off_path_first_kept {
        output.note(&format!("the first kept entry {entry} is not on the path, so the compaction keeps nothing"));
    }
}

/// Prints messages for people, one block each, every line behind `indent`.
pub(super) fn print(output: &mut Output, messages: &[Message], indent: &str) -> Result<(), Failure> {
    if messages.is_empty() {
        return output.line(format_args!("{indent}(empty)"));
    }
    messages.iter().try_for_each(|message| output.text(&block(message, indent)))
}

/// `role: text`; further lines of the text stand under the first one's role, further in.
fn block(message: &Message, indent: &str) -> String {
    let text = message.text();
    let others = other_content(message.as_json());
    let lines = plain_lines(&text).into_owned();
    let shown = lines.lines().map(str::to_owned).chain(others.into_iter().map(|other| format!("[{other}]")));
    let mut block = format!("{indent}{}:", plain(&message.role()));
    let further = format!("{indent}  ");
    for (number, line) in shown.enumerate() {
        block.extend([if number == 0 { " " } else { &further }, &line, "\n"]);
    }
    if !block.ends_with('\n') {
        block.push('\n');
    }
    block
}

/// What is in a message besides text: thinking, images, calls of tools.
fn other_content(message: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Content {
        #[serde(default)]
        content: Vec<Block>,
    }
    #[derive(Deserialize)]
    struct Block {
        r#type: String,
        #[serde(default)]
        name: String,
    }
    // Content that is one string, or odd, has nothing to add.
    let blocks = serde_json::from_str(message).map_or_else(|_| Vec::new(), |content: Content| content.content);
    let others = blocks.into_iter().filter(|block| block.r#type != "text");
    others.map(|block| plain(format!("{} {}", block.r#type, block.name).trim_end()).into_owned()).collect()
}

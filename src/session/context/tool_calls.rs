//! Tool calls without a result, and results without a call (SPEC 4.5).

use std::collections::{HashMap, HashSet};

use super::message::{Message, Object, elements};
use crate::model::EntryId;

/// A call of a tool by the assistant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The id that a result names as `toolCallId`.
    pub id: String,
    /// The tool; empty if the call names none.
    pub name: String,
    /// The entry of the message that holds the call.
    pub entry: Option<EntryId>,
}

/// The calls that no later tool result answers, in the order of the messages.
///
/// Messages that ended with an error or were aborted count too: what they called is just as unanswered. Linear time.
pub(crate) fn open_tool_calls(messages: &[Message]) -> Vec<ToolCall> {
    let mut calls: Vec<Option<ToolCall>> = Vec::new();
    let mut open: HashMap<String, Vec<usize>> = HashMap::new();
    for message in messages {
        match Part::of(message) {
            Part::Calls(made) => {
                for call in made {
                    open.entry(call.id.clone()).or_default().push(calls.len());
                    calls.push(Some(call));
                }
            }
            Part::Result(Some(id)) => {
                for index in open.remove(&id).unwrap_or_default() {
                    calls[index] = None;
                }
            }
            Part::Result(None) | Part::Other => {}
        }
    }
    calls.into_iter().flatten().collect()
}

/// The indexes of the tool results that no earlier message called for, ascending. Linear time.
pub(crate) fn orphan_results(messages: &[Message]) -> Vec<usize> {
    let mut called = HashSet::new();
    let mut orphans = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match Part::of(message) {
            Part::Calls(made) => called.extend(made.into_iter().map(|call| call.id)),
            Part::Result(id) if id.as_ref().is_none_or(|id| !called.contains(id)) => orphans.push(index),
            Part::Result(_) | Part::Other => {}
        }
    }
    orphans
}

/// What a message has to do with tool calls.
enum Part {
    Calls(Vec<ToolCall>),
    /// With the id of the call, if it names one.
    Result(Option<String>),
    Other,
}

impl Part {
    fn of(message: &Message) -> Self {
        let Some(members) = Object::parse(message.as_json()) else { return Self::Other };
        match members.text("role").as_deref() {
            Some("assistant") => {
                let blocks = elements(members.raw("content").unwrap_or("[]"));
                Self::Calls(blocks.into_iter().filter_map(|block| call(block, message)).collect())
            }
            Some("toolResult") => Self::Result(members.text("toolCallId")),
            _ => Self::Other,
        }
    }
}

fn call(block: &str, message: &Message) -> Option<ToolCall> {
    let members = Object::parse(block)?;
    if members.text("type").as_deref() != Some("toolCall") {
        return None;
    }
    let name = members.text("name").unwrap_or_default();
    Some(ToolCall { id: members.text("id")?, name, entry: message.entry_id().cloned() })
}

#[cfg(test)]
mod tests {
    use super::super::message::fixture::message;
    use super::*;

    fn assistant(ids: &[&str]) -> Message {
        let blocks: Vec<_> =
            ids.iter().map(|id| format!(r#"{{"type":"toolCall","id":"{id}","name":"n{id}"}}"#)).collect();
        message(&format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(",")))
    }

    fn result(id: &str) -> Message {
        message(&format!(r#"{{"role":"toolResult","toolCallId":"{id}"}}"#))
    }

    fn open(messages: &[Message]) -> Vec<String> {
        open_tool_calls(messages).into_iter().map(|call| call.id).collect()
    }

    #[test]
    fn a_call_is_open_until_a_later_result_names_it() {
        assert_eq!(open(&[assistant(&["1", "2", "3"]), result("2")]), ["1", "3"]);
        assert_eq!(open(&[result("1"), assistant(&["1"])]), ["1"]);
        assert_eq!(open(&[assistant(&["1"]), result("1"), result("1")]), [""; 0]);
    }

    #[test]
    fn an_id_that_is_used_again_is_open_again() {
        assert_eq!(open(&[assistant(&["1"]), result("1"), assistant(&["1"])]), ["1"]);
        assert_eq!(open(&[assistant(&["1"]), assistant(&["1"]), result("1")]), [""; 0]);
    }

    #[test]
    fn a_call_names_its_tool_and_its_entry() {
        let call = ToolCall { id: "1".to_owned(), name: "n1".to_owned(), entry: message("{}").entry_id().cloned() };
        assert_eq!(open_tool_calls(&[assistant(&["1"])]), [call]);
        let nameless = message(r#"{"role":"assistant","content":[{"type":"toolCall","id":"1"}]}"#);
        assert_eq!(open_tool_calls(&[nameless])[0].name, "");
    }

    #[test]
    fn only_tool_call_blocks_with_an_id_in_assistant_messages_count() {
        for json in [
            r#"{"role":"user","content":[{"type":"toolCall","id":"1"}]}"#,
            r#"{"role":"assistant","content":[{"type":"text","id":"1"},{"type":"toolCall"},{"type":"toolCall","id":1},7]}"#,
            r#"{"role":"assistant","content":"toolCall"}"#,
            r#"{"role":"assistant"}"#,
        ] {
            assert_eq!(open(&[message(json)]), [""; 0], "{json}");
            assert_eq!(orphan_results(&[message(json), result("1")]), [1], "{json}");
        }
    }

    #[test]
    fn failed_and_aborted_messages_still_count() {
        for reason in ["error", "aborted"] {
            let call = message(&format!(
                r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"1"}}],"stopReason":"{reason}"}}"#
            ));
            assert_eq!(open(std::slice::from_ref(&call)), ["1"]);
            assert_eq!(orphan_results(&[call, result("1")]), [0; 0]);
        }
    }

    #[test]
    fn results_without_an_earlier_call_are_orphans() {
        let nameless = message(r#"{"role":"toolResult","content":[]}"#);
        let messages = [result("1"), assistant(&["1"]), result("1"), result("1"), result("2"), nameless];
        assert_eq!(orphan_results(&messages), [0, 4, 5]);
    }
}

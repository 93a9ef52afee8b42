//! Context messages as a model takes them (SPEC 4.2).
//!
//! The texts around summaries and commands are part of pi's format; they stand here as the contents of JSON
//! strings, so that stored strings can be put between them with their escapes.

use super::message::{Message, Object, build, number, string_contents, text_blocks};
use crate::model::json;

const COMPACTION_PREFIX: &str =
    r"The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const COMPACTION_SUFFIX: &str = r"\n</summary>";
const BRANCH_PREFIX: &str =
    r"The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
const BRANCH_SUFFIX: &str = "</summary>";

/// Turns the messages of a context into those that a model takes, as pi 1.6.0 does (SPEC 4.2).
///
/// System, user, assistant and tool result messages stay as they are, byte for byte. Shell executions, custom
/// messages and summaries become user messages of their entry; a shell execution that is excluded from the context
/// and a message of any other role are dropped. Strings keep their escapes, lone surrogates too.
pub fn to_llm(messages: &[Message]) -> Vec<Message> {
    messages.iter().filter_map(for_model).collect()
}

fn for_model(message: &Message) -> Option<Message> {
    let members = Object::parse(message.as_json())?;
    let content = match members.text("role")?.as_str() {
        "system" | "user" | "assistant" | "toolResult" => return Some(message.clone()),
        "bashExecution" if members.is_truthy("excludeFromContext") => return None,
        "bashExecution" => Some(text_blocks(&shell_execution(&members))),
        "custom" => {
            let content = members.raw("content");
            content.and_then(string_contents).map(text_blocks).or_else(|| content.map(str::to_owned))
        }
        "branchSummary" => Some(summary(BRANCH_PREFIX, &members, BRANCH_SUFFIX)),
        "compactionSummary" => Some(summary(COMPACTION_PREFIX, &members, COMPACTION_SUFFIX)),
        _ => return None,
    };
    let user = build("user", &[("content", content.as_deref()), ("timestamp", members.raw("timestamp"))]);
    Some(Message::new(user, message.entry_id().cloned()))
}

fn summary(prefix: &str, members: &Object<'_>, suffix: &str) -> String {
    text_blocks(&[prefix, &embedded(members.raw("summary")), suffix].concat())
}

/// What a shell execution tells the model, as the contents of a JSON string.
fn shell_execution(members: &Object<'_>) -> String {
    let member = |key| embedded(members.raw(key));
    let mut text = [r"Ran `", &member("command"), r"`\n"].concat();
    if members.is_truthy("output") {
        text += &[r"```\n", &member("output"), r"\n```"].concat();
    } else {
        text += "(no output)";
    }
    let failed = members.raw("exitCode").is_some_and(|code| code != "null" && number(code) != Some(0.0));
    if members.is_truthy("cancelled") {
        text += r"\n\n(command cancelled)";
    } else if failed {
        text += &[r"\n\nCommand exited with code ", &member("exitCode")].concat();
    }
    if members.is_truthy("truncated") && members.is_truthy("fullOutputPath") {
        text += &[r"\n\n[Output truncated. Full output: ", &member("fullOutputPath"), "]"].concat();
    }
    text
}

/// A value inside a longer text, as the contents of a JSON string: strings keep their escapes, numbers are spelled
/// as JavaScript spells them, objects and arrays stand as their JSON.
fn embedded(raw: Option<&str>) -> String {
    let Some(raw) = raw else { return "undefined".to_owned() };
    match (string_contents(raw), number(raw)) {
        (Some(contents), _) => contents.to_owned(),
        (None, Some(number)) => spell(number),
        (None, None) => json::quote(raw).trim_matches('"').to_owned(),
    }
}

/// A number as JavaScript spells it.
fn spell(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        "0".to_owned()
    } else if size.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else if (1e-6..1e21).contains(&size) {
        number.to_string()
    } else {
        let spelled = format!("{number:e}");
        if size < 1.0 { spelled } else { spelled.replace('e', "e+") }
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::fixture::{message, texts};
    use super::*;

    fn converted(json: &str) -> String {
        let messages = to_llm(&[message(json)]);
        assert_eq!(messages.len(), 1, "{json}");
        assert_eq!(messages[0].entry_id(), message(json).entry_id());
        messages[0].as_json().to_owned()
    }

    /// The text of a shell execution with `members`.
    fn shell(members: &str) -> String {
        to_llm(&[message(&format!(r#"{{"role":"bashExecution","command":"ls"{members}}}"#))])[0].text()
    }

    #[test]
    fn model_roles_keep_their_bytes_and_unknown_ones_are_dropped() {
        let kept = [
            r#"{ "role":"system","content":"\ud99c" }"#,
            r#"{"role":"user","content":null}"#,
            r#"{"role":"assistant","n":1e3}"#,
            r#"{"role":"toolResult"}"#,
        ];
        let mut all: Vec<_> = kept.iter().map(|json| message(json)).collect();
        all.insert(1, message(r#"{"role":"from the future","content":"x"}"#));
        all.insert(1, message(r#"{"content":"no role"}"#));
        all.insert(1, message("no json"));
        assert_eq!(texts(&to_llm(&all)), kept);
    }

    #[test]
    fn summaries_become_user_messages_and_keep_their_escapes() {
        assert_eq!(
            converted(r#"{"role":"compactionSummary","summary":"a\ud99c\n","tokensBefore":1,"timestamp":1e3}"#),
            concat!(
                r#"{"role":"user","content":[{"type":"text","text":"The conversation history before this point was "#,
                r#"compacted into the following summary:\n\n<summary>\na\ud99c\n\n</summary>"}],"timestamp":1e3}"#
            )
        );
        assert_eq!(
            converted(r#"{"role":"branchSummary","summary":"b\ud99c","fromId":"x","timestamp":null}"#),
            concat!(
                r#"{"role":"user","content":[{"type":"text","text":"The following is a summary of a branch that this "#,
                r#"conversation came back from:\n\n<summary>\nb\ud99c</summary>"}],"timestamp":null}"#
            )
        );
    }

    #[test]
    fn a_custom_message_becomes_a_user_message_with_its_content() {
        for (content, expected) in [
            (r#""content":"a\ud99c","#, r#""content":[{"type":"text","text":"a\ud99c"}],"#),
            (r#""content":[ 1e3 ],"#, r#""content":[ 1e3 ],"#),
            (r#""content":null,"#, r#""content":null,"#),
            ("", ""),
        ] {
            let json = format!(r#"{{"role":"custom","customType":"t",{content}"display":true,"timestamp":5}}"#);
            assert_eq!(converted(&json), format!(r#"{{"role":"user",{expected}"timestamp":5}}"#));
        }
    }

    #[test]
    fn a_shell_execution_becomes_text_unless_it_is_excluded() {
        assert_eq!(
            converted(r#"{"role":"bashExecution","command":"l\ud99c","output":"o\u0041"}"#),
            r#"{"role":"user","content":[{"type":"text","text":"Ran `l\ud99c`\n```\no\u0041\n```"}]}"#
        );
        let excluded = |value: &str| {
            to_llm(&[message(&format!(r#"{{"role":"bashExecution","command":"c","excludeFromContext":{value}}}"#))])
        };
        assert!(excluded("true").is_empty());
        assert_eq!(excluded("false").len(), 1);
    }

    #[test]
    fn the_text_of_a_shell_execution_tells_output_exit_and_truncation() {
        assert_eq!(shell(r#","output":"""#), "Ran `ls`\n(no output)");
        assert_eq!(shell(r#","exitCode":0"#), "Ran `ls`\n(no output)");
        assert_eq!(shell(r#","exitCode":null"#), "Ran `ls`\n(no output)");
        assert_eq!(shell(r#","output":"o","exitCode":2"#), "Ran `ls`\n```\no\n```\n\nCommand exited with code 2");
        assert_eq!(shell(r#","exitCode":"0""#), "Ran `ls`\n(no output)\n\nCommand exited with code 0");
        assert_eq!(shell(r#","exitCode":2,"cancelled":true"#), "Ran `ls`\n(no output)\n\n(command cancelled)");
        assert_eq!(
            shell(r#","truncated":true,"fullOutputPath":"/p""#),
            "Ran `ls`\n(no output)\n\n[Output truncated. Full output: /p]"
        );
        assert_eq!(shell(r#","fullOutputPath":"/p""#), "Ran `ls`\n(no output)");
        assert_eq!(shell(r#","truncated":true"#), "Ran `ls`\n(no output)");
    }

    #[test]
    fn values_inside_a_text_are_spelled_as_javascript_spells_them() {
        for (raw, spelled) in [
            (None, "undefined"),
            (Some("null"), "null"),
            (Some("true"), "true"),
            (Some(r#""a\ud99c""#), r"a\ud99c"),
            (Some(r#"{"a":"b"}"#), r#"{\"a\":\"b\"}"#),
            (Some("1e3"), "1000"),
            (Some("-0"), "0"),
            (Some("2.50"), "2.5"),
            (Some("0.000001"), "0.000001"),
            (Some("0.00000015"), "1.5e-7"),
            (Some("12345678901234567890"), "12345678901234567000"),
            (Some("-1.5e21"), "-1.5e+21"),
            (Some("1e999"), "Infinity"),
            (Some("-1e999"), "-Infinity"),
        ] {
            assert_eq!(embedded(raw), spelled);
        }
    }
}

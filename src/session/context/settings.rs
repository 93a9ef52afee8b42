//! Model, thinking level and active tools, folded over a path (SPEC 4.3).

use serde::Serialize;

use super::message::{Object, elements};
use crate::model::json;
use crate::model::{Entry, EntryKind, Role};

/// The thinking level where no entry names one.
const THINKING_LEVEL_DEFAULT: &str = "off";

/// The settings that hold at the end of a path (SPEC 4.3).
///
/// In JSON: `{"model":{"provider","modelId"}|null,"thinkingLevel","activeToolNames":[...]|null}`. No read and no
/// navigation writes a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The model that was chosen last or that answered last; `None` if the path names none.
    pub model: Option<Model>,
    /// The thinking level; `off` if the path names none.
    pub thinking_level: String,
    /// The active tools, in the stored order; `None` if the path names none, which is not the same as no tools.
    pub active_tool_names: Option<Vec<String>>,
}

/// A model and who provides it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// The provider's name.
    pub provider: String,
    /// The model's name at the provider.
    pub model_id: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { model: None, thinking_level: THINKING_LEVEL_DEFAULT.to_owned(), active_tool_names: None }
    }
}

impl Settings {
    /// Takes the next entry of a path into account.
    ///
    /// Besides the three kinds of change, an assistant message names the model that wrote it. It changes nothing
    /// unless `provider` and `model` are both strings, and so does a change whose values are of the wrong type
    /// (pi would store undefined values here).
    pub(crate) fn apply(&mut self, entry: &Entry) {
        match entry.kind() {
            EntryKind::ModelChange => {
                self.take_model(with_record(entry, |record, _| model(record, "modelId")));
            }
            EntryKind::Message if entry.role() == Some(Role::Assistant) => {
                self.take_model(with_record(entry, |_, message| model(message?, "model")));
            }
            EntryKind::ThinkingLevelChange => {
                if let Some(level) = with_record(entry, |record, _| record.text("thinkingLevel")) {
                    self.thinking_level = level;
                }
            }
            EntryKind::ActiveToolsChange => {
                if let Some(names) = with_record(entry, |record, _| tool_names(record)) {
                    self.active_tool_names = Some(names);
                }
            }
            _ => {}
        }
    }

    fn take_model(&mut self, model: Option<Model>) {
        if model.is_some() {
            self.model = model;
        }
    }

    /// What a host can restore of these settings (SPEC 4.3). Pure: nothing is asked but `model_exists`, nothing is
    /// written.
    ///
    /// The stored model if it exists, else the fallback's; the stored thinking level; of the stored active tools, or
    /// else of the fallback's, those among `tools`, in the stored order.
    #[must_use]
    pub fn resolve(&self, fallback: &Self, model_exists: impl Fn(&Model) -> bool, tools: &[impl AsRef<str>]) -> Self {
        let model = self.model.as_ref().filter(|model| model_exists(model)).or(fallback.model.as_ref());
        let available = |name: &&String| tools.iter().any(|tool| tool.as_ref() == name.as_str());
        let names = self.active_tool_names.as_ref().or(fallback.active_tool_names.as_ref());
        Self {
            model: model.cloned(),
            thinking_level: self.thinking_level.clone(),
            active_tool_names: names.map(|names| names.iter().filter(available).cloned().collect()),
        }
    }
}

/// Reads from an entry's record and, for message entries, its message.
fn with_record<T>(entry: &Entry, read: impl FnOnce(&Object<'_>, Option<&Object<'_>>) -> Option<T>) -> Option<T> {
    Object::parse_record(&entry.as_json()).and_then(|(record, message)| read(&record, message.as_ref()))
}

fn model(members: &Object<'_>, model_key: &str) -> Option<Model> {
    Some(Model { provider: members.text("provider")?, model_id: members.text(model_key)? })
}

fn tool_names(record: &Object<'_>) -> Option<Vec<String>> {
    let names = record.raw("activeToolNames").filter(|raw| raw.starts_with('['))?;
    Some(elements(names).into_iter().filter_map(json::string).collect())
}

#[cfg(test)]
mod tests {
    use super::super::message::fixture::entry;
    use super::*;

    fn folded(records: &[&str]) -> Settings {
        let mut settings = Settings::default();
        for record in records {
            settings.apply(&entry(record));
        }
        settings
    }

    fn model(provider: &str, model_id: &str) -> Model {
        Model { provider: provider.to_owned(), model_id: model_id.to_owned() }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    const CHOSEN: &str = r#"{"type":"model_change","provider":"p","modelId":"m"}"#;

    #[test]
    fn the_defaults_are_no_model_off_and_no_tools_named() {
        let json = serde_json::to_string(&Settings::default()).unwrap();
        assert_eq!(json, r#"{"model":null,"thinkingLevel":"off","activeToolNames":null}"#);
    }

    #[test]
    fn each_change_counts_until_the_next() {
        let settings = folded(&[
            CHOSEN,
            r#"{"type":"thinking_level_change","thinkingLevel":"low"}"#,
            r#"{"type":"active_tools_change","activeToolNames":["a"]}"#,
            r#"{"type":"message","message":{"role":"assistant","provider":"q","model":"n"}}"#,
            r#"{"type":"thinking_level_change","thinkingLevel":"high"}"#,
            r#"{"type":"active_tools_change","activeToolNames":["b","a",3]}"#,
        ]);
        assert_eq!(
            serde_json::to_string(&settings).unwrap(),
            r#"{"model":{"provider":"q","modelId":"n"},"thinkingLevel":"high","activeToolNames":["b","a"]}"#
        );
        assert_eq!(
            folded(&[r#"{"type":"active_tools_change","activeToolNames":[]}"#]).active_tool_names,
            Some(names(&[]))
        );
    }

    #[test]
    fn an_assistant_message_without_a_model_changes_nothing() {
        for message in [
            r#"{"role":"assistant","content":[]}"#,
            r#"{"role":"assistant","provider":"q"}"#,
            r#"{"role":"assistant","provider":null,"model":"n"}"#,
            r#"{"role":"user","provider":"q","model":"n"}"#,
        ] {
            let record = format!(r#"{{"type":"message","message":{message}}}"#);
            assert_eq!(folded(&[CHOSEN, &record]).model, Some(model("p", "m")), "{message}");
        }
    }

    #[test]
    fn changes_of_the_wrong_type_and_other_kinds_change_nothing() {
        for record in [
            r#"{"type":"model_change","provider":"q"}"#,
            r#"{"type":"model_change","provider":"q","modelId":7}"#,
            r#"{"type":"thinking_level_change","thinkingLevel":null}"#,
            r#"{"type":"active_tools_change","activeToolNames":null}"#,
            r#"{"type":"active_tools_change"}"#,
            r#"{"type":"custom","provider":"q","modelId":"n","thinkingLevel":"high","activeToolNames":["a"]}"#,
        ] {
            assert_eq!(folded(&[CHOSEN, record]), folded(&[CHOSEN]), "{record}");
        }
    }

    #[test]
    fn stored_settings_win_where_the_host_can_restore_them() {
        let stored = Settings {
            model: Some(model("p", "m")),
            thinking_level: "low".to_owned(),
            active_tool_names: Some(names(&["z", "a", "b"])),
        };
        let fallback = Settings {
            model: Some(model("f", "f")),
            thinking_level: "high".to_owned(),
            active_tool_names: Some(names(&["b", "x"])),
        };
        let tools = ["a", "b", "z"];

        assert_eq!(stored.resolve(&fallback, |_| true, &tools), stored);
        let resolved = stored.resolve(&fallback, |wanted| wanted.provider != "p", &["b", "a"]);
        assert_eq!(resolved.model, Some(model("f", "f")));
        assert_eq!(resolved.thinking_level, "low");
        assert_eq!(resolved.active_tool_names, Some(names(&["a", "b"])));

        let none = Settings::default();
        let resolved = none.resolve(&fallback, |_| false, &tools);
        assert_eq!((resolved.model, resolved.active_tool_names), (Some(model("f", "f")), Some(names(&["b"]))));
        assert_eq!(resolved.thinking_level, "off");
        assert_eq!(none.resolve(&none, |_| true, &tools), none);
        assert_eq!(
            Settings { active_tool_names: Some(names(&[])), ..none }
                .resolve(&fallback, |_| true, &tools)
                .active_tool_names,
            Some(names(&[]))
        );
    }
}

//! Looking into JSON objects without re-encoding them (SPEC 1.3).
//!
//! Values stay slices of the text that they came from; keys and texts are decoded leniently, so that a lone
//! surrogate escape is read (as U+FFFD) and not refused. Of two members with one key the first counts.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A member of an object: its key, its raw value, and the raw text of both.
#[derive(Clone, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) key: Cow<'a, str>,
    pub(crate) value: &'a str,
    pub(crate) text: &'a str,
}

/// The members of the object that `text` is, in order, duplicates included.
pub(crate) fn members(text: &str) -> Result<Vec<Member<'_>>, serde_json::Error> {
    let pairs: Pairs<'_> = serde_json::from_str(text)?;
    let mut from = text.find('{').map_or(0, |brace| brace + 1);
    let mut members = Vec::with_capacity(pairs.0.len());
    for (key, raw) in pairs.0 {
        let value = raw.get();
        let end = value.as_ptr() as usize - text.as_ptr() as usize + value.len();
        let text = text[from..end].trim_start_matches([',', ' ', '\t', '\n', '\r']);
        from = end;
        members.push(Member { key, value, text });
    }
    Ok(members)
}

/// The raw value of the first member called `key`, or `None` if there is none or `text` is no object.
pub(crate) fn member<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    value(&members(text).ok()?, key)
}

/// The raw value of the first of `members` called `key`.
pub(crate) fn value<'a>(members: &[Member<'a>], key: &str) -> Option<&'a str> {
    members.iter().find(|member| member.key == key).map(|member| member.value)
}

/// The text of the first of `members` called `key`, if it is a string.
pub(crate) fn text(members: &[Member<'_>], key: &str) -> Option<String> {
    value(members, key).and_then(string)
}

/// The elements of the array that `text` is; no array has none.
pub(crate) fn elements(text: &str) -> Vec<&str> {
    serde_json::from_str::<Vec<&RawValue>>(text)
        .map_or_else(|_| Vec::new(), |raw| raw.into_iter().map(RawValue::get).collect())
}

/// The decoded text of a JSON string; lone surrogates become U+FFFD. `None` if `text` is no string.
pub(crate) fn string(text: &str) -> Option<String> {
    serde_json::from_str::<Text<'_>>(text).ok().map(|text| text.0.into_owned())
}

/// The JSON string for `text`.
pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A JSON string that was decoded leniently.
#[derive(Debug)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> de::Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Text<'de>, E> {
                Ok(Text(match std::str::from_utf8(bytes) {
                    Ok(text) => Cow::Borrowed(text),
                    Err(_) => Cow::Owned(lossy(bytes)),
                }))
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(lossy(bytes))))
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        // Asking for bytes makes serde_json decode a lone surrogate escape instead of refusing it.
        deserializer.deserialize_bytes(TextVisitor)
    }
}

/// Decodes UTF-8 in which surrogates may stand alone: each becomes one U+FFFD.
fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(valid) => {
                text.push_str(valid);
                return text;
            }
            Err(error) => {
                let (valid, broken) = rest.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(valid));
                text.push(char::REPLACEMENT_CHARACTER);
                let surrogate = matches!(broken, [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..]);
                let skip = if surrogate { 3 } else { error.error_len().unwrap_or(broken.len()) };
                rest = &broken[skip..];
            }
        }
    }
}

struct Pairs<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> de::Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;
        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    pairs.push((key.0, map.next_value()?));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_order_duplicates_and_spelling() {
        let text =
            r#" { "a" : 1e3 ,"b":{"x":"\ud99c"},"a":100000000000000000000000000000000000000000000000000000000001 } "#;
        let members = members(text).unwrap();
        let texts: Vec<_> = members.iter().map(|member| member.text).collect();
        assert_eq!(
            texts,
            [
                r#""a" : 1e3"#,
                r#""b":{"x":"\ud99c"}"#,
                r#""a":100000000000000000000000000000000000000000000000000000000001"#
            ]
        );
        assert_eq!(member(text, "a"), Some("1e3"));
    }

    #[test]
    fn a_lone_surrogate_is_read_as_one_replacement_character() {
        assert_eq!(string(r#""a\ud99cb""#).unwrap(), "a\u{fffd}b");
        assert_eq!(string(r#""\udc00""#).unwrap(), "\u{fffd}");
        assert_eq!(string(r#""\ud83d\ude00""#).unwrap(), "\u{1f600}");
        assert_eq!(members(r#"{"\ud800":1}"#).unwrap()[0].key, "\u{fffd}");
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for text in ["[]", "1", "\"a\"", "null", "{", "{\"a\":1}x", ""] {
            assert!(members(text).is_err(), "{text}");
        }
    }
}

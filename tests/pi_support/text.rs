//! JSON as JavaScript sees it: strings are UTF-16, in which surrogates may stand alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::value::RawValue;

/// The members of an object, raw; of two with one key the last counts, as for JavaScript.
pub(crate) type Members = BTreeMap<String, Box<RawValue>>;

/// The members of an object; `None` if `raw` is none.
pub(crate) fn members(raw: &str) -> Option<Members> {
    serde_json::from_str(raw).ok()
}

/// The elements of an array; `None` if `raw` is none.
pub(crate) fn elements(raw: &str) -> Option<Vec<String>> {
    let elements: Vec<Box<RawValue>> = serde_json::from_str(raw).ok()?;
    Some(elements.iter().map(|element| element.get().to_owned()).collect())
}

/// An object of these members, which are raw; those without a value are left out.
pub(crate) fn object<'a>(members: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> String {
    let members: Vec<_> =
        members.into_iter().filter_map(|(key, value)| value.map(|value| format!("{}:{value}", quote(key)))).collect();
    format!("{{{}}}", members.join(","))
}

pub(crate) fn array(elements: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let elements: Vec<_> = elements.into_iter().map(|element| element.as_ref().to_owned()).collect();
    format!("[{}]", elements.join(","))
}

pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The text of a JSON string, if it is one and well formed.
pub(crate) fn string(raw: &str) -> Option<String> {
    serde_json::from_str(raw).ok()
}

/// The UTF-16 units of a JSON string; `None` if `raw` is none.
pub(crate) fn units(raw: &str) -> Option<Vec<u16>> {
    let mut rest = raw.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut units = Vec::new();
    while let Some(character) = rest.next() {
        if character != '\\' {
            units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
            continue;
        }
        units.push(match rest.next()? {
            'b' => 8,
            't' => 9,
            'n' => 10,
            'f' => 12,
            'r' => 13,
            'u' => {
                let digits: String = rest.by_ref().take(4).collect();
                u16::from_str_radix(&digits, 16).ok()?
            }
            plain => plain as u16,
        });
    }
    Some(units)
}

/// The JSON string of UTF-16 units, all of them escaped.
pub(crate) fn quote_units(units: &[u16]) -> String {
    let mut raw = String::from("\"");
    for unit in units {
        write!(raw, "\\u{unit:04x}").unwrap();
    }
    raw + "\""
}

/// Whether JavaScript's `trim` takes the unit away.
pub(crate) fn is_space(unit: u16) -> bool {
    matches!(unit, 0x09..=0x0D | 0x20 | 0xA0 | 0x1680 | 0x2000..=0x200A | 0x2028 | 0x2029 | 0x202F | 0x205F | 0x3000 | 0xFEFF)
}

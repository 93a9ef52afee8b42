//! What the documents say of the repository is true: links lead somewhere, commands and tests exist. The example of the
//! README is a doc test of the crate.

use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENTS: [&str; 5] = ["README.md", "CHANGELOG.md", "docs/format.md", "docs/architecture.md", "docs/seeds.md"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The page without its code blocks.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

/// The anchors that a page has, as they are made of its headings.
fn anchors(page: &str) -> Vec<String> {
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| {
        let kept = heading.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut links = 0;
    for document in DOCUMENTS {
        for link in prose(&read(document)).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            links += 1;
            if link.starts_with("https://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = Path::new(document).parent().expect("a document has a folder");
            let target = if file.is_empty() { PathBuf::from(document) } else { folder.join(file) };
            assert!(root().join(&target).exists(), "{document}: {link}");
            if !anchor.is_empty() {
                let page = read(&target.to_string_lossy());
                assert!(anchors(&page).iter().any(|known| known == anchor), "{document}: {link}");
            }
        }
    }
    assert!(links > 20, "only {links} links were found");
}

#[test]
fn every_test_and_source_that_the_documents_name_exists() {
    let mut tests = 0;
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        for name in prose(&read(document)).split('`').skip(1).step_by(2) {
            if name.contains(char::is_whitespace) {
                continue;
            }
            let (file, test) = match name.split_once("::") {
                Some((file, test)) if file.contains('/') => (file.to_owned(), Some(test)),
                Some((file, test)) if root().join(format!("tests/{file}.rs")).is_file() => {
                    (format!("tests/{file}.rs"), Some(test))
                }
                None if ["src/", "tests/", "examples/", "docs/"].iter().any(|folder| name.starts_with(folder)) => {
                    (name.to_owned(), None)
                }
                _ => continue,
            };
            tests += usize::from(test.is_some());
            let is_there = match test {
                Some(test) => root().join(&file).is_file() && read(&file).contains(&format!("fn {test}(")),
                None => root().join(&file).exists(),
            };
            if !is_there {
                missing.push(format!("{document}: there is no {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
    assert!(tests > 50, "only {tests} tests were found");
}

/// What the seeds hold, by heading of `docs/seeds.md`: how many points.
const POINTS: [(&str, usize); 16] = [
    ("C12: requirements", 4),
    ("C12: sections", 22),
    ("C12: the lists in sections 7, 10, 13, 16 and 17", 31),
    ("C12: misconceptions", 6),
    ("C12: summary points", 11),
    ("C12: questions", 8),
    ("S14: needs", 3),
    ("S14: operations", 3),
    ("S14: blocks", 5),
    ("S14: commands", 8),
    ("S14: flow", 1),
    ("S14: source questions", 6),
    ("S14: exercise", 1),
    ("S14: the compromise list", 10),
    ("S14: recall", 7),
    ("S14: pass standard", 1),
];

#[test]
fn every_point_of_the_seeds_has_a_row_with_a_place_and_a_test() {
    let page = read("docs/seeds.md");
    let mut groups = 0;
    for section in page.split("\n### ").skip(1) {
        let (heading, body) = section.split_once('\n').expect("a section has lines");
        let Some((_, expected)) = POINTS.iter().find(|(name, _)| *name == heading) else { continue };
        groups += 1;
        let rows: Vec<_> = body.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        assert_eq!(rows.len(), *expected, "{heading}");
        for row in rows {
            let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            assert_eq!(cells.len(), 3, "{row}");
            // That the test exists is looked at elsewhere.
            assert!(cells[2].starts_with('`') && cells[2].contains("::") && !cells[1].is_empty(), "{row}");
            assert!(!row.contains("partly") && !row.contains("to come") && !row.ends_with("open |"), "{row}");
        }
    }
    assert_eq!(groups, POINTS.len());
}

#[test]
fn the_two_commands_come_first_and_every_check_runs_them() {
    let readme = read("README.md");
    let first = readme.split("```").nth(1).expect("the README has a code block");
    let commands: Vec<_> = first.lines().skip(1).collect();
    assert_eq!(commands, ["cargo run --release -- demo", "cargo test"]);
    for command in commands {
        assert!(read(".ci/run").lines().any(|line| line == format!("step {command}")), "{command}");
    }
}

#[test]
#[cfg(feature = "cli")]
fn the_readme_lists_every_command_and_no_other() {
    let help = assert_cmd::Command::cargo_bin("leaflog").unwrap().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A description that goes on in the next line is indented further.
    let listed = listed.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let mut actual: Vec<_> = listed.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();

    let readme = read("README.md");
    let table = readme.lines().skip_while(|line| !line.starts_with("| command |")).skip(2);
    let cells = table.take_while(|line| line.starts_with('|')).filter_map(|line| line.split('|').nth(1));
    let mut described: Vec<_> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect();

    actual.sort_unstable();
    described.sort_unstable();
    assert!(actual.len() > 20, "{help}");
    assert_eq!(described, actual);
}

//! Two plans in one session, as section 19 of C12 tells it: plan A, back to before the old question with its text in
//! the editor, plan B in its place, and a switch to either.
//!
//! `cargo run --example plans`, or with a folder to keep the session in: `cargo run --example plans -- my-sessions`

use leaflog::{Context, ContextOptions, CreateOptions, EntryId, EntryKind, NewEntry, Result, Role, Session, Store};

/// The loop of an agent: what is said is stored first, then the model sees the context, then its answer is stored.
struct Agent {
    session: Session,
}

impl Agent {
    /// One turn; returns the entry of the answer.
    fn prompt(&self, text: &str) -> Result<EntryId> {
        self.session.append(NewEntry::user(text))?;
        let context = self.session.context(&ContextOptions::new())?;
        Ok(self.session.append(NewEntry::assistant(model(&context)))?.id)
    }

    /// Goes back to before the user message `id` and returns its text for the editor. The message and all that
    /// followed it stay in the session.
    fn edit_again(&self, id: &EntryId) -> Result<String> {
        let message = self.session.entry(id)?;
        assert!(message.kind() == EntryKind::Message && message.role() == Some(Role::User), "choose a user message");
        // To its parent: the new question becomes a sibling of the old one, not an addition to it.
        self.session.move_to(message.parent_id())?;
        Ok(message.text())
    }

    fn show(&self, title: &str) -> Result<Vec<String>> {
        let context = self.session.context(&ContextOptions::new())?;
        println!("\n{title}");
        for message in &context.messages {
            println!("  {:<9} {}", message.role(), message.text());
        }
        Ok(context.messages.iter().map(leaflog::Message::text).collect())
    }
}

/// Stands for a language model. All it knows is the context.
fn model(context: &Context) -> String {
    let question = context.messages.last().map(leaflog::Message::text).unwrap_or_default();
    format!("Done ({} messages seen): {question}", context.messages.len())
}

fn main() -> Result<()> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let root = std::env::args_os().nth(1).map_or_else(|| scratch.path().to_owned(), Into::into);
    let store = Store::new(root);
    let agent = Agent { session: store.create(CreateOptions::new("/projects/login"))? };

    agent.prompt("Read the login code.")?;
    let plan_a = agent.prompt("Refactor the login with plan A.")?;
    agent.show("Plan A")?;

    // The user picks the old question; the editor gets its text; the revised text is a new question beside it.
    let question_a = agent.session.entry(&plan_a)?.parent_id().cloned().expect("the answer has a question");
    let draft = agent.edit_again(&question_a)?;
    println!("\nIn the editor: {draft}");
    let plan_b = agent.prompt(&draft.replace("plan A", "plan B"))?;
    let seen = agent.show("Plan B: the model sees nothing of plan A")?;
    assert_eq!(seen.len(), 4);
    assert!(seen.iter().all(|text| !text.contains("plan A")));

    // Both plans are there, now and after a restart, and either is one move away.
    let path = agent.session.path();
    drop(agent);
    let agent = Agent { session: Session::open(&path)? };
    assert_eq!(agent.session.leaf().as_ref(), Some(&plan_b));
    agent.session.move_to(Some(&plan_a))?;
    let seen = agent.show("Back on plan A, after a restart")?;
    assert!(seen.iter().all(|text| !text.contains("plan B")));
    agent.session.move_to(Some(&plan_b))?;
    agent.show("And on plan B again")?;

    let tips: Vec<_> = agent.session.tips()?.into_iter().map(|tip| tip.id).collect();
    assert_eq!(tips, [plan_a, plan_b]);
    println!("\n{} entries in {}", agent.session.entries().count(), path.display());
    Ok(())
}

//! Two plans in one session, as section 19 of C12 tells it: plan A, back to before the old question with its text in
//! the editor, plan B in its place, and a switch to either. Once without and once with a summary of the plan that is
//! left.
//!
//! `cargo run --example plans`, or with a place to keep the sessions in, a folder or `sqlite:FILE`:
//! `cargo run --example plans -- sqlite:my-sessions.db`

use std::sync::Arc;

use leaflog::{
    Cancellation, Context, ContextOptions, CreateOptions, EntryId, Message, NavigateOptions, Navigation, Navigator,
    NewEntry, Prompt, Result, Session, Store, Summarized,
};

/// The loop of an agent: what is said is stored first, then the model sees the context, then its answer is stored.
struct Agent {
    session: Arc<Session>,
    navigator: Navigator,
}

impl Agent {
    fn new(session: Session) -> Self {
        let session = Arc::new(session);
        let navigator = Navigator::new(Arc::clone(&session)).summarizer(summarize);
        Self { session, navigator }
    }

    /// One turn; returns the entry of the answer.
    fn prompt(&self, text: &str) -> Result<EntryId> {
        // Nobody navigates while a turn is under way.
        let _turn = self.navigator.begin_turn()?;
        self.session.append(NewEntry::user(text))?;
        let context = self.session.context(&ContextOptions::new())?;
        Ok(self.session.append(NewEntry::assistant(model(&context)))?.id)
    }

    /// Goes back to before the user message `id` and returns its text for the editor. The message and all that
    /// followed it stay in the session.
    fn edit_again(&self, id: &EntryId, summarize: bool) -> Result<String> {
        match self.navigator.navigate(id, &NavigateOptions::new().summarize(summarize))? {
            Navigation::Moved(moved) => Ok(moved.editor_text.expect("a user message has a text")),
            other => panic!("nobody else is here: {other:?}"),
        }
    }

    fn show(&self, title: &str) -> Result<Vec<String>> {
        let context = self.session.context(&ContextOptions::new())?;
        println!("\n{title}");
        for message in &context.messages {
            println!("  {:<14} {}", message.role(), message.text().replace('\n', " "));
        }
        Ok(context.messages.iter().map(Message::text).collect())
    }
}

/// Stands for a language model. All it knows is the context.
fn model(context: &Context) -> String {
    let question = context.messages.last().map(Message::text).unwrap_or_default();
    format!("Done ({} messages seen): {question}", context.messages.len())
}

/// Stands for a language model that sums up the branch that is left. `CommandSummarizer` asks a real one.
#[expect(clippy::unnecessary_wraps, reason = "a real model may fail")]
fn summarize(prompt: &Prompt, _: &Cancellation) -> std::result::Result<Summarized, leaflog::SummaryFailure> {
    assert!(prompt.user.contains("with plan A"), "the branch that is left is in the prompt");
    Ok(Summarized::new("The first plan was carried out and works."))
}

fn play(store: &Store, summarize: bool) -> Result<()> {
    let agent = Agent::new(store.create(CreateOptions::new("/projects/login"))?);
    agent.prompt("Read the login code.")?;
    let plan_a = agent.prompt("Refactor the login with plan A.")?;
    agent.show("Plan A")?;

    // The user picks the old question; the editor gets its text; the revised text is a new question beside it.
    let question_a = agent.session.entry(&plan_a)?.parent_id().cloned().expect("the answer has a question");
    let draft = agent.edit_again(&question_a, summarize)?;
    println!("\nIn the editor: {draft}");
    let plan_b = agent.prompt(&draft.replace("plan A", "plan B"))?;
    let seen = agent.show("Plan B: the model sees nothing of plan A but, if there is one, the summary")?;
    assert_eq!(seen.len(), if summarize { 5 } else { 4 });
    assert!(seen.iter().all(|text| !text.contains("plan A")));

    // Both plans are there, now and after a restart, and either is one move away.
    let id = agent.session.id();
    drop(agent);
    let agent = Agent::new(store.open(id.as_str())?);
    assert_eq!(agent.session.leaf().as_ref(), Some(&plan_b));
    agent.session.move_to(Some(&plan_a))?;
    let seen = agent.show("Back on plan A, after a restart")?;
    assert!(seen.iter().all(|text| !text.contains("plan B")));
    agent.session.move_to(Some(&plan_b))?;

    let tips: Vec<_> = agent.session.tips()?.into_iter().map(|tip| tip.id).collect();
    assert_eq!(tips, [plan_a, plan_b]);
    println!("\n{} entries in {}", agent.session.entries().count(), agent.session.path().display());
    Ok(())
}

fn main() -> Result<()> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let place = std::env::args_os().nth(1).map_or_else(|| scratch.path().to_owned(), Into::into);
    let store = Store::at(place)?;
    play(&store, false)?;
    play(&store, true)
}

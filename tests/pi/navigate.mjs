// navigate.mjs OUT_DIR COUNT SEED: COUNT random trees written by 0.83's JsonlSessionRepo, and how its own AgentHarness
// navigates in them. For each journey OUT_DIR/journeys holds the session as it was before, and one line of
// OUT_DIR/expected.jsonl says what the real collectEntriesForBranchSummary, prepareBranchEntries and navigateTree made of
// it. Where a rule of SPEC differs, `rules` names it and the line says what pi's own functions make of the rule's entries.

import { closeSync, copyFileSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Content } from "./content.mjs";
import { loadPi, Random, readArgs, repo083 } from "./lib.mjs";
import { computeFileLists } from "./node_modules/pi-0.83/dist/harness/compaction/utils.js";
import { Writer083 } from "./write083.mjs";

const ENTRIES_MAX = 60;
const JOURNEYS = 4;
// What navigateTree keeps free; a host cannot change it.
const RESERVE = 16384;
const BUDGETS = [1, 5, 20, 50, 100, 200, 500, 1000, 111616];
const PATHS = ["src/a.rs", "src/b.rs", "b c.md", "目录/文件", "😀.rs", "\uffee.rs", "/abs/x", "Z", "a"];
const STUB_TEXT = "what a model would write";
const STUB_USAGE = { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 10, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 } };
const NO_CONTENT = "No content to summarize";

const args = readArgs(["OUT_DIR", "COUNT", "SEED"], {});
const root = resolve(args.OUT_DIR);
const random = new Random(Number(args.SEED));
const pi = await loadPi("0.83");

/** Contents whose tool calls name files. */
class FileContent extends Content {
  assistantBlock() {
    const block = super.assistantBlock();
    if (block.type !== "toolCall" || this.random.chance(0.2)) return block;
    block.name = this.random.pick(["read", "write", "edit", "bash"]);
    const path = this.random.chance(0.1) ? this.random.pick(["", 7, null]) : this.random.pick(PATHS);
    block.arguments = this.random.chance(0.5) ? { path } : { old: this.json(), path, text: this.text() };
    return block;
  }
}

/** Summaries whose details name files, or something else. */
class FileWriter extends Writer083 {
  async branchSummary() {
    const files = () => PATHS.filter(() => this.random.chance(0.25));
    const lists = { readFiles: files(), modifiedFiles: files() };
    const details = this.random.pick([undefined, null, lists, lists, { ...lists, readFiles: "none" }, this.content.json()]);
    const summary = this.random.chance(0.15) ? "" : this.content.text();
    const fromHook = this.random.pick([undefined, false, true]);
    await this.session.moveTo((await this.anyId()) ?? null, { summary, details, usage: this.content.usage(), fromHook });
  }
}

/** A context path as rule 3.5 has it: only the newest compaction sets the boundary. */
function pathByRule(byId, from) {
  const path = [];
  for (let entry = byId.get(from); entry; entry = byId.get(entry.parentId)) path.unshift(entry);
  const at = path.findLastIndex((entry) => entry.type === "compaction");
  if (at < 0) return path;
  const kept = path.findIndex((entry) => entry.id === path[at].firstKeptEntryId);
  return path.slice(path[at].retainedTail || kept < 0 || kept > at ? at : kept);
}

/** What is left behind by rule 6.2, on paths by rule 3.5. */
function collectByRule(byId, oldLeaf, target) {
  if (oldLeaf === null) return { commonAncestorId: null, entries: [] };
  const oldIds = new Set(pathByRule(byId, oldLeaf).map((entry) => entry.id));
  const commonAncestorId = pathByRule(byId, target).findLast((entry) => oldIds.has(entry.id))?.id ?? null;
  const entries = [];
  for (let entry = byId.get(oldLeaf); entry && entry.id !== commonAncestorId; entry = byId.get(entry.parentId)) entries.unshift(entry);
  return { commonAncestorId, entries };
}

/** A summary without text becomes no message (rule 4.2, as in the context of both pis). */
const isEmptySummary = (message) => message.role === "branchSummary" && !message.summary;

/** What is summarised of the entries that are left, as pi's functions have it. */
function prepare(entries, budget) {
  const { messages, fileOps, totalTokens } = pi.prepareBranchEntries(entries, budget);
  const shown = messages.filter((message) => !isEmptySummary(message));
  return {
    messages: shown,
    tokens: totalTokens,
    ...computeFileLists(fileOps),
    conversation: pi.serializeConversation(pi.convertToLlm(shown)).toWellFormed(),
    emptySummaries: messages.length - shown.length,
  };
}

/** The models of a harness that does as it is told and notes what it is asked. */
function stubModels(asked) {
  return {
    completeSimple: async (_model, context) => {
      asked.push(context.messages[0].content[0].text);
      return { role: "assistant", content: [{ type: "text", text: STUB_TEXT }], stopReason: "stop", usage: STUB_USAGE };
    },
  };
}

/** What the hook before the navigation answers. */
function hookResult(hook) {
  if (hook === "cancel") return { cancel: true };
  if (hook === "summary") return { summary: { summary: "by the hook", details: { by: "hook" } } };
  if (hook === "instructions") return { customInstructions: "what the hook wants", replaceInstructions: true };
  return undefined;
}

async function navigate(session, { target, budget, summarize, instructions, replace, hook }) {
  const asked = [];
  const events = [];
  const model = { id: "stub", provider: "stub", api: "stub", contextWindow: RESERVE + budget };
  const harness = new pi.AgentHarness({ session, models: stubModels(asked), model });
  harness.on("session_before_tree", () => hookResult(hook));
  harness.subscribe((event) => void events.push(event));
  const result = await harness.navigateTree(target, { summarize, customInstructions: instructions, replaceInstructions: replace });
  return { result, asked, events: events.filter((event) => event.type === "session_tree") };
}

/** What became of the summary: who made it, and the files that it lists. */
function summaryOf(entry, asked) {
  if (!entry) return { kind: "none" };
  const { readFiles = [], modifiedFiles = [] } = entry.details ?? {};
  const kind = entry.fromHook ? "hook" : asked.length > 0 ? "made" : "noContent";
  if (kind === "noContent" && entry.summary !== NO_CONTENT) throw new Error("nobody was asked and there is a summary");
  const behind = kind === "made" ? entry.summary.slice(entry.summary.indexOf(STUB_TEXT) + STUB_TEXT.length) : "";
  return { kind, readFiles, modifiedFiles, behind, usage: entry.usage ?? null };
}

/** The same as it follows from what is prepared, where a rule differs. */
function summaryByRule(prepared, entries, { summarize, hook }) {
  if (hook === "summary") return { kind: "hook", readFiles: [], modifiedFiles: [], behind: "", usage: null };
  if (!summarize || entries.length === 0) return { kind: "none" };
  if (prepared.messages.length === 0) return { kind: "noContent", readFiles: [], modifiedFiles: [], behind: "", usage: null };
  const { readFiles, modifiedFiles } = prepared;
  const list = (tag, files) => (files.length > 0 ? `\n\n<${tag}>\n${files.join("\n")}\n</${tag}>` : "");
  const behind = list("read-files", readFiles) + list("modified-files", modifiedFiles);
  return { kind: "made", readFiles, modifiedFiles, behind, usage: STUB_USAGE };
}

/** One journey: moves to a random leaf, keeps a copy of the file, navigates, and says what pi did. */
async function journey(session, file, copy) {
  const entries = (await session.getEntries()).filter((entry) => entry.type !== "leaf");
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const oldLeaf = random.chance(0.05) ? null : random.pick(entries).id;
  const target = random.pick(entries).id;
  await session.moveTo(oldLeaf);
  copyFileSync(file, copy);
  const budget = random.pick(BUDGETS);
  const instructions = random.pick([undefined, undefined, "", "what the caller wants"]);
  const hook = random.weighted({ none: 8, summary: 1, cancel: 1, instructions: 1 });
  const options = { target, budget, summarize: random.chance(0.75), instructions, replace: random.chance(0.4), hook };

  const rules = [];
  let left = await pi.collectEntriesForBranchSummary(session, oldLeaf, target);
  const byRule = collectByRule(byId, oldLeaf, target);
  const ids = ({ commonAncestorId, entries }) => [commonAncestorId, ...entries.map((entry) => entry.id)];
  if (!isDeepStrictEqual(ids(left), ids(byRule))) rules.push("3.5");
  left = byRule;
  const prepared = prepare(left.entries, budget);
  if (prepared.emptySummaries > 0) rules.push("4.2");

  const { result, asked, events } = await navigate(session, options);
  let summary = summaryOf(result.summaryEntry, asked);
  const expected = summaryByRule(prepared, left.entries, options);
  const went = oldLeaf !== target && !result.cancelled;
  if (rules.length > 0 && went) summary = expected;
  else if (went && !isDeepStrictEqual(summary, expected)) throw new Error(`navigateTree does not do as its parts: ${JSON.stringify({ summary, expected })}`);
  const conversation = `<conversation>\n${prepared.conversation}\n</conversation>\n\n`;
  if (rules.length === 0 && asked.some((prompt) => !prompt.toWellFormed().startsWith(conversation))) throw new Error("another conversation was sent");
  const leaf = result.summaryEntry ? result.summaryEntry.parentId : await session.getLeafId();
  return {
    ...options, path: copy, oldLeaf, instructions: instructions ?? null, rules,
    commonAncestor: left.commonAncestorId, entries: left.entries.map((entry) => entry.id),
    messages: prepared.messages, tokens: prepared.tokens, readFiles: prepared.readFiles, modifiedFiles: prepared.modifiedFiles,
    conversation: prepared.conversation,
    outcome: result.cancelled ? "cancelled" : oldLeaf === target ? "unchanged" : "moved",
    leaf, editorText: result.editorText?.toWellFormed() ?? null, summary, events: events.map(({ fromHook }) => fromHook),
  };
}

mkdirSync(join(root, "journeys"), { recursive: true });
const out = openSync(join(root, "expected.jsonl"), "w");
const repo = repo083(pi, root);
const tally = {};
let journeys = 0;
for (let i = 0; i < Number(args.COUNT); i++) {
  const session = await repo.create({ cwd: "/home/dev/alpha" });
  const content = new FileContent(random, {});
  await new FileWriter(session, random, content, false).run(4 + random.below(ENTRIES_MAX));
  const file = (await session.getMetadata()).path;
  if ((await session.getEntries()).every((entry) => entry.type === "leaf")) continue;
  for (let k = 0; k < JOURNEYS; k++) {
    const line = await journey(session, file, join(root, "journeys", `${i}-${k}.jsonl`));
    writeSync(out, `${JSON.stringify(line)}\n`);
    journeys += 1;
    for (const what of [line.outcome, line.summary.kind, ...line.rules]) tally[what] = (tally[what] ?? 0) + 1;
  }
}
closeSync(out);
console.log(`${journeys} journeys ${JSON.stringify(tally)}`);

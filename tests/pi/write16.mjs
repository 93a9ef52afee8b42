// Writes sessions with the SessionManager of pi 1.6.0.

import { existsSync } from "node:fs";

const ROLES = { user: 30, assistant: 34, toolResult: 20, bashExecution: 6, system: 4, custom: 4, notice: 1, "": 0.5 };
const ACTIONS = {
  message: 50, thinking: 4, model: 4, label: 8, name: 3, custom: 4, customMessage: 6, branch: 8,
  reset: 1, branchSummary: 4, compaction: 5, contextEdit: 6, usage: 3, raw: 4,
};
const EDITABLE_ROLES = new Set(["user", "assistant", "toolResult"]);

/** Writes one session and perhaps forks of it; returns the paths of the files that pi made. */
export async function write16(pi, random, content, { cwd, folderOf, size, differing }) {
  const options = random.chance(0.1) ? { id: `own.id_${random.below(2 ** 32)}` } : undefined;
  const session = pi.SessionManager.create(cwd, folderOf(cwd), options);
  const writer = new Writer16(session, random, content, differing);
  writer.run(size - 1);
  // Without a user or assistant message pi never makes the file.
  if (size === 1 || !existsSync(session.getSessionFile())) session.appendMessage(content.user());
  else writer.step();
  const files = [session.getSessionFile()];
  if (random.chance(0.15)) files.push(writer.branchedFork(pi));
  if (random.chance(0.1)) files.push(writer.wholeFork(pi, "/home/dev/beta work", folderOf));
  return files.filter((file) => existsSync(file));
}

/** Does random things to a session, the same ones for the same stream of random numbers. */
export class Writer16 {
  constructor(session, random, content, differing) {
    Object.assign(this, { session, random, content, differing });
  }

  run(count) {
    for (let i = 0; i < count; i++) this.step();
  }

  step() {
    this[this.random.weighted(ACTIONS)]();
  }

  anyId() {
    return this.random.pick(this.session.getEntries())?.id;
  }

  message() {
    let message = this.content.message(ROLES);
    if (this.differing && this.random.chance(message.role === "system" ? 0.4 : 0.05)) message = this.malformed(message);
    this.session.appendMessage(message);
  }

  /** Fields missing that pi's types demand: an assistant without a model, a system message without a time. */
  malformed({ provider: _, model: __, timestamp, ...message }) {
    return message.role === "system" ? message : { ...message, timestamp };
  }

  thinking() {
    this.session.appendThinkingLevelChange(this.random.pick(["off", "minimal", "low", "high", "xhigh"]));
  }

  model() {
    const { provider, modelId } = this.content.model();
    this.session.appendModelChange(provider, modelId);
  }

  label() {
    const target = this.random.chance(0.35) && this.labelled ? this.labelled : this.anyId();
    if (target === undefined) return this.message();
    this.labelled = target;
    const clear = this.random.chance(0.25);
    // 1.6.0 stores a label as it is given; leaflog trims it (rule 3.6).
    const text = this.differing ? `${this.content.spacedTitle()}${this.random.pick(["", "\n"])}` : this.content.title();
    this.session.appendLabelChange(target, clear ? this.random.pick([undefined, ""]) : text);
  }

  name() {
    const text = this.content.spacedTitle();
    this.session.appendSessionInfo(this.random.pick([text, `${text}\r\nsecond line`, "", "  "]));
  }

  custom() {
    this.session.appendCustomEntry(this.random.pick(["todo", "状态"]), this.random.pick([this.content.json(), undefined]));
  }

  customMessage() {
    const content = this.random.chance(0.1) ? this.random.pick([null, undefined]) : this.content.content();
    this.session.appendCustomMessageEntry("note", content, this.random.chance(0.5), this.random.pick([undefined, this.content.json()]));
  }

  branch() {
    const target = this.anyId();
    if (target) this.session.branch(target);
    this.message();
  }

  reset() {
    this.session.resetLeaf();
    this.message();
  }

  branchSummary() {
    const target = this.random.chance(0.1) ? null : (this.anyId() ?? null);
    const summary = this.random.chance(0.2) ? "" : this.content.text();
    this.session.branchWithSummary(target, summary, this.random.pick([undefined, { readFiles: ["a.rs"] }]), this.random.pick([undefined, true]));
  }

  compaction() {
    const { content, random } = this;
    this.session.appendCompaction(content.text(), this.firstKept(), random.below(200000), random.pick([undefined, content.json()]),
      random.pick([undefined, false]), random.pick([undefined, content.usage()]));
  }

  /** Where the kept range begins: an ancestor, one before an older compaction, a label or setting, nothing, or an id that is not there. */
  firstKept() {
    const path = this.session.getBranch();
    const older = path.findLastIndex((entry) => entry.type === "compaction");
    const quiet = path.filter((entry) => /label|change|info/.test(entry.type));
    // In sessions that leaflog moved in, 1.6.0 takes a leaf entry for an entry like any other.
    const moves = path.filter((entry) => entry.type === "leaf");
    const choices = {
      none: 2, ancestor: 4, nested: older > 0 ? 3 : 0, quiet: quiet.length > 0 ? 2 : 0, move: moves.length > 0 ? 4 : 0, elsewhere: 1,
      unknown: 0.5,
    };
    switch (this.random.weighted(choices)) {
      case "ancestor": return this.random.pick(path)?.id;
      case "nested": return this.random.pick(path.slice(0, older)).id;
      case "move": return this.random.pick(moves).id;
      case "quiet": return this.random.pick(quiet).id;
      case "elsewhere": return this.anyId();
      case "unknown": return this.random.pick(["", "zzzzzzzz"]);
      default: return undefined;
    }
  }

  replacement() {
    return this.random.chance(0.35) ? null : { content: this.content.content() };
  }

  contextEdit() {
    const editable = this.session.getBranch().filter(
      (entry) => entry.type === "custom_message" || (entry.type === "message" && EDITABLE_ROLES.has(entry.message.role)),
    );
    if (editable.length === 0) return this.message();
    const again = editable.find((entry) => entry.id === this.edited);
    const target = again && this.random.chance(0.4) ? again : this.random.pick(editable);
    this.edited = target.id;
    this.session.appendContextEdit(target.id, this.replacement());
  }

  usage() {
    const { provider, modelId } = this.content.model();
    this.session.appendUsage("title", provider, modelId, this.content.usage(), this.random.pick([undefined, this.content.text()]));
  }

  /** Entries that pi's own calls refuse or do not know, yet its reader takes: edits of any target, kinds of the future. */
  raw() {
    const id = this.freshId();
    const head = { id, parentId: this.session.getLeafId(), timestamp: new Date().toISOString() };
    if (this.random.chance(0.4)) return this.session._appendEntry({ type: "bookmark", ...head, payload: this.content.json() });
    const targetId = this.random.pick([this.anyId(), this.random.pick(this.session.getBranch())?.id, "zzzzzzzz"]) ?? id;
    const broken = this.differing && this.random.chance(0.2);
    let replacement = broken ? this.random.pick([{}, { content: null }]) : this.replacement();
    if (replacement === null && !this.differing && this.carriesSystem(targetId)) replacement = { content: "" };
    this.session._appendEntry({ type: "context_edit", ...head, targetId, replacement });
  }

  /**
   * Whether taking the entry away takes a system message away. A compaction made then has none of its own, and 1.6.0
   * drops those of its kept range all the same; leaflog keeps them (rule 4.1).
   */
  carriesSystem(id) {
    const entry = this.session.getEntry(id);
    return entry?.systemMessage !== undefined || entry?.message?.role === "system";
  }

  freshId() {
    const id = this.random.below(2 ** 32).toString(16).padStart(8, "0");
    return this.session.getEntry(id) ? this.freshId() : id;
  }

  branchedFork(pi) {
    const session = pi.SessionManager.open(this.session.getSessionFile());
    const file = session.createBranchedSession(this.anyId());
    new Writer16(session, this.random, this.content, this.differing).run(this.random.below(4));
    return file;
  }

  wholeFork(pi, cwd, folderOf) {
    const session = pi.SessionManager.forkFrom(this.session.getSessionFile(), cwd, folderOf(cwd));
    new Writer16(session, this.random, this.content, this.differing).run(this.random.below(4));
    return session.getSessionFile();
  }
}

// Writes sessions with the JsonlSessionRepo and Session of pi-agent-core 0.83.

import { repo083 } from "./lib.mjs";

const ROLES = { user: 32, assistant: 36, toolResult: 20, bashExecution: 6, custom: 4 };
const ACTIONS = {
  message: 48, thinking: 3, model: 3, activeTools: 5, label: 7, name: 3, custom: 3, customMessage: 5,
  move: 9, moveToNull: 1.5, branchSummary: 4, compaction: 6,
};

/** Writes one session and perhaps forks of it; returns the paths of the files. */
export async function write083(pi, random, content, { root, cwd, size, differing }) {
  const repo = repo083(pi, root);
  const metadata = random.chance(0.4) ? { title: content.text(), value: content.json() } : undefined;
  const options = random.chance(0.1) ? { id: `own.id_${random.below(2 ** 32)}` } : {};
  const session = await repo.create({ cwd, metadata, ...options });
  const writer = new Writer083(session, random, content, differing);
  await writer.run(size);
  const source = await session.getMetadata();
  const files = [source.path];
  for (const position of ["whole", "at", "before"]) {
    if (random.chance(0.08)) files.push(await writer.fork(repo, source, position));
  }
  return files.filter(Boolean);
}

/** Does random things to a session, the same ones for the same stream of random numbers. */
export class Writer083 {
  constructor(session, random, content, differing) {
    Object.assign(this, { session, random, content, differing });
  }

  async run(count) {
    for (let i = 0; i < count; i++) await this[this.random.weighted(ACTIONS)]();
  }

  /** The entries that can be targets: leaf entries are left out. */
  async nodes() {
    return (await this.session.getEntries()).filter((entry) => entry.type !== "leaf");
  }

  async anyId() {
    return this.random.pick(await this.nodes())?.id;
  }

  message() {
    // 0.83 leaves null content as it is and drops system messages from the model's view; leaflog follows 1.6.0 (rule 4.2).
    if (this.differing && this.random.chance(0.1)) {
      return this.session.appendMessage(this.random.pick([this.content.system(), { ...this.content.user(), content: null }]));
    }
    return this.session.appendMessage(this.content.message(ROLES));
  }

  thinking() {
    return this.session.appendThinkingLevelChange(this.random.pick(["off", "minimal", "low", "high"]));
  }

  model() {
    const { provider, modelId } = this.content.model();
    return this.session.appendModelChange(provider, modelId);
  }

  activeTools() {
    return this.session.appendActiveToolsChange(this.content.tools());
  }

  async label() {
    const target = this.random.chance(0.35) && this.labelled ? this.labelled : await this.anyId();
    if (target === undefined) return this.message();
    this.labelled = target;
    // 0.83 trims a label but keeps line breaks in it; leaflog makes them spaces (rule 3.6).
    const text = this.content.spacedTitle() + (this.differing ? "\nmore" : "");
    await this.session.appendLabel(target, this.random.chance(0.25) ? this.random.pick([undefined, ""]) : text);
  }

  name() {
    const text = this.content.spacedTitle();
    return this.session.appendSessionName(this.random.pick([text, `${text}\r\nsecond line`, "", "  "]));
  }

  custom() {
    return this.session.appendCustomEntry(this.random.pick(["todo", "状态"]), this.random.pick([this.content.json(), undefined]));
  }

  customMessage() {
    const details = this.random.pick([undefined, this.content.json()]);
    return this.session.appendCustomMessageEntry("note", this.content.content(), this.random.chance(0.5), details);
  }

  async move() {
    await this.session.moveTo((await this.anyId()) ?? null);
  }

  async moveToNull() {
    await this.session.moveTo(null, this.random.chance(0.3) ? { summary: this.content.text() } : undefined);
  }

  async branchSummary() {
    const summary = this.random.chance(0.2) ? "" : this.content.text();
    const details = this.random.pick([undefined, { readFiles: [], modifiedFiles: ["b.rs"] }]);
    await this.session.moveTo((await this.anyId()) ?? null, { summary, details, usage: this.content.usage(), fromHook: this.random.chance(0.5) });
  }

  async compaction() {
    const { content, random, session } = this;
    const mode = random.weighted({ kept: 5, tail: 3, emptyTail: 1.5, none: 1, elsewhere: 0.7 });
    const path = await session.getBranch();
    const tail = () => Array.from({ length: 1 + random.below(4) }, () => content.message(ROLES));
    const retainedTail = mode === "tail" ? tail() : mode === "emptyTail" ? [] : undefined;
    let firstKept = mode === "none" ? undefined : random.pick(path)?.id;
    if (mode === "elsewhere") firstKept = await this.anyId();
    await session.appendCompaction(content.text(), firstKept, random.below(200000), random.pick([undefined, content.json()]),
      random.pick([undefined, true]), random.pick([undefined, content.usage()]), retainedTail);
  }

  /** Forks through the store; `before` needs a user message and is skipped without one. */
  async fork(repo, source, position) {
    const nodes = await this.nodes();
    const targets = position === "at" ? nodes : nodes.filter((entry) => entry.message?.role === "user");
    if (position !== "whole" && targets.length === 0) return undefined;
    const where = position === "whole" ? {} : { entryId: this.random.pick(targets).id, position };
    const fork = await repo.fork(source, { cwd: this.random.pick([source.cwd, "/home/dev/beta work"]), ...where });
    for (let i = this.random.below(4); i > 0; i--) await fork.appendMessage(this.content.message(ROLES));
    return (await fork.getMetadata()).path;
  }
}

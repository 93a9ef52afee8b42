// Shared by the scripts beside it: arguments, random numbers, lines, and the view of one session as pi reads it.

import { accessSync, closeSync, openSync, readSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { parseArgs } from "node:util";

const CHUNK_BYTES = 1 << 20;
const CONTEXTS_MAX = 5;
// Null content of these becomes empty in a context (rule 4.2).
const FILLED_ROLES = new Set(["user", "assistant", "toolResult", "system"]);

/** The option of every script that runs pi. */
export const PI_OPTION = { pi: { type: "string", default: "1.6" } };

/** Parses the command line; `positionals` are the names of the arguments that must be there. */
export function readArgs(positionals, options) {
  try {
    const parsed = parseArgs({ allowPositionals: true, options });
    if (parsed.positionals.length !== positionals.length) throw new Error(`expected ${positionals.length} arguments`);
    if (!((parsed.values.pi ?? "1.6") in LOADERS)) throw new Error(`unknown pi ${parsed.values.pi}`);
    return { ...Object.fromEntries(positionals.map((name, i) => [name, parsed.positionals[i]])), ...parsed.values };
  } catch (error) {
    const flags = Object.entries(options).map(([name, { type }]) => `[--${name}${type === "string" ? " VALUE" : ""}]`);
    console.error(`${error.message}\nusage: ${[basename(process.argv[1]), ...positionals, ...flags].join(" ")}`);
    process.exit(2);
  }
}

/** A seeded stream of random numbers (a 32-bit counter run through a mixing function, as in mulberry32). */
export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  /** A number in [0, 1). */
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit) {
    return Math.floor(this.next() * limit);
  }

  chance(probability) {
    return this.next() < probability;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /** One key of a table {key: weight}. */
  weighted(table) {
    const entries = Object.entries(table);
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) if ((left -= weight) < 0) return key;
    return entries[0][0];
  }
}

/** FNV-1a: makes a seed of a session id, so that every reader of a session draws the same entries. */
function hash(text) {
  let h = 0x811c9dc5;
  for (const byte of Buffer.from(text)) h = Math.imul(h ^ byte, 0x01000193);
  return h >>> 0;
}

/** Yields {offset, bytes} of every line. Splits at LF only: readline would also split at U+2028. */
export function* lines(path) {
  const fd = openSync(path, "r");
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let parts = [];
    let offset = 0;
    let held = 0;
    for (let size; (size = readSync(fd, buffer, 0, CHUNK_BYTES, null)) > 0; ) {
      let start = 0;
      for (let end; (end = buffer.subarray(0, size).indexOf(10, start)) !== -1; start = end + 1) {
        const bytes = Buffer.concat([...parts, buffer.subarray(start, end)]);
        yield { offset, bytes };
        offset += bytes.length + 1;
        parts = [];
        held = 0;
      }
      parts.push(Buffer.from(buffer.subarray(start, size)));
      held += size - start;
    }
    if (held > 0) yield { offset, bytes: Buffer.concat(parts) };
  } finally {
    closeSync(fd);
  }
}

// --- the two generations of pi ---

const LOADERS = {
  1.6: async () => ({
    ...(await import("./node_modules/pi-1.6/dist/core/session-manager.js")),
    ...(await import("./node_modules/pi-1.6/dist/core/messages.js")),
  }),
  0.83: () => import("./node_modules/pi-0.83/dist/node.js"),
};

/** The modules of pi that the scripts use. They are imported by path: the packages export only their front door. */
export async function loadPi(version) {
  return { version, ...(await LOADERS[version]()) };
}

/** The store of 0.83 over a folder of this machine. */
export function repo083(pi, root) {
  return new pi.JsonlSessionRepo({ fs: new pi.NodeExecutionEnv({ cwd: root }), sessionsRoot: root });
}

function view16(pi, path) {
  const session = pi.SessionManager.open(path);
  const context = (from) => {
    if (from !== undefined) session.branch(from);
    return session.buildSessionContext();
  };
  const leafPath = session.getBranch();
  return {
    id: session.getSessionId(),
    name: session.getSessionName(),
    // What 1.6.0 resumes at; it takes a leaf entry for an ordinary one, so the nearest other entry stands for it.
    leaf: leafPath.findLast((entry) => entry.type !== "leaf")?.id,
    entries: session.getEntries(),
    label: (id) => session.getLabel(id),
    path: (from) => (from === undefined ? leafPath : session.getBranch(from)),
    context,
    rules: rules16,
  };
}

async function view083(pi, path) {
  const session = await repo083(pi, dirname(path)).open({ path });
  return {
    id: (await session.getMetadata()).id,
    name: await session.getSessionName(),
    leaf: await session.getLeafId(),
    entries: await session.getEntries(),
    label: (id) => session.getLabel(id),
    path: (from) => session.getBranch(from),
    context: async (from) =>
      from === undefined ? session.buildContext() : pi.buildSessionContext(await session.getBranch(from)),
    rules: rules083,
  };
}

const CONTEXT_PARTS = ["path_ids", "messages", "model", "thinkingLevel", "activeToolNames", "llm"];

const allBy = (rule) => Object.fromEntries(CONTEXT_PARTS.map((part) => [part, rule]));
const messagesBy = (rule) => ({ messages: rule, llm: rule });

/** Parts of a context in which leaflog differs from 1.6.0 on purpose, each with the rule's name. */
function rules16(path, context) {
  const rules = modelRules(context);
  const compaction = path.findLast((entry) => entry.type === "compaction");
  if (!compaction) return rules;
  const start = path.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  const kept = start < 0 ? [] : path.slice(start, path.indexOf(compaction));
  const dropsSystem = !compaction.systemMessage && kept.some((entry) => roleOf(entry) === "system");
  return compaction.retainedTail || dropsSystem ? { ...rules, ...messagesBy("4.1") } : rules;
}

/** The same for a context path of 0.83. */
function rules083(path, context) {
  if (endsElsewhere(path)) return allBy("3.5");
  const rules = modelRules(context);
  if (path.some((entry) => entry.type === "compaction" && entry.systemMessage)) return { ...rules, ...messagesBy("4.1") };
  if (path.some((entry) => entry.type === "context_edit" || hasNullContent(entry))) return { ...rules, ...messagesBy("4.2") };
  return context.messages.some((message) => message.role === "system") ? { ...rules, llm: "4.2" } : rules;
}

/** Whether the path of 0.83 starts elsewhere than the newest compaction's kept range, or an older one is on it. */
function endsElsewhere(path) {
  const compactions = path.filter((entry) => entry.type === "compaction");
  if (compactions.length > 1) return true;
  if (compactions.length === 0 || compactions[0].retainedTail || path[0] === compactions[0]) return false;
  return path[0].id !== compactions[0].firstKeptEntryId;
}

function hasNullContent(entry) {
  if (entry.type === "custom_message") return entry.content == null;
  return FILLED_ROLES.has(roleOf(entry)) && entry.message.content == null;
}

function roleOf(entry) {
  return entry.type === "message" ? entry.message.role : undefined;
}

/** An assistant message that names no model makes pi's model undefined; for leaflog it sets none. */
function modelRules({ model }) {
  return model && (model.provider === undefined || model.modelId === undefined) ? { model: "4.3" } : {};
}

/** A label or name as rule 3.6 has it. */
const tidy = (text) => text?.replace(/[\r\n]+/g, " ").trim() || undefined;

/** What of the whole session leaflog differs in on purpose. */
function sessionRules(name, labels, entries) {
  const rules = {};
  if (tidy(name) !== name) rules.name = "3.6";
  if (Object.values(labels).some((label) => tidy(label) !== label)) rules.labels = "3.6";
  const rule = leafRule(entries);
  return rule ? { ...rules, leaf: rule, ...allBy(rule) } : rules;
}

/** Why the last line does not say where the session stands: it is a side record, or a leaf entry whose target is not there. */
function leafRule(entries) {
  const last = entries.at(-1);
  if (last?.side === true) return "3.2";
  const isKnown = (id) => id === null || entries.some((entry) => entry.id === id);
  return last?.type === "leaf" && !isKnown(last.targetId) ? "2.3" : undefined;
}

// --- the view: one line of expected.jsonl ---

/** Opens the session anew with pi and returns what the oracle compares; `brief` leaves out contexts, labels and children. */
export async function describe(pi, file, { brief = false } = {}) {
  const path = resolve(file);
  accessSync(path); // 1.6.0 would open a session of its own where there is none
  const view = pi.version === "1.6" ? view16(pi, path) : await view083(pi, path);
  const { entries } = view;
  const head = { path, id: view.id, name: view.name ?? null, leaf: view.leaf ?? null, entries: entries.map((entry) => entry.id) };
  if (brief) return { ...head, path_ids: pathIds(await view.path()) };
  const labels = await labelsOf(view);
  const { from: _, path_ids, rules, ...context } = await contextAtLeaf(view);
  return {
    ...head,
    rules: { ...rules, ...sessionRules(view.name, labels, entries) },
    path_ids,
    children: childrenOf(entries),
    labels,
    context,
    contexts_at: await contextsAt(view),
    llm: pi.convertToLlm(context.messages),
  };
}

/** Leaf entries are no nodes. */
function pathIds(path) {
  return path.filter((entry) => entry.type !== "leaf").map((entry) => entry.id);
}

async function contextAt(view, from) {
  const path = await view.path(from);
  const { messages, model, thinkingLevel, activeToolNames } = await view.context(from);
  const context = { messages, model, thinkingLevel, activeToolNames };
  return { from, rules: view.rules(path, context), path_ids: pathIds(path), ...context };
}

/** The context at the leaf. Where 0.83 refuses to walk past a parent that stayed behind in a fork, all is left to the rule. */
async function contextAtLeaf(view) {
  try {
    return await contextAt(view, undefined);
  } catch (error) {
    if (error.code !== "invalid_session") throw error;
    return { rules: allBy("5.2"), path_ids: [], messages: [], model: null, thinkingLevel: "off", activeToolNames: null };
  }
}

/** Contexts at a few other entries; the choice depends on nothing but the session. */
async function contextsAt(view) {
  const random = new Random(hash(view.id));
  const others = view.entries.filter((entry) => entry.type !== "leaf" && entry.id !== view.leaf);
  const found = [];
  for (let i = 0; i < CONTEXTS_MAX && others.length > 0; i++) {
    const [entry] = others.splice(random.below(others.length), 1);
    try {
      found.push(await contextAt(view, entry.id));
    } catch (error) {
      if (error.code !== "invalid_session") throw error;
    }
  }
  return found;
}

async function labelsOf(view) {
  const labels = Object.create(null);
  for (const { id } of view.entries) {
    const label = await view.label(id);
    if (label !== undefined) labels[id] = label;
  }
  return labels;
}

/** Children in file order. Leaf entries are no nodes; an entry whose parent is not in the file counts as a root. */
function childrenOf(entries) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const children = Object.create(null);
  for (const entry of entries) {
    if (entry.type === "leaf") continue;
    const seen = new Set();
    let parent = byId.get(entry.parentId);
    while (parent?.type === "leaf" && !seen.has(parent.id)) {
      seen.add(parent.id);
      parent = byId.get(parent.parentId);
    }
    (children[parent?.id ?? "null"] ??= []).push(entry.id);
  }
  return children;
}

// Shared by the scripts beside it: arguments, random numbers, lines, and the view of one session as pi reads it.

import { accessSync, closeSync, openSync, readSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { parseArgs } from "node:util";

const CHUNK_BYTES = 1 << 20;
const CONTEXTS_MAX = 5;

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
    rule: rule16,
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
    rule: rule083,
  };
}

/** Names leaflog's rule where it differs from 1.6.0 on purpose for this path; files that pi wrote hardly have such places. */
function rule16(path) {
  const compaction = path.findLast((entry) => entry.type === "compaction");
  if (!compaction) return undefined;
  const end = path.indexOf(compaction);
  const start = path.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  const kept = start < 0 ? [] : path.slice(start, end);
  const dropsSystem = !compaction.systemMessage && kept.some((entry) => entry.message?.role === "system");
  return compaction.retainedTail || dropsSystem ? "4.1" : undefined;
}

/** The same for a context path of 0.83. */
function rule083(path) {
  const compactions = path.filter((entry) => entry.type === "compaction");
  if (compactions.length > 1) return "3.5";
  if (compactions.length === 0 || compactions[0].retainedTail || path[0] === compactions[0]) return undefined;
  return path[0].id === compactions[0].firstKeptEntryId ? undefined : "3.5";
}

// --- the view: one line of expected.jsonl ---

/** Opens the session anew with pi and returns everything that the oracle compares. */
export async function describe(pi, file) {
  const path = resolve(file);
  accessSync(path); // 1.6.0 would open a session of its own where there is none
  const view = pi.version === "1.6" ? view16(pi, path) : await view083(pi, path);
  const { entries } = view;
  const { from: _, path_ids, rule, ...context } = await contextAt(view, undefined);
  return {
    path,
    id: view.id,
    name: view.name ?? null,
    leaf: view.leaf ?? null,
    rule,
    entries: entries.map((entry) => entry.id),
    path_ids,
    children: childrenOf(entries),
    labels: await labelsOf(view),
    context,
    contexts_at: await contextsAt(view),
    llm: pi.convertToLlm(context.messages),
  };
}

async function contextAt(view, from) {
  const path = await view.path(from);
  const { messages, model, thinkingLevel, activeToolNames } = await view.context(from);
  const path_ids = path.filter((entry) => entry.type !== "leaf").map((entry) => entry.id);
  return { from, rule: view.rule(path), path_ids, messages, model, thinkingLevel, activeToolNames };
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
      // 0.83 refuses to walk past a parent that stayed behind when the path was forked.
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

// fork.mjs PATHS_FILE ROOT SEED [--pi 1.6|0.83]: the real pi forks the sessions listed into the folder ROOT, in each way
// that it has, and prints {"source","path","how"} for every copy that it made.

import { existsSync, mkdirSync, writeSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { lines, loadPi, PI_OPTION, Random, readArgs, repo083 } from "./lib.mjs";

const args = readArgs(["PATHS_FILE", "ROOT", "SEED"], PI_OPTION);
const pi = await loadPi(args.pi);
const random = new Random(Number(args.SEED));
const root = resolve(args.ROOT);

/** `createBranchedSession` chains the entries of one path anew; `forkFrom` copies all entries. */
function forks16(source) {
  const folder = join(root, basename(dirname(source)));
  mkdirSync(folder, { recursive: true });
  const session = pi.SessionManager.open(source, folder);
  const leaf = session.getEntries().length > 0 ? random.pick([session.getLeafId(), random.pick(session.getEntries()).id]) : null;
  const whole = pi.SessionManager.forkFrom(source, session.getCwd(), folder).getSessionFile();
  const copies = [{ how: "forkFrom", path: whole }];
  if (leaf !== null) copies.push({ how: "createBranchedSession", path: session.createBranchedSession(leaf) });
  return copies;
}

async function forks083(source) {
  const repo = repo083(pi, root);
  const session = await repo083(pi, dirname(source)).open({ path: source });
  const metadata = await session.getMetadata();
  const nodes = (await session.getEntries()).filter((entry) => entry.type !== "leaf");
  const users = nodes.filter((entry) => entry.type === "message" && entry.message.role === "user");
  const ways = { whole: {} };
  if (nodes.length > 0) ways.at = { entryId: random.pick(nodes).id, position: "at" };
  if (users.length > 0) ways.before = { entryId: random.pick(users).id, position: "before" };
  const copies = [];
  for (const [how, options] of Object.entries(ways)) {
    try {
      const copy = await repo.fork(metadata, { cwd: metadata.cwd, ...options });
      copies.push({ how, path: (await copy.getMetadata()).path });
    } catch (error) {
      // It refuses to walk past a parent that stayed behind in an earlier fork.
      if (error.code !== "invalid_session") throw error;
    }
  }
  return copies;
}

for (const { bytes } of lines(args.PATHS_FILE)) {
  const source = bytes.toString();
  if (source === "") continue;
  for (const copy of await (pi.version === "1.6" ? forks16(source) : forks083(source))) {
    // 1.6.0 makes no file for a path without a message of the user or the assistant.
    if (existsSync(copy.path)) writeSync(1, `${JSON.stringify({ source, ...copy })}\n`);
  }
}

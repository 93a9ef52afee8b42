// generate.mjs OUT_DIR COUNT SEED [--pi 1.6|0.83] [--differing]: sessions written by the real pi, and what it reads from them.

import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { Content } from "./content.mjs";
import { describe, loadPi, PI_OPTION, Random, readArgs } from "./lib.mjs";
import { write083 } from "./write083.mjs";
import { write16 } from "./write16.mjs";

const CWDS = ["/home/dev/alpha", "/home/dev/beta work", "/srv/データ"];
const ENTRIES_MAX = 120;
const HUGE_BYTES = 2 << 20;
const LONG_BYTES = 100 << 10;

const args = readArgs(["OUT_DIR", "COUNT", "SEED"], { ...PI_OPTION, differing: { type: "boolean", default: false } });
const root = resolve(args.OUT_DIR);
const pi = await loadPi(args.pi);
const random = new Random(Number(args.SEED));
const folderOf = (cwd) => join(root, `--${cwd.replace(/^\//, "").replace(/[/\\:]/g, "-")}--`);

function longBytes(i) {
  if (i % 50 === 25) return HUGE_BYTES;
  return random.chance(0.1) ? LONG_BYTES + random.below(LONG_BYTES) : 0;
}

async function writeSession(i) {
  const content = new Content(random, { longBytes: longBytes(i), nullContent: pi.version === "1.6" });
  const size = random.chance(0.08) ? 1 : 2 + Math.floor((ENTRIES_MAX - 1) * random.next() ** 1.7);
  const write = pi.version === "1.6" ? write16 : write083;
  return write(pi, random, content, { root, cwd: random.pick(CWDS), folderOf, size, differing: args.differing });
}

mkdirSync(root, { recursive: true });
const out = openSync(join(root, "expected.jsonl"), "w");
let sessions = 0;
let entries = 0;
for (let i = 0; i < Number(args.COUNT); i++) {
  for (const file of await writeSession(i)) {
    const view = await describe(pi, file);
    writeSync(out, `${JSON.stringify(view)}\n`);
    sessions += 1;
    entries += view.entries.length;
  }
}
closeSync(out);
console.log(`${sessions} sessions, ${entries} entries`);

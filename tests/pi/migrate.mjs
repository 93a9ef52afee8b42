// migrate.mjs PATHS_FILE: does pi 1.6.0 make of each old session listed what leaflog makes of it (PATH.upgraded)?
//
// Ids of version 1 are drawn by pi and derived by leaflog, so the number of its entry stands for an id. Prints what was
// compared as one JSON line; exit 1 and the differences if there are any.

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { lines, loadPi, readArgs } from "./lib.mjs";

const args = readArgs(["PATHS_FILE"], {});
const pi = await loadPi("1.6");
const counts = { sessions: 0, entries: 0, compactions: 0, kept: 0, ownKept: 0, custom: 0, lines: 0 };
let differences = 0;

/** The entries with numbers for ids, as JSON has them: a member without a value is no member. */
function numbered(entries) {
  const numbers = new Map(entries.map((entry, number) => [entry.id, number]));
  const number = (id) => (numbers.has(id) ? numbers.get(id) : id);
  return entries.map((entry) => {
    const copy = { ...entry, id: number(entry.id), parentId: number(entry.parentId) };
    if ("firstKeptEntryId" in copy) copy.firstKeptEntryId = number(copy.firstKeptEntryId);
    return JSON.parse(JSON.stringify(copy));
  });
}

/** Where a compaction counts to a later entry, pi takes an id that this entry loses in the next step; leaflog takes none. */
function withoutLostReference(entry) {
  const { firstKeptEntryId, ...rest } = entry;
  return typeof firstKeptEntryId === "number" ? entry : rest;
}

function entriesOf(file) {
  return file.filter((entry) => entry.type !== "session");
}

function count(theirs) {
  counts.sessions += 1;
  counts.entries += theirs.length;
  theirs.forEach((entry, number) => {
    if (entry.type === "compaction") counts.compactions += 1;
    if (typeof entry.firstKeptEntryId === "number") counts.kept += 1;
    if (entry.firstKeptEntryId === number) counts.ownKept += 1;
    if (entry.message?.role === "custom") counts.custom += 1;
  });
}

for (const { bytes } of lines(args.PATHS_FILE)) {
  const path = bytes.toString();
  if (path === "") continue;
  const content = readFileSync(path, "utf8");
  counts.lines += content.split("\n").length - 1;
  const file = pi.parseSessionEntries(content);
  pi.migrateSessionEntries(file);
  const theirs = numbered(entriesOf(file)).map(withoutLostReference);
  const ours = numbered(pi.parseSessionEntries(readFileSync(`${path}.upgraded`, "utf8")));
  count(theirs);
  if (file[0].version !== 3 || theirs.length !== ours.length) {
    differences += 1;
    console.log(`${path}: pi has ${theirs.length} entries, leaflog ${ours.length}`);
  }
  theirs.forEach((entry, number) => {
    if (isDeepStrictEqual(entry, ours[number])) return;
    differences += 1;
    console.log(`${path}, entry ${number}:\n  pi      ${JSON.stringify(entry)}\n  leaflog ${JSON.stringify(ours[number])}`);
  });
}
console.log(JSON.stringify(counts));
process.exitCode = differences > 0 ? 1 : 0;

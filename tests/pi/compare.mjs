// compare.mjs EXPECTED.jsonl ACTUAL.jsonl [--skip-rule]: is everything that the first file says of each session also in the second?

import { closeSync, openSync, readSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { lines, loadPi, readArgs } from "./lib.mjs";

const SHOWN_CHARS = 120;
const MODEL_VIEW_PI = "1.6";
const args = readArgs(["EXPECTED", "ACTUAL"], { "skip-rule": { type: "boolean", default: false } });
const pi = await loadPi(MODEL_VIEW_PI);
/** How many parts of the expected views were left to each rule. */
const tally = {};

/** Where each session's line is in the file, so that neither file has to fit in memory. */
function locate(path) {
  const places = new Map();
  for (const { offset, bytes } of lines(path)) {
    if (bytes.length > 0) places.set(JSON.parse(bytes.toString()).path, { offset, length: bytes.length });
  }
  return places;
}

function readAt(fd, { offset, length }) {
  const buffer = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    const size = readSync(fd, buffer, done, length - done, offset + done);
    if (size === 0) throw new Error("the file became shorter while it was read");
    done += size;
  }
  return normalise(JSON.parse(buffer.toString()));
}

/** So that -0 is 0 as in what pi writes, and undefined members are not there. */
const throughJson = (value) => JSON.parse(JSON.stringify(value));

/** Labels and names without lone surrogates. */
function normalise(line) {
  const view = throughJson(line);
  if (typeof view.name === "string") view.name = view.name.toWellFormed();
  for (const [id, label] of Object.entries(view.labels ?? {})) {
    if (typeof label === "string") view.labels[id] = label.toWellFormed();
  }
  return view;
}

/** Takes the rule marks away and, on request, takes over from `actual` what they mark. */
function settleRules(expected, actual, inner) {
  const rules = expected.rules ?? {};
  delete expected.rules;
  delete actual.rules;
  if (!args["skip-rule"]) return;
  for (const [part, rule] of Object.entries(rules)) {
    const holder = part in expected ? expected : inner;
    if (!holder || !(part in holder)) continue;
    tally[`${rule} ${part}`] = (tally[`${rule} ${part}`] ?? 0) + 1;
    const other = holder === expected ? actual : actual.context;
    // What a model gets follows from the messages, as 1.6.0 has it (rule 4.2).
    holder[part] = part === "llm" ? throughJson(pi.convertToLlm(actual.context.messages)) : other?.[part];
  }
}

function own(value, key) {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The first place where two values differ, as a JSON pointer. */
function difference(expected, actual, pointer = "") {
  if (isDeepStrictEqual(expected, actual)) return undefined;
  const both = [expected, actual];
  if (both.some((v) => typeof v !== "object" || v === null) || Array.isArray(expected) !== Array.isArray(actual)) {
    return { pointer, expected, actual };
  }
  for (const key of new Set(both.flatMap(Object.keys))) {
    const step = `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const found = difference(own(expected, key), own(actual, key), step);
    if (found) return found;
  }
  return { pointer, expected, actual };
}

function shown(value) {
  const text = JSON.stringify(value) ?? "(missing)";
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}... (${text.length} characters)` : text;
}

function compareSession(path, expected, actual) {
  settleRules(expected, actual, expected.context);
  expected.contexts_at?.forEach((context, i) => settleRules(context, actual.contexts_at?.[i] ?? {}));
  let count = 0;
  for (const key of Object.keys(expected)) {
    const found = difference(expected[key], actual[key]);
    if (!found) continue;
    count += 1;
    console.log(`${path}: ${key} at "${found.pointer}": expected ${shown(found.expected)}, found ${shown(found.actual)}`);
  }
  return count;
}

const places = { expected: locate(args.EXPECTED), actual: locate(args.ACTUAL) };
const files = { expected: openSync(args.EXPECTED, "r"), actual: openSync(args.ACTUAL, "r") };
let mismatches = 0;
for (const [path, place] of places.expected) {
  const other = places.actual.get(path);
  if (!other) console.log(`${path}: missing session`);
  mismatches += other ? compareSession(path, readAt(files.expected, place), readAt(files.actual, other)) : 1;
}
for (const path of places.actual.keys()) {
  if (places.expected.has(path)) continue;
  console.log(`${path}: extra session`);
  mismatches += 1;
}
closeSync(files.expected);
closeSync(files.actual);
for (const [part, count] of Object.entries(tally).sort()) console.log(`left to rule ${part}: ${count}`);
console.log(mismatches === 0 ? `${places.expected.size} sessions agree` : `${mismatches} mismatches in ${places.expected.size} sessions`);
process.exitCode = mismatches === 0 ? 0 : 1;

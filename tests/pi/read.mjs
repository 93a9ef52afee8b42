// read.mjs PATHS_FILE OUT.jsonl [--pi 1.6|0.83] [--brief]: how the real pi reads the sessions listed, one path a line.

import { closeSync, openSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { describe, lines, loadPi, PI_OPTION, readArgs } from "./lib.mjs";

const args = readArgs(["PATHS_FILE", "OUT"], { ...PI_OPTION, brief: { type: "boolean", default: false } });
const pi = await loadPi(args.pi);
const out = openSync(args.OUT, "w");
let failed = 0;
for (const { bytes } of lines(args.PATHS_FILE)) {
  const path = bytes.toString().replace(/\r$/, "");
  if (path === "") continue;
  let view;
  try {
    view = await describe(pi, path, args);
  } catch (error) {
    failed += 1;
    view = { path: resolve(path), error: error.message };
    console.error(`${path}: ${error.message}`);
  }
  writeSync(out, `${JSON.stringify(view)}\n`);
}
closeSync(out);
process.exitCode = failed > 0 ? 1 : 0;

// append.mjs PATH COUNT [--pi 1.6|0.83] [--bytes N] [--delay MS] [--wait-go]: the real pi appends, and says what it has acknowledged.

import { existsSync, readSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadPi, PI_OPTION, readArgs, repo083 } from "./lib.mjs";

const args = readArgs(["PATH", "COUNT"], {
  ...PI_OPTION,
  bytes: { type: "string", default: "100" },
  delay: { type: "string", default: "0" },
  "wait-go": { type: "boolean", default: false },
});

/** Opens an existing session; pi would quietly make a new one where there is none. */
async function open(pi, path) {
  if (!existsSync(path)) throw new Error(`no session at ${path}`);
  return pi.version === "1.6" ? pi.SessionManager.open(path) : repo083(pi, dirname(path)).open({ path });
}

function message(k, bytes) {
  const text = `pi-${k} `.padEnd(bytes, "abcdefghijklmnopqrstuvwxyz ");
  const content = [{ type: "text", text }];
  const timestamp = Date.now();
  if (k % 2 === 0) return { role: "user", content, timestamp };
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost };
  return { role: "assistant", content, api: "some-api", provider: "pi", model: "m", usage, stopReason: "stop", timestamp };
}

/** Blocks until a whole line (or the end) of stdin has come. */
function waitForLine() {
  const byte = Buffer.alloc(1);
  while (readSync(0, byte, 0, 1, null) === 1 && byte[0] !== 10);
}

const session = await open(await loadPi(args.pi), resolve(args.PATH));
if (args["wait-go"]) {
  writeSync(2, "ready\n");
  waitForLine();
}
for (let k = 0; k < Number(args.COUNT); k++) {
  const id = await session.appendMessage(message(k, Number(args.bytes)));
  writeSync(1, `${id}\n`);
  if (Number(args.delay) > 0) await sleep(Number(args.delay));
}

// append.mjs PATH COUNT [--pi 1.6|0.83] [--bytes N] [--delay MS] [--wait-go] [--each] [--random SEED]: the real pi appends,
// and says what it has acknowledged.

import { existsSync, readSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Content } from "./content.mjs";
import { lines, loadPi, PI_OPTION, Random, readArgs, repo083 } from "./lib.mjs";
import { Writer083 } from "./write083.mjs";
import { Writer16 } from "./write16.mjs";

const args = readArgs(["PATH", "COUNT"], {
  ...PI_OPTION,
  bytes: { type: "string", default: "100" },
  delay: { type: "string", default: "0" },
  "wait-go": { type: "boolean", default: false },
  each: { type: "boolean", default: false },
  random: { type: "string" },
});
const pi = await loadPi(args.pi);
const random = new Random(Number(args.random ?? 0));

/** Opens an existing session; pi would quietly make a new one where there is none. */
async function open(path) {
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

/** What generate.mjs does to a session, COUNT times. */
async function doRandomThings(session) {
  const content = new Content(random, { nullContent: pi.version === "1.6" });
  const Writer = pi.version === "1.6" ? Writer16 : Writer083;
  try {
    await new Writer(session, random, content, false).run(Number(args.COUNT));
  } catch (error) {
    // 0.83 refuses to walk past a parent that stayed behind in a fork.
    if (error.code !== "invalid_session") throw error;
  }
}

async function appendMessages(session, acknowledge) {
  for (let k = 0; k < Number(args.COUNT); k++) {
    acknowledge(await session.appendMessage(message(k, Number(args.bytes))));
    if (Number(args.delay) > 0) await sleep(Number(args.delay));
  }
}

/** One line for each session: its path and, for messages, their ids. */
async function appendToEach(paths) {
  for (const path of paths) {
    const session = await open(path);
    const ids = [];
    await (args.random === undefined ? appendMessages(session, (id) => ids.push(id)) : doRandomThings(session));
    writeSync(1, `${JSON.stringify({ path, ids })}\n`);
  }
}

if (args.each) {
  await appendToEach([...lines(args.PATH)].map(({ bytes }) => bytes.toString()).filter((path) => path !== ""));
} else {
  const session = await open(resolve(args.PATH));
  if (args["wait-go"]) {
    writeSync(2, "ready\n");
    waitForLine();
  }
  await (args.random === undefined ? appendMessages(session, (id) => writeSync(1, `${id}\n`)) : doRandomThings(session));
}

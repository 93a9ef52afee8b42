// What the generated sessions say: texts, numbers and messages that a careless reader or writer would change.

const WORDS = "build the parser and run every test before a commit because one old branch still fails on big files".split(" ");

const ODD = [
  "\ud800", "\udc00", "\udfff\ud83d", "x\ud83d", "\ude00y", "\u0000", "\u0001\u001b[31m\u001f", "\t\b\f", "\r\n", "\r", "\n\n",
  "\u007f", "a\u0085b", "\u2028", "\u2029", "a\ufeffb", "\ufffd", "\u00a0", "😀", "👩‍👩‍👧‍👦", "漢字とかな", "한국어", "e\u0301", "\u202eright to left",
  '"quoted\\"', "\\u0000", "\\ud83d", "</summary>", "```", '{"type":"leaf","targetId":null}', '","prev":"00000000","crc":"00000000"}', "<&>'/",
];

const NUMBERS = [
  0, -0, 1, -1, 0.1, 1e21, 1e-7, 2 ** 53, 2 ** 53 + 2, -(2 ** 53), 5e-324, Number.MAX_VALUE, 123456789012345680000, 0.30000000000000004, NaN,
];

const MODELS = [["anthropic", "model-x"], ["openai", "gpt-y:high"], ["local/llama", "模型-8b"], ["google", "gemini z"]];
const TOOLS = ["read", "bash", "edit", "write", "grep"];
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const START_MS = Date.UTC(2025, 0, 1);

/** Draws contents for one session. `longBytes` is spent by the first text that is asked for. */
export class Content {
  constructor(random, { longBytes = 0, nullContent = false } = {}) {
    this.random = random;
    this.longBytes = longBytes;
    this.nullContent = nullContent;
    this.clock = START_MS + random.below(1e10);
    this.calls = [];
  }

  words(limit = 8) {
    return Array.from({ length: 1 + this.random.below(limit) }, () => this.random.pick(WORDS)).join(" ");
  }

  /** Words with odd fragments between them, at the edges too. */
  text() {
    const parts = [];
    for (let i = this.random.below(4); i >= 0; i--) {
      parts.push(this.words());
      if (this.random.chance(0.5)) parts.splice(this.random.below(parts.length + 1), 0, this.random.pick(ODD));
    }
    const text = parts.join(this.random.pick(["", " "]));
    const repeat = Math.ceil(this.longBytes / (text.length + 1));
    this.longBytes = 0;
    return repeat > 1 ? `${text} `.repeat(repeat) : this.random.chance(0.03) ? "" : text;
  }

  /** A label or name on one line, with no white space at its edges by anybody's definition. */
  title() {
    const odd = this.random.chance(0.4) ? this.random.pick(ODD.filter((part) => !/[\r\n]/.test(part))) : " ";
    return `${this.random.pick(WORDS)}${odd}${this.random.pick(WORDS)}`;
  }

  /** White space as JavaScript's trim sees it (U+FEFF is, U+0085 is not), around or instead of a title. */
  spacedTitle() {
    const space = () => this.random.pick(["", " ", "  ", "\t", "\u00a0", "\ufeff", "\u0085", "\u3000", "\u2028"]);
    return space() + (this.random.chance(0.15) ? "" : this.title()) + space();
  }

  number() {
    return this.random.chance(0.5) ? this.random.pick(NUMBERS) : this.random.below(100000);
  }

  json(depth = 0) {
    const kind = this.random.below(depth > 2 ? 4 : 6);
    if (kind === 0) return this.text();
    if (kind === 1) return this.number();
    if (kind === 2) return this.random.pick([null, true, false]);
    if (kind === 3) return { id: this.words(1), type: this.random.pick(["leaf", "session", "x"]), parentId: null };
    const values = Array.from({ length: this.random.below(4) }, () => this.json(depth + 1));
    if (kind === 4) return values;
    return Object.fromEntries(values.map((value, i) => [this.random.pick(["a", "键", "", "crc", "id", `${i}`]), value]));
  }

  now() {
    return (this.clock += 1 + this.random.below(90000));
  }

  model() {
    const [provider, modelId] = this.random.pick(MODELS);
    return { provider, modelId };
  }

  usage() {
    const [input, output, cacheRead, cacheWrite] = Array.from({ length: 4 }, () => this.random.below(50000));
    const total = this.random.pick([0, 0.1, 1e-7, 0.30000000000000004, 12.5]);
    return { input, output, cacheRead, cacheWrite, totalTokens: input + output, cost: { input: 0, output: total, total } };
  }

  tools() {
    return TOOLS.filter(() => this.random.chance(0.5));
  }

  blocks() {
    const block = () =>
      this.random.chance(0.2)
        ? { type: "image", data: PIXEL, mimeType: "image/png" }
        : { type: "text", text: this.text() };
    return Array.from({ length: this.random.below(4) }, block);
  }

  content() {
    return this.random.chance(0.5) ? this.text() : this.blocks();
  }

  /** Null or missing content, as old and hand-edited files have it. */
  maybeNull(message, probability = 0.06) {
    if (!this.nullContent || !this.random.chance(probability)) return message;
    const { content: _, ...bare } = message;
    return this.random.chance(0.5) ? bare : { ...message, content: null };
  }

  /** A message of a role drawn from {role: weight}. */
  message(weights) {
    const role = this.random.weighted(weights);
    return this[role]?.() ?? { role, content: this.content(), note: this.json(), timestamp: this.now() };
  }

  user() {
    return this.maybeNull({ role: "user", content: this.content(), timestamp: this.now() });
  }

  assistant() {
    const { provider, modelId: model } = this.model();
    const content = Array.from({ length: this.random.below(4) }, () => this.assistantBlock());
    const stopReason = this.random.pick(["stop", "toolUse", "error", "aborted"]);
    const head = { role: "assistant", content, api: "some-api", provider, model, usage: this.usage(), stopReason };
    const error = stopReason === "error" ? { errorMessage: this.text() } : {};
    return this.maybeNull({ ...head, ...error, timestamp: this.now() });
  }

  assistantBlock() {
    const kind = this.random.below(3);
    if (kind === 0) return { type: "text", text: this.text() };
    if (kind === 1) return { type: "thinking", thinking: this.text(), thinkingSignature: "c2ln" };
    const call = { type: "toolCall", id: `call_${this.random.below(1e9)}`, name: this.random.pick(TOOLS), arguments: { value: this.json() } };
    this.calls.push(call);
    return call;
  }

  toolResult() {
    const call = this.calls.pop() ?? { id: "call_0", name: "read" };
    const result = { role: "toolResult", toolCallId: call.id, toolName: call.name, content: this.blocks() };
    return this.maybeNull({ ...result, details: this.json(), isError: this.random.chance(0.2), timestamp: this.now() });
  }

  bashExecution() {
    const output = this.random.chance(0.2) ? "" : this.text();
    const message = { role: "bashExecution", command: this.text(), output, exitCode: this.random.pick([0, 1, -1, 137, null, undefined]) };
    const truncated = this.random.chance(0.3);
    const full = truncated && this.random.chance(0.7) ? { fullOutputPath: "/tmp/out put.log" } : {};
    const flag = this.random.chance(0.3) ? { excludeFromContext: this.random.chance(0.7) } : {};
    return { ...message, cancelled: this.random.chance(0.2), truncated, ...full, timestamp: this.now(), ...flag };
  }

  system() {
    const sections = this.random.chance(0.4) ? { sections: { rules: this.text(), date: this.random.pick([null, "today"]) } } : {};
    const added = this.tools().map((name) => ({ name, description: this.text(), parameters: { type: "object" } }));
    const removed = this.tools().map((name) => ({ name }));
    const tools = this.random.chance(0.4) ? { toolsAdded: added, toolsRemoved: removed } : {};
    return this.maybeNull({ role: "system", content: this.content(), ...sections, ...tools, timestamp: this.now() }, 0.3);
  }

  custom() {
    const message = { role: "custom", customType: "扩展", content: this.content(), display: this.random.chance(0.5) };
    return this.maybeNull({ ...message, details: this.json(), timestamp: this.now() }, 0.1);
  }
}

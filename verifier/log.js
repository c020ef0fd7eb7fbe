/**
 * A whole log, exported as JSON Lines, verified event by event (docs/reference/log-export.md).
 */

import { concat, fromBase64, hex, sameBytes, textOf, uint64, utf8 } from "./bytes.js";
import { Coup, Fault } from "./coup.js";
import { eventId, fault, isTable, readEvent } from "./envelope.js";
import { Tree } from "./merkle.js";
import { cosignedAt, isBoundTo, isSignedBy, parseCheckpoint, parseKey } from "./note.js";
import { parseRulebook } from "./rulebook.js";
import { sha256 } from "./sha256.js";
import { contradiction, parseProfile } from "./wire.js";

export const FORMAT = "baccarat-log/1";
const UNSIGNED_MS = 5 * 60 * 1000;
const CHIPS = /^(chips|float|drop)_/;
const MONEY = /^(coup_(settled|voided)$|wager_corrected$|commission_|(chips|float|drop)_)/;
/** Reports that decide about cards and results: each is in the shoe's bytes. */
const OF_A_FRAME = /^(burn_card|card_(carried_over|drawn|out_of_game|revealed|unreadable)|cut_card|device_result|first_card|round_forced_end)$/;
const CHAIN = utf8("bac/event/1");
/** First key of a line to the method that takes it, and the fields that this reads. */
const LINES = {
  position: ["event", { position: "integer", bytes: "string", hash: "string" }],
  edition: ["edition", { edition: "=rulebook|=profile", hash: "string", text: "string|null" }],
  checkpoint: ["stored", { checkpoint: "string" }],
  end: ["end", { end: "integer", root: "string" }],
  format: ["begin", { format: "string", origin: "string", events: "integer" }],
};

/** @param {string} text the first line @returns {boolean} whether this means to be an exported log */
export function isExport(text) {
  return text.startsWith('{"format":"baccarat-log/');
}

/** Say that the log is wrong at a position, or as a whole. */
function wrong(reason, position = null) {
  throw new Fault("log", reason, position);
}

/**
 * @typedef {{name: string, checkpoint: import("./note.js").Checkpoint}} Kept a checkpoint from elsewhere
 */

/** Takes the lines of an export in their order. After a `Fault` it takes no more. */
export class LogVerifier {
  /**
   * @param {{keys?: import("./note.js").Key[], kept?: Kept[], witnesses?: import("./note.js").Key[], onCoup?: Function}} options
   */
  constructor({ keys = [], kept = [], witnesses = [], onCoup = null } = {}) {
    Object.assign(this, { keys, kept, witnesses, onCoup });
    this.header = null;
    this.lines = 0;
    this.tree = new Tree();
    this.head = null;
    /** The chain's hash at the event before the newest. */
    this.chain = null;
    this.ended = false;
    /** Checkpoints with what the tree was at their size. */
    this.checkpoints = [];
    this.announced = [];
    this.editions = { rulebook: new Map(), profile: new Map() };
    this.coups = new Map();
    /** The id of each rulebook that an event cites, by its hash. */
    this.cited = new Map();
    /** Whether an event named a currency: since then every event about money does. */
    this.isNamed = false;
    /** The newest transaction: a run of events of one cause. */
    this.cause = { text: null, begins: 0 };
    this.requests = new Set();
    this.report = null;
    /** Position, time, type and transaction of each event by which money or chips move. */
    this.money = [];
    this.newest = "";
    /** The coups that the newest transaction pays or voids, and whether it moves chips. */
    this.paid = new Set();
    this.counts = { settlements: 0, commissions: 0, decoded: 0, not_decoded: 0, not_judged: 0, known_faults: {} };
    this.pendingKept = [...kept].sort((one, other) => one.checkpoint.size - other.checkpoint.size);
  }

  /** @param {string} text a line without its end; throws a `Fault` */
  line(text) {
    this.lines += 1;
    let row;
    try {
      row = JSON.parse(text);
    } catch {
      this.wrongLine("no JSON");
    }
    if (!isTable(row)) this.wrongLine("no JSON object");
    if (this.ended) this.wrongLine("behind the end");
    const kind = Object.keys(LINES).find((name) => name in row && (name === "format") === !this.header);
    if (!kind) this.wrongLine("of no known kind");
    const [take, fields] = LINES[kind];
    const found = Object.fromEntries(Object.entries(row).filter(([name]) => Object.hasOwn(fields, name)));
    const what = fault(found, fields);
    if (what) this.wrongLine(what);
    this[take](found);
  }

  /** Say that the newest line is wrong. */
  wrongLine(reason) {
    wrong(`line ${this.lines}: ${reason}`, this.tree.size + 1);
  }

  begin(row) {
    if (row.format !== FORMAT) wrong(`${row.format}; this verifier reads ${FORMAT}`);
    this.header = row;
    this.head = sha256(utf8(row.origin));
    this.chain = this.head;
    const other = this.kept.find(({ checkpoint }) => checkpoint.origin !== row.origin);
    if (other) wrong(`${other.name}, is a checkpoint of ${other.checkpoint.origin}, not of ${row.origin}`);
  }

  event({ position, bytes, hash }) {
    const due = this.tree.size + 1;
    if (position !== due) wrong(position > due ? "missing" : "out of order", due);
    let event;
    let data;
    try {
      data = fromBase64(bytes);
      this.head = sha256(concat(CHAIN, this.head, uint64(data.length)), data);
      if (hex(this.head) !== hash) wrong("the hash chain breaks here", position);
      event = readEvent(textOf(data), { stream: this.header.origin, position });
    } catch (error) {
      throw error instanceof Fault ? error : new Fault("log", error.message, position);
    }
    this.checkId(event);
    if (event.type === "books_closed") this.checkBooks(event.data, position);
    this.chain = this.head;
    this.tree.add(data);
    this.compareKept();
    this.judge(event);
  }

  /** An event's id follows from its cause and its place in the transaction; no request comes back. */
  checkId({ actor, cause, event_id: id, position }) {
    if (cause !== this.cause.text) {
      this.cause = { text: cause, begins: position };
      this.paid = new Set();
      if (this.requests.has(cause)) wrong(`its request ${cause} was carried out before`, position);
      if (actor !== "shoe" && actor !== "core") this.requests.add(cause);
    }
    if (eventId(cause, position - this.cause.begins) !== id) wrong("its id does not follow from its cause", position);
  }

  edition({ edition, hash, text }) {
    if (text === null) return;
    if (hex(sha256(utf8(text))) !== hash) wrong(`the ${edition} of hash ${hash} has another hash`, this.tree.size + 1);
    try {
      this.editions[edition].set(hash, edition === "rulebook" ? parseRulebook(text) : parseProfile(text));
    } catch (error) {
      wrong(`the ${edition} of hash ${hash}: ${error.message}`, this.tree.size + 1);
    }
  }

  /** Judge one event within the log. */
  judge(event) {
    const { type, data, position, at } = event;
    this.newest = at;
    if (MONEY.test(type)) this.money.push({ position, at, begins: this.cause.begins, type });
    if (CHIPS.test(type)) checkChips(data, position);
    if (CHIPS.test(type) || type === "coup_settled" || type === "coup_voided") this.checkOne(type, data, position);
    if (type === "checkpoint_key_changed") this.announced.push({ position, key: parseKey(data.key) });
    if (data.rulebook_hash) this.cited.set(data.rulebook_hash, data.rulebook);
    if (type === "rulebook_adopted" || type.startsWith("commission_")) this.checkCurrency(event);
    if (type === "shoe_reported") {
      this.report = event;
      this.decode(data.source, position);
    }
    if (type.startsWith("commission_")) this.counts.commissions += 1;
    const id = event.correlation;
    if (!id) return;
    const coup = this.coups.get(id) ?? this.newCoup(id);
    coup.report = this.report;
    coup.take(event);
    this.onCoup?.(id, event, this.report);
    if (type === "coup_settled") this.counts[coup.rules ? "settlements" : "not_judged"] += 1;
  }

  /** Only an old build names no currency; and a rulebook is in its own. */
  checkCurrency({ type, data, position }) {
    if (!data.currency && (this.isNamed || "currency" in data)) wrong(`${type}: it names no currency, in the log of a build that does`, position);
    this.isNamed ||= Boolean(data.currency);
    const rules = type === "rulebook_adopted" && this.editions.rulebook.get(data.rulebook_hash);
    if (rules && (rules.id !== data.rulebook || (data.currency ?? rules.currency) !== rules.currency)) {
      wrong(`${type}: it is ${rules.id} in ${rules.currency}`, position);
    }
  }

  /** One transaction pays or voids one coup, or moves chips once. */
  checkOne(type, { coup }, position) {
    this.paid.add(coup ?? `${type} ${position}`);
    if (this.paid.size > 1) wrong(`${type}: one transaction pays or voids one coup, or moves chips once`, position);
  }

  newCoup(id) {
    const coup = new Coup(id, this.header.origin.split("/")[1], (hash) => this.editions.rulebook.get(hash) ?? null);
    coup.debts = new Map();
    this.coups.set(id, coup);
    return coup;
  }

  /** Read the shoe's bytes again by their profile. */
  decode(source, position) {
    if (!source.raw && !OF_A_FRAME.test(source.report.kind)) return;
    const profile = this.editions.profile.get(source.profile_hash);
    if (!profile) {
      this.counts.not_decoded += 1;
      return;
    }
    this.counts.decoded += 1;
    const said = contradiction(source, profile);
    if (said !== null) wrong(`the shoe's bytes say ${said}, and ${JSON.stringify(source.report)} was recorded`, position);
  }

  /** Books that were closed name size, chain and peaks of the log before them. */
  checkBooks({ size, chain, peaks }, position) {
    const ours = this.tree.peaks.map(({ hash }) => hex(hash));
    if (size !== position - 1 || chain !== hex(this.chain) || peaks.join() !== ours.join()) {
      wrong("the books that were closed are not those of the log before them", position);
    }
  }

  stored({ checkpoint: text }) {
    let checkpoint;
    try {
      checkpoint = parseCheckpoint(text);
    } catch (error) {
      wrong(`the checkpoint stored at ${this.tree.size}: ${error.message}`);
    }
    const name = `the checkpoint stored at ${checkpoint.size}`;
    if (checkpoint.origin !== this.header.origin) wrong(`${name} is of ${checkpoint.origin}, not of ${this.header.origin}`);
    if (checkpoint.size > this.tree.size) wrong("missing, but a checkpoint covers it", this.tree.size + 1);
    if (checkpoint.size < this.tree.size) wrong(`${name} stands elsewhere`);
    if (!sameBytes(checkpoint.root, this.tree.root())) wrong(`${name} has another root: rewritten`, this.agreedTo() + 1);
    this.checkpoints.push({ name, checkpoint });
  }

  /** Compare checkpoints from elsewhere whose size the log has reached. */
  compareKept() {
    while (this.pendingKept[0]?.checkpoint.size === this.tree.size) {
      const kept = this.pendingKept.shift();
      if (!sameBytes(kept.checkpoint.root, this.tree.root())) wrong(`${kept.name}, has another root: rewritten`, this.agreedTo() + 1);
      this.checkpoints.push(kept);
    }
  }

  /** @returns {number} the largest size of a checkpoint that agrees */
  agreedTo() {
    return Math.max(0, ...this.checkpoints.slice(-1).map(({ checkpoint }) => checkpoint.size));
  }

  end({ end, root }) {
    this.ended = true;
    const { size } = this.tree;
    if (end !== size || this.header.events !== size) wrong("missing, but the export counts it", size + 1);
    if (hex(this.tree.root()) !== root) wrong("the root is not that of the events");
    if (this.pendingKept.length) wrong(`missing, but ${this.pendingKept[0].name}, covers ${this.pendingKept[0].checkpoint.size} events`, size + 1);
    for (const coup of this.coups.values()) coup.endTransaction(null);
  }

  /** @param {number} size @returns {object|undefined} the key that signs there */
  inForce(size) {
    return this.announced.filter(({ position }) => position <= size).at(-1)?.key;
  }

  /** Verify the signatures. @returns {Promise<{signedTo: number, keys: string[]}>} */
  async signatures() {
    if (this.keys.length && !this.checkpoints.length) wrong("it has no checkpoint, so that the key that was given proves nothing");
    const known = new Map([...this.keys, ...this.announced.map(({ key }) => key)].map((key) => [key.text, key]));
    const rows = [];
    for (const row of this.checkpoints) rows.push({ ...row, signers: await this.signersOf(row, known) });
    const believed = this.believe(rows);
    let signedTo = 0;
    const used = new Set();
    for (const { name, checkpoint, signers } of rows) {
      const counting = signers.filter((text) => believed.has(text) && this.signsAt(text, checkpoint.size));
      if (!counting.length) wrong(`${name} is signed by no key that ${this.keys.length ? "was given or vouched for" : "this log announced"} and is in force there`);
      signedTo = Math.max(signedTo, checkpoint.size);
      counting.forEach((text) => used.add(text));
    }
    for (const witness of this.witnesses) await this.checkWitness(witness);
    return { signedTo, keys: [...used] };
  }

  /** @returns {boolean} whether a key signs at that size: the one in force, or any before the first announcement */
  signsAt(text, size) {
    return (this.inForce(size)?.text ?? text) === text;
  }

  /** @returns {Promise<string[]>} the known keys that signed it rightly */
  async signersOf({ name, checkpoint }, known) {
    const signers = [];
    for (const key of known.values()) {
      if (!isBoundTo(key, this.header.origin)) continue;
      const signed = await isSignedBy(checkpoint.note, key);
      if (signed === false) wrong(`${name} is badly signed: the signature of ${key.name} is wrong`);
      if (signed) signers.push(key.text);
    }
    return signers;
  }

  /** @returns {Set<string>} keys given, and those that they vouch for; without any, those that the log names */
  believe(rows) {
    if (!this.keys.length) return new Set(this.announced.map(({ key }) => key.text));
    const believed = new Set(this.keys.map((key) => key.text));
    for (let before = -1; before !== believed.size; ) {
      before = believed.size;
      for (const { checkpoint, signers } of rows) {
        if (!this.vouches(believed, checkpoint.size, signers)) continue;
        for (const { position, key } of this.announced) if (position <= checkpoint.size) believed.add(key.text);
      }
    }
    return believed;
  }

  /** @returns {boolean} whether a believed key signs in force, or as the one just before next to its successor */
  vouches(believed, size, signers) {
    const [before, now] = [undefined, ...this.announced.filter(({ position }) => position <= size)].slice(-2).map((row) => row?.key.text);
    if (!signers.includes(now)) return false;
    return believed.has(now) || (believed.has(before) && signers.includes(before));
  }

  async checkWitness(witness) {
    for (const { checkpoint } of this.checkpoints) if ((await cosignedAt(checkpoint.note, witness)) !== null) return;
    wrong(`no checkpoint is cosigned by ${witness.name}`);
  }

  /** @returns {Promise<object>} as `baccarat log verify --json` prints it */
  async verdict() {
    if (!this.ended) wrong("the export was cut: it has no end", this.tree.size + 1);
    const { signedTo, keys } = await this.signatures();
    const unsigned = this.money.filter(({ position }) => position > signedTo);
    this.checkUnsigned(unsigned, signedTo);
    return {
      ok: true, events: this.tree.size, root: hex(this.tree.root()), first_bad: null, reason: null,
      signed_to: signedTo, keys, unsigned_settlements: unsigned.filter(({ type }) => type === "coup_settled").length,
      judged: this.counts, hand_overs: this.handOvers(),
      rulebooks: [...this.cited].map(([hash, id]) => ({ id, hash })),
    };
  }

  /** @returns {object[]} each change of the key that signs */
  handOvers() {
    const rows = this.announced.map(({ position, key }, i) => ({ position, before: this.announced[i - 1]?.key.text, after: key.text }));
    return rows.filter(({ before, after }) => before !== undefined && before !== after);
  }

  /** A kill leaves the money of one transaction unsigned, and little after it; with a key given, more is a no. */
  checkUnsigned([first, ...more], signedTo) {
    if (!this.keys.length || !first) return;
    const isNear = (at) => Math.abs(Date.parse(at) - Date.parse(first.at)) <= UNSIGNED_MS;
    if (more.every(({ at, begins }) => begins === first.begins && isNear(at)) && isNear(this.newest)) return;
    wrong(`unsigned: the signatures reach ${signedTo} of ${this.tree.size} events, and more money moved after them than a kill leaves`, first.position);
  }
}

/** The amount of an event about chips is the value of its pieces. */
function checkChips({ amount, chips, notes }, position) {
  const value = (chips ?? notes).reduce((sum, { denomination, pieces }) => sum + BigInt(denomination) * BigInt(pieces), 0n);
  if (value !== BigInt(amount)) wrong(`its pieces come to ${value}, not to ${amount}`, position);
}

/**
 * Verify an exported log.
 * @param {AsyncIterable<string>} lines
 * @param {object} options of `LogVerifier`
 * @returns {Promise<object>} the verdict, good or bad
 */
export async function verifyLog(lines, options) {
  const verifier = new LogVerifier(options);
  try {
    for await (const line of lines) verifier.line(line);
    return await verifier.verdict();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const events = verifier.header?.events ?? verifier.tree.size;
    return { ok: false, events, root: null, first_bad: error.position, reason: error.message };
  }
}

// A cage's book in JavaScript: each settlement once, and none missed.
//
// node cage_book.mjs BOOK HOST PORT bac/v1/SITE/TABLE    keep the book
// node cage_book.mjs BOOK                                print it, as JSON Lines
//
// The login's files: see mqtt.mjs. BUS_MESSAGE_KEY names the message key. BUS_USER is the user of
// the topics, `cage` if there is none.

import { randomUUID } from "node:crypto";
import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync } from "node:fs";
import { connect } from "./mqtt.mjs";
import { check, prove } from "./message_key.mjs";

const [path, host, port, root] = process.argv.slice(2);
const user = process.env.BUS_USER ?? "cage";
const key = process.env.BUS_MESSAGE_KEY;

// The file has a line for each event that we took: its position, and the settlement if it has one.
// A line is whole or, after a kill, has no line feed at its end: then it was never booked.
const stored = existsSync(path) ? readFileSync(path, "utf8") : "";
const whole = stored.slice(0, stored.lastIndexOf("\n") + 1);
const lines = whole.split("\n").filter(Boolean).map((line) => JSON.parse(line));

if (host === undefined) {
  const settled = new Map(
    lines.filter((line) => line.settlement).map(({ settlement }) => [settlement.settlement_id, settlement]),
  );
  const reversed = new Set([...settled.values()].map((each) => each.reverses));
  for (const { settlement_id, lines: wagers } of settled.values()) {
    if (reversed.has(settlement_id)) continue;
    for (const { seat, kind, stake, paid, commission } of wagers) {
      const row = { settlement_id, seat, staked: kind === "promo" ? 0 : stake, paid, commission };
      process.stdout.write(`${JSON.stringify(row)}\n`);
    }
  }
} else {
  if (whole.length < stored.length) truncateSync(path, Buffer.byteLength(whole));
  let here = lines.at(-1)?.position ?? 0;
  let asked = { from: 0, at: 0 };
  let newest = here; // the highest position that anybody has spoken of
  const file = openSync(path, "a");
  const request = (command, fields) => {
    const topic = `${root}/request/${user}/${command}`;
    const body = Buffer.from(JSON.stringify({ transaction: randomUUID(), ...fields }));
    publish(topic, key ? prove(key, topic, body) : body);
  };

  const received = (topic, payload) => {
    const answered = topic.startsWith(`${root}/response/`);
    const proved = key && answered ? check(key, topic, payload) : payload;
    if (proved === null) return; // nothing shows that the table sent it
    const said = JSON.parse(proved);
    if (topic === `${root}/response/${user}`) {
      if (said.result === "refused") process.stderr.write(`refused: ${said.code}: ${said.text}\n`);
      return;
    }
    if (said.position !== undefined && said.position <= here) return;
    // With a key, only a replay is proved: an event is a hint that there is something to ask for.
    const event = said.event_id !== undefined && (!key || answered);
    if (!event || said.position > here + 1) {
      newest = Math.max(newest, said.position ?? 0); // a heartbeat has none, and wakes us
      if (newest <= here) return;
      if (asked.from === here + 1 && Date.now() - asked.at < 2000) return;
      asked = { from: here + 1, at: Date.now() };
      request("replay", { from: here + 1 });
      return;
    }
    const { position, type, v, data } = said;
    if (type === "coup_settled" && v !== 1) throw new Error(`coup_settled has version ${v}`);
    const settlement = type === "coup_settled" ? data.settlement : undefined;
    appendFileSync(file, `${JSON.stringify({ position, settlement })}\n`);
    here = position;
    newest = Math.max(newest, here);
    if (settlement) {
      fsyncSync(file); // stored, and only then acknowledged
      request("ack", { consumer: "cage", position });
    }
  };
  const topics = ["event", "state", "status/table", `response/${user}`, `response/${user}/events`];
  const publish = connect(host, port, topics.map((topic) => `${root}/${topic}`), received);
  process.on("SIGTERM", () => {
    closeSync(file);
    process.exit();
  });
}

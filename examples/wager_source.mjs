// A source of wagers in JavaScript: one wager for each of two seats in every coup.
//
// node wager_source.mjs PLACED HOST PORT bac/v1/SITE/TABLE    PLACED is the file of what is placed
//
// The login's files: see mqtt.mjs. BUS_MESSAGE_KEY names the message key. BUS_USER is the user of
// the topics, `wagers` if there is none.

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { connect } from "./mqtt.mjs";
import { check, prove } from "./message_key.mjs";

const [path, host, port, root] = process.argv.slice(2);
const user = process.env.BUS_USER ?? "wagers";
const key = process.env.BUS_MESSAGE_KEY;
const placed = new Set(existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).placed : []);
const waiting = new Map(); // transaction to the body that has no answer yet
let last = ""; // the coup in which we have placed

const send = (body) => {
  const topic = `${root}/request/${user}/place_wager`;
  const bytes = Buffer.from(JSON.stringify(body));
  publish(topic, key ? prove(key, topic, bytes) : bytes); // a repeat gets a code of its own
};

const place = (coup, wagers) => {
  const body = { transaction: randomUUID(), coup, wagers };
  waiting.set(body.transaction, body);
  send(body);
};

const received = (topic, payload) => {
  if (topic === `${root}/state`) {
    const { coup, rulebook, refusals } = JSON.parse(payload);
    if (coup?.phase !== "betting" || refusals.place_wager || coup.id === last) return;
    last = coup.id;
    const wagers = ["player", "banker"].map((bet, index) => {
      const { minimum, step } = rulebook.bets.find((each) => each.id === bet);
      return { seat: index + 1, bet, stake: Math.ceil(minimum / step) * step };
    });
    place(coup.id, wagers);
    return;
  }
  const proved = key ? check(key, topic, payload) : payload;
  if (proved === null) return; // nothing shows that the table sent it
  const { transaction, result, code } = JSON.parse(proved);
  const body = waiting.get(transaction);
  if (body === undefined) return; // an answer that came before
  waiting.delete(transaction);
  if (result === "accepted" || result === "exists") {
    body.wagers.forEach((_, index) => placed.add(`${user}/${transaction}/${index}`));
    writeFileSync(`${path}.new`, JSON.stringify({ placed: [...placed] }));
    renameSync(`${path}.new`, path);
  } else if (code === "catching_up") {
    setTimeout(() => place(body.coup, body.wagers), 500);
  }
};

const topics = ["state", `response/${user}`].map((topic) => `${root}/${topic}`);
const publish = connect(host, port, topics, received);
setInterval(() => [...waiting.values()].forEach(send), 1000); // no answer: the same again

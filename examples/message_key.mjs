// Prove a request to the table, and check what the table answers, with Node's library alone.
//
// node message_key.mjs prove KEYFILE TOPIC < BODY       prints the message to publish on TOPIC
// node message_key.mjs check KEYFILE TOPIC < MESSAGE    prints the body; code 1 if it is not proved

import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";

/** The secrets by their ids, the newest first: `MESSAGEKEY name id secret until`. */
const keysIn = (path) =>
  new Map(
    readFileSync(path, "ascii")
      .trim()
      .split("\n")
      .map((line) => line.split(" "))
      .map(([, , id, secret]) => [id, Buffer.from(secret, "hex")]),
  );

const codeOf = (secret, topic, at, body) =>
  createHmac("sha256", secret).update(`v1\n${topic}\n${at}\n`).update(body).digest();

/** A JSON object with its code as the last field. */
export function prove(path, topic, body) {
  const [id, secret] = keysIn(path).entries().next().value;
  const at = Date.now();
  const code = codeOf(secret, topic, at, body).toString("hex");
  return Buffer.concat([body.subarray(0, -1), Buffer.from(`,"mac":"v1.${id}.${at}.${code}"}`)]);
}

/** The object as the table wrote it; null where nothing proves that it did. */
export function check(path, topic, message) {
  const found = /,"mac":"v1\.([0-9a-f]{8})\.([0-9]+)\.([0-9a-f]{64})"}$/.exec(
    message.toString("latin1"),
  );
  const secret = found && keysIn(path).get(found[1]);
  if (!secret) return null;
  const body = Buffer.concat([message.subarray(0, found.index), Buffer.from("}")]);
  const good = codeOf(secret, topic, found[2], body);
  return timingSafeEqual(good, Buffer.from(found[3], "hex")) ? body : null;
}

if (import.meta.filename === process.argv[1]) {
  const [what, path, topic] = process.argv.slice(2);
  const made = (what === "prove" ? prove : check)(path, topic, readFileSync(0));
  process.stdout.write(made ?? "");
  process.exitCode = made === null ? 1 : 0;
}

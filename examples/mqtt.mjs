// An MQTT 3.1.1 client on Node's library alone: TLS, login, QoS 1, and a new connection when one ends.
//
// At a site's broker the environment names the login and the files that `baccarat site add` hands
// over: BUS_LOGIN, BUS_PASSWORD_FILE, BUS_CA, BUS_CERT, BUS_KEY.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";

const text = (value) => {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
};

/** A packet: its first byte, the length of the rest in groups of seven bits, and the rest. */
const packet = (first, ...parts) => {
  const rest = Buffer.concat(parts);
  const head = [first];
  for (let left = rest.length; ; left >>= 7) {
    head.push((left & 127) | (left > 127 ? 128 : 0));
    if (left <= 127) return Buffer.concat([Buffer.from(head), rest]);
  }
};

const file = (name) => process.env[name] && readFileSync(process.env[name]);

/** Connect for ever; `received(topic, payload, retained)` gets every message. Returns `publish`. */
export function connect(host, port, topics, received) {
  let socket, ping, heard, id = 0;
  const login = process.env.BUS_LOGIN;
  const next = () => Buffer.from([(id = (id % 65535) + 1) >> 8, id & 255]);

  const take = (first, body) => {
    if (first >> 4 === 2) {
      if (body[1] !== 0) return socket.destroy(new Error(`the broker refused us: ${body[1]}`));
      socket.write(packet(0x82, next(), ...topics.flatMap((topic) => [text(topic), Buffer.from([1])])));
    } else if (first >> 4 === 3) {
      const end = 2 + body.readUInt16BE(0);
      const qos = (first >> 1) & 3;
      const payload = body.subarray(end + (qos ? 2 : 0)); // empty: a retained topic was cleared
      if (payload.length) received(body.toString("utf8", 2, end), payload, (first & 1) === 1);
      if (qos) socket.write(packet(0x40, body.subarray(end, end + 2)));
    }
  };

  const open = () => {
    const at = { host, port: Number(port) };
    const secrets = { ca: file("BUS_CA"), cert: file("BUS_CERT"), key: file("BUS_KEY") };
    socket = secrets.ca ? tls.connect({ ...at, ...secrets }) : net.connect(at);
    socket.setNoDelay(true);
    let buffered = Buffer.alloc(0);
    socket.on(secrets.ca ? "secureConnect" : "connect", () => {
      // 0x02: a clean session; 0x80 and 0x40: a name and a password follow. A ping each ten seconds.
      const flags = 0x02 | (login ? 0xc0 : 0);
      const secret = login && file("BUS_PASSWORD_FILE").toString().trim();
      socket.write(
        packet(0x10, text("MQTT"), Buffer.from([4, flags, 0, 20]), text(randomUUID().slice(0, 23)),
          ...(login ? [text(login), text(secret)] : [])),
      );
      heard = Date.now();
      ping = setInterval(() => {
        if (Date.now() - heard > 20_000) socket.destroy();
        else socket.write(packet(0xc0));
      }, 10_000);
    });
    socket.on("data", (data) => {
      heard = Date.now();
      buffered = Buffer.concat([buffered, data]);
      for (;;) {
        let length = 0, at = 1;
        do {
          if (at >= buffered.length) return;
          length += (buffered[at] & 127) << (7 * (at - 1));
        } while (buffered[at++] & 128);
        if (buffered.length < at + length) return;
        const [first, body] = [buffered[0], buffered.subarray(at, at + length)];
        buffered = buffered.subarray(at + length);
        take(first, body);
      }
    });
    socket.on("error", (error) => process.stderr.write(`${error.message}\n`));
    socket.on("close", () => {
      clearInterval(ping);
      setTimeout(open, 1000);
    });
  };
  open();
  return (topic, payload) =>
    socket.writable && socket.write(packet(0x32, text(topic), next(), Buffer.from(payload)));
}

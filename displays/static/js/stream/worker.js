// The worker that holds a login's event stream and passes it on to every page of the browser.
//
// A browser has six connections to one server. Each page would use one of them for its stream: with
// six pages open, a command would wait for ever.

import { EVENTS } from "./events.js";

const SILENCE_MS = 2500; // as long as a page waits before it opens its line again
const GONE_MS = 20000; // a page says three times in this time that it is there
const LOOK_MS = 5000;

const streams = new Map(); // the stream's address -> what is known of it

/** Open the stream of an address, in place of one that says nothing. */
function open(address, stream) {
  stream.source?.close();
  stream.heard = performance.now();
  const { id } = stream.newest.get("state") ?? {};
  stream.source = new EventSource(id ? `${address}?known=${encodeURIComponent(id)}` : address);
  for (const name of EVENTS) {
    stream.source.addEventListener(name, ({ data, lastEventId }) => {
      stream.heard = performance.now();
      const event = { name, data, id: lastEventId };
      if (name === "build" || name === "state") stream.newest.set(name, event);
      for (const port of stream.ports.keys()) port.postMessage(event);
    });
  }
  stream.source.addEventListener("error", () => {
    if (stream.source.readyState !== EventSource.CLOSED) return;
    for (const port of stream.ports.keys()) port.postMessage({ name: "closed" });
  });
}

/** Let a page listen to a stream; it gets the newest state at once, and beats as they come. */
function join(port, url) {
  const [address, query = ""] = url.split("?");
  const known = new URLSearchParams(query).get("known");
  const stream = streams.get(address) ?? { ports: new Map(), newest: new Map(), heard: 0, source: null };
  streams.set(address, stream);
  stream.ports.set(port, performance.now());
  const silent = performance.now() - stream.heard > SILENCE_MS;
  if (silent || stream.source.readyState === EventSource.CLOSED) {
    open(address, stream);
    return;
  }
  const { build, state } = Object.fromEntries(stream.newest);
  if (build) port.postMessage(build);
  if (state && state.id !== known) port.postMessage(state);
}

function leave(port) {
  for (const [address, stream] of streams) {
    stream.ports.delete(port);
    if (stream.ports.size) continue;
    stream.source?.close();
    streams.delete(address);
  }
}

/** Forget pages that are gone without a word. */
setInterval(() => {
  const now = performance.now();
  for (const { ports } of streams.values()) {
    for (const [port, alive] of ports) if (now - alive > GONE_MS) leave(port);
  }
}, LOOK_MS);

self.addEventListener("connect", ({ ports: [port] }) => {
  port.addEventListener("message", ({ data }) => {
    if (data.open) join(port, data.open);
    else if (data.close) leave(port);
    else for (const { ports } of streams.values()) if (ports.has(port)) ports.set(port, performance.now());
  });
  port.start();
});

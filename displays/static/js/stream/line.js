// One event stream for all pages of a browser: a line to the worker that holds the stream.
//
// It behaves as an EventSource does. A browser without shared workers gets an EventSource.

import { EVENTS } from "./events.js";

const WORKER = "/static/js/stream/worker.js";
const ALIVE_MS = 5000;

let unfit = typeof SharedWorker === "undefined"; // or it has failed to start

/**
 * Open a line.
 *
 * @param {string} url of the stream, with what the page knows.
 * @param {string} session pages of another login have a worker of their own.
 */
export function openLine(url, session) {
  return unfit || !session ? new EventSource(url) : new SharedLine(url, session);
}

class SharedLine extends EventTarget {
  constructor(url, session) {
    super();
    this.readyState = EventSource.CONNECTING;
    const worker = new SharedWorker(WORKER, { type: "module", name: session });
    worker.addEventListener("error", () => {
      unfit = true;
      this.close();
    });
    this.port = worker.port;
    this.port.addEventListener("message", ({ data: { name, data, id } }) => {
      if (name === "closed") this.readyState = EventSource.CLOSED;
      else if (EVENTS.includes(name)) this.dispatchEvent(new MessageEvent(name, { data, lastEventId: id }));
    });
    this.port.start();
    this.port.postMessage({ open: url });
    this.alive = setInterval(() => this.port.postMessage({ alive: true }), ALIVE_MS);
    this.leaving = () => this.close();
    addEventListener("pagehide", this.leaving);
  }

  /** Close the line; the worker closes the stream with its last line. */
  close() {
    this.readyState = EventSource.CLOSED;
    clearInterval(this.alive);
    removeEventListener("pagehide", this.leaving);
    this.port.postMessage({ close: true });
    this.port.close();
  }
}

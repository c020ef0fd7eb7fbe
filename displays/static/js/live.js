// A page's event stream: the newest state, and whether the page may show it as live. Reads only the
// page's visibility from the DOM.
//
// The server sends a beat once a second. A watchdog reports a loss after SILENCE_MS of silence,
// because a half-open connection reports nothing. The page then opens a connection every AGAIN_MS
// until one delivers. Several attempts may run at a time: a new one notices a network that is back,
// and a slow one has its time. Each attempt names the state that the page has.
//
// After a freeze of the page or a sleep of the machine, the browser delivers old messages as new.
// The page drops them together with their connection.
//
// A browser has six connections to one server for all its pages, and a stream uses one of them. A
// hidden page therefore has none, and the pages of a login share one (stream/line.js).

import { forgetClock, setClock } from "./stream/clock.js";
import { openLine } from "./stream/line.js";
import { parseShown } from "./shown.js";

export const SILENCE_MS = 2500;
const LOOK_MS = 200;
const AGAIN_MS = 500;
const LINES_MOST = 4;
const LOG_IN = 401;

/**
 * Read a stream for the life of the page.
 *
 * @param {string} url `/events`, or `/console/events` for people who are logged in.
 * @param {object} to
 * @param {(state: object) => void} to.onState a newer state; may come before it is live.
 * @param {(health: {live: boolean, reason: string, betting_ms: number|null}) => void} to.onHealth
 *     with every beat, and when the watchdog fires (`reason` "server").
 * @param {(build: string) => void} [to.onBuild] the build of the server's files.
 * @param {() => void} [to.onBye] the server ended the stream because the login is over.
 * @param {(left: ?{left_s: number, renewable: boolean}) => void} [to.onLogin] the login is about to
 *     end; null when it goes on after all.
 * @param {string} [session] the login whose pages share one stream; without it the page has its own.
 * @returns {() => () => void} closes the stream to free a connection; its result opens it again.
 */
export function watch(
  url,
  { onState, onHealth, onBuild = () => {}, onBye = () => {}, onLogin = () => {} },
  session = "",
) {
  let lines = []; // those that may speak, the newest last; one once it has
  let heard = performance.now(); // when the server last said something
  let awake = Date.now(); // when this page last ran; this clock goes on in a machine that sleeps
  let tried = 0;
  let silent = false;
  let known = "";
  let makingRoom = false;

  const open = () => {
    tried = performance.now();
    const line = openLine(known ? `${url}?known=${encodeURIComponent(known)}` : url, session);
    lines.push(line);
    if (lines.length > LINES_MOST) lines.shift().close();
    const on = (name, take) =>
      line.addEventListener(name, (event) => {
        if (!lines.includes(line) || woke()) return;
        heard = performance.now();
        keep(line);
        take(event);
      });
    on("build", ({ data }) => {
      forgetClock();
      onBuild(data);
    });
    on("state", ({ data, lastEventId }) => {
      onState(parseShown(data));
      known = lastEventId;
    });
    on("beat", ({ data }) => {
      silent = false;
      const health = parseShown(data);
      setClock(health.clock_ms);
      onHealth(health);
    });
    on("login", ({ data }) => onLogin(JSON.parse(data)));
    on("bye", end);
  };

  /** Close all connections but one, or all. */
  const keep = (line) => {
    for (const each of lines) if (each !== line) each.close();
    lines = line ? [line] : [];
  };

  const lose = () => {
    if (silent) return;
    silent = true;
    onHealth({ live: false, reason: "server", betting_ms: null });
  };

  /** Return whether the page was frozen; if so, start again. */
  const woke = () => {
    const gap = Date.now() - awake;
    awake += gap;
    if (gap <= SILENCE_MS) return false;
    lose();
    keep(null);
    onSeen();
    return true;
  };

  const end = () => {
    clearInterval(looking);
    document.removeEventListener("visibilitychange", onSeen);
    keep(null);
    onBye();
  };

  /** Check whether a server that sends no stream has ended the login. */
  const ask = async () => {
    const signal = AbortSignal.timeout(SILENCE_MS);
    const answer = await fetch(url, { method: "HEAD", signal }).catch(() => null);
    if (answer?.status === LOG_IN) end();
  };

  const look = () => {
    const now = performance.now();
    if (woke() || now - heard <= SILENCE_MS) return;
    lose();
    if (makingRoom || document.hidden || now - tried <= AGAIN_MS) return;
    if (lines.at(-1)?.readyState === EventSource.CLOSED) ask();
    open();
  };

  const onSeen = () => {
    if (document.hidden) keep(null);
    else if (!lines.length) open();
  };

  onSeen();
  document.addEventListener("visibilitychange", onSeen);
  const looking = setInterval(look, LOOK_MS);
  return () => {
    makingRoom = true;
    keep(null);
    return () => {
      makingRoom = false;
      onSeen();
    };
  };
}

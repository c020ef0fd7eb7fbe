// A page's line to the server: the newest state, and whether it may be shown as live. Of the DOM it
// asks whether anybody sees the page.
//
// The server beats once a second. Silence is told as a loss after SILENCE_MS, by our own watchdog,
// because a half-open connection says nothing. Then a line is opened every AGAIN_MS until one says
// something; a few may be under way at a time, so that a network that is back is noticed at once,
// and one that is merely slow has its time. Each says which state the page has.
//
// A page that was frozen, or a machine that slept, finds on its return what was sent to it before.
// That is old and would be read as new, so it is thrown away with its line.
//
// A browser has six connections to one server for all its pages, and a line takes one for itself: a
// page that nobody sees has none.

export const SILENCE_MS = 2500;
const LOOK_MS = 200;
const AGAIN_MS = 500;
const LINES_MOST = 4;
const LOG_IN = 401;

/**
 * Watch a stream until the page goes.
 *
 * @param {string} url `/events`, or `/console/events` for people who are logged in.
 * @param {object} to
 * @param {(state: object) => void} to.onState a newer state; may come before it is live.
 * @param {(health: {live: boolean, reason: string, betting_ms: number|null}) => void} to.onHealth
 *     with every beat, and when the watchdog fires (`reason` "server").
 * @param {(build: string) => void} [to.onBuild] the build of the server's files.
 * @param {() => void} [to.onBye] the server ended the stream on purpose: not welcome any more.
 * @returns {() => () => void} closes the line for a moment, so that there is a connection for
 *     something else; what that returns opens it again.
 */
export function watch(url, { onState, onHealth, onBuild = () => {}, onBye = () => {} }) {
  let lines = []; // those that may speak, the newest last; one once it has
  let heard = performance.now(); // when the server last said something
  let awake = Date.now(); // when this page last ran; this clock goes on in a machine that sleeps
  let tried = 0;
  let silent = false;
  let known = "";
  let makingRoom = false;

  const open = () => {
    tried = performance.now();
    const line = new EventSource(known ? `${url}?known=${encodeURIComponent(known)}` : url);
    lines.push(line);
    if (lines.length > LINES_MOST) lines.shift().close();
    const on = (name, take) =>
      line.addEventListener(name, (event) => {
        if (!lines.includes(line) || woke()) return;
        heard = performance.now();
        keep(line);
        take(event);
      });
    on("build", ({ data }) => onBuild(data));
    on("state", ({ data, lastEventId }) => {
      onState(JSON.parse(data));
      known = lastEventId;
    });
    on("beat", ({ data }) => {
      silent = false;
      onHealth(JSON.parse(data));
    });
    on("bye", end);
  };

  /** Close all lines but one, or all. */
  const keep = (line) => {
    for (const each of lines) if (each !== line) each.close();
    lines = line ? [line] : [];
  };

  const lose = () => {
    if (silent) return;
    silent = true;
    onHealth({ live: false, reason: "server", betting_ms: null });
  };

  /** Whether this page has not run for long; then all begins anew. */
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

  /** A server that answers, but with no stream: because nobody is logged in here any more? */
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

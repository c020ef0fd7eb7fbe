// A page's line to the server: the newest state, and whether it may be shown as live. No DOM.
//
// The server beats once a second. Silence is told as a loss after SILENCE_MS, by our own watchdog,
// because a half-open connection says nothing. The browser reconnects by itself and sends the id of
// the last state it got; one that gave up is replaced.

export const SILENCE_MS = 2500;
const LOOK_MS = 200;
const GAVE_UP_MS = 6000;

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
 */
export function watch(url, { onState, onHealth, onBuild = () => {}, onBye = () => {} }) {
  let source = null;
  let heard = performance.now();
  let silent = false;

  const open = () => {
    source?.close();
    source = new EventSource(url);
    const on = (name, take) =>
      source.addEventListener(name, (event) => {
        heard = performance.now();
        take(event.data);
      });
    on("build", onBuild);
    on("state", (data) => onState(JSON.parse(data)));
    on("beat", (data) => {
      silent = false;
      onHealth(JSON.parse(data));
    });
    on("bye", () => {
      source.close();
      onBye();
    });
  };

  const look = () => {
    const quiet = performance.now() - heard;
    if (quiet > SILENCE_MS && !silent) {
      silent = true;
      onHealth({ live: false, reason: "server", betting_ms: null });
    }
    if (quiet > GAVE_UP_MS && source.readyState === EventSource.CLOSED) {
      heard = performance.now() - SILENCE_MS;
      open();
    }
  };

  open();
  setInterval(look, LOOK_MS);
}

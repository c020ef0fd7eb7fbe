// The server's clock as this page knows it, so that a command can say when it was given.
//
// Each beat brings the clock. The largest difference to the page's own clock is that of the beat
// that was under way for the shortest time. A new connection starts again: it may be another machine.

let ahead = null;

/** Forget the clock: the next beat is from another connection. */
export function forgetClock() {
  ahead = null;
}

/** Take the clock of a beat, in milliseconds. */
export function setClock(ms) {
  const difference = ms - performance.now();
  ahead = ahead === null ? difference : Math.max(ahead, difference);
}

/** Return the server's clock now, in whole milliseconds; null before the first beat. */
export function serverNow() {
  return ahead === null ? null : Math.floor(performance.now() + ahead);
}

// The end of a login: a warning before it, and the way back to this page after the next one.

import { byId } from "./dom.js";

/** Go to the login, which comes back here. */
export function goToLogin() {
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
}

/**
 * Return a function that warns of the login's end, with a button that puts it off.
 *
 * @param {Function} word of `loadWords`.
 * @returns {(left: ?{left_s: number, renewable: boolean}) => void} see `watch`.
 */
export function showEnding(word) {
  const stay = byId("stay");
  stay.addEventListener("click", async () => {
    const csrf = document.querySelector('meta[name="csrf"]').content;
    const answer = await fetch("/stay", { method: "POST", headers: { "x-csrf-token": csrf } }).catch(() => null);
    if (answer?.status === 401) goToLogin();
  });
  return (left) => {
    byId("ending").hidden = left === null;
    if (left === null) return;
    stay.hidden = !left.renewable;
    const key = left.renewable ? "login.ends" : "login.shift_ends";
    byId("ending-says").textContent = word(key, { seconds: left.left_s });
  };
}

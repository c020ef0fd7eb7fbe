// Keyboard shortcuts: a letter presses the button that shows it, but not while somebody types, and
// not where they are switched off (WCAG 2.1.4).

import { el } from "./dom.js";

const SWITCH = "shortcuts"; // in the browser's store: "off" where somebody has switched them off

const TYPING = "input, select, textarea, dialog, [role=group].pad";

/** Return whether single letters press buttons on this browser. */
export function areOn() {
  return localStorage.getItem(SWITCH) !== "off";
}

/** Create the button that switches the shortcuts of all pages of this browser off and on. */
export function shortcutSwitch(word) {
  const button = el("button.shortcuts", { type: "button" });
  const draw = () => {
    document.body.dataset.shortcuts = areOn() ? "on" : "off";
    button.textContent = word(areOn() ? "shortcuts.on" : "shortcuts.off");
    button.setAttribute("aria-pressed", String(areOn()));
  };
  button.addEventListener("click", () => {
    localStorage.setItem(SWITCH, areOn() ? "off" : "on");
    draw();
  });
  addEventListener("storage", draw);
  draw();
  return button;
}

/**
 * Press the button whose `data-shortcut` is the pressed key.
 *
 * @param {(event: KeyboardEvent) => boolean} [others] called first; true if it used the key.
 * @param {(button: HTMLButtonElement) => void} [shut] called with a button that is disabled now.
 */
export function listenForShortcuts(others = () => false, shut = () => {}) {
  document.addEventListener("keydown", (event) => {
    if (!areOn() || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.(TYPING) || document.querySelector("dialog[open]")) return;
    if (others(event)) {
      event.preventDefault();
      return;
    }
    if (event.shiftKey || event.key.length !== 1) return;
    const wanted = CSS.escape(event.key.toUpperCase());
    const button = document.querySelector(`[data-shortcut="${wanted}"]`);
    if (!button) return;
    event.preventDefault();
    if (button.disabled) {
      shut(button);
      return;
    }
    button.focus();
    button.click();
  });
}

// Keyboard shortcuts: a letter presses the button that shows it, but not while somebody types, and
// not where they are switched off (WCAG 2.1.4).


// A person may switch the letters off: speech input and tremor press keys that nobody means.
const SWITCH = "keys";

/** Show the page's switch for single letters, and return whether they are on. */
function letterSwitch() {
  const button = document.getElementById("keys");
  const isOn = () => localStorage.getItem(SWITCH) !== "off";
  if (!button) return isOn;
  const show = () => {
    button.setAttribute("aria-pressed", String(isOn()));
    document.body.dataset.keys = isOn() ? "on" : "off";
  };
  button.addEventListener("click", () => {
    localStorage.setItem(SWITCH, isOn() ? "off" : "on");
    show();
  });
  button.hidden = false;
  show();
  return isOn;
}

const TYPING = "input, select, textarea, dialog, [role=group].pad";

/**
 * Press the button whose `data-shortcut` is the pressed key.
 *
 * @param {(event: KeyboardEvent) => boolean} [others] called first; true if it used the key.
 * @param {(button: HTMLButtonElement) => void} [shut] called with a button that is disabled now.
 */
export function listenForShortcuts(others = () => false, shut = () => {}) {
  const isOn = letterSwitch();
  document.addEventListener("keydown", (event) => {
    if (!isOn()) return;
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
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

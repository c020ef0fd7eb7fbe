// Helpers that create elements without markup in strings. No state.

/**
 * Create an element.
 *
 * @param {string} tag its name, with classes: "button.big.red".
 * @param {object} [props] properties; `data` and `aria` are objects, `on` maps events to handlers.
 * @param {...(Node|string|null)} children the content; null is left out.
 * @returns {HTMLElement}
 */
export function el(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  made.classList.add(...classes);
  const { data = {}, aria = {}, on = {}, ...rest } = props;
  for (const [key, value] of Object.entries(aria)) made.setAttribute(`aria-${key}`, value);
  for (const [key, value] of Object.entries(on)) made.addEventListener(key, value);
  Object.assign(made.dataset, data);
  Object.assign(made, rest);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Return the element with this id, which the page must have. */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`this page has no #${id}`);
  return found;
}

/** Replace a container's children; the focus stays on the element with the same `data-key`. */
export function fill(container, ...children) {
  const focused = container.contains(document.activeElement) ? document.activeElement : null;
  const key = focused?.dataset.key;
  container.replaceChildren(...children.filter((child) => child !== null));
  if (key) container.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

/** Mark a box while it hides more below what is in sight; `[data-more]` shows it. */
export function markMore(box) {
  const mark = () => {
    box.dataset.more = box.scrollTop + box.clientHeight < box.scrollHeight - 2 ? "yes" : "no";
  };
  if (!("more" in box.dataset)) {
    box.addEventListener("scroll", mark);
    new ResizeObserver(mark).observe(box);
  }
  mark();
}

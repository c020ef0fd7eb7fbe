// Elements without markup in strings. No state.

/**
 * Make an element.
 *
 * @param {string} tag its name, with classes: "button.big.red".
 * @param {object} [props] properties; `data` and `aria` are objects, `on` maps events to handlers.
 * @param {...(Node|string|null)} children what is in it; null is left out.
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

/** The element of an id that the page must have. */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`this page has no #${id}`);
  return found;
}

/** Put these children into a container; the focus stays on what has the same `data-key`. */
export function fill(container, ...children) {
  const focused = container.contains(document.activeElement) ? document.activeElement : null;
  const key = focused?.dataset.key;
  container.replaceChildren(...children.filter((child) => child !== null));
  if (key) container.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

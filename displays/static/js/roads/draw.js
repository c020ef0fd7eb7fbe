// Draws roads as SVG. Marks differ by shape or letter, not by colour alone.

import { ROWS } from "./grid.js";

const SVG = "http://www.w3.org/2000/svg";

/** Create an SVG element with attributes and children. */
function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const circle = (r, kind) => svg("circle", { cx: 0.5, cy: 0.5, r, class: kind });
const diamond = (r, kind) =>
  svg("path", { d: `M.5 ${0.5 - r}L${0.5 + r} .5 .5 ${0.5 + r} ${0.5 - r} .5Z`, class: kind });
const letter = (text, kind) => svg("text", { x: 0.5, y: 0.5, class: kind }, text);

const figure = ({ figure: text }) =>
  text ? [svg("circle", { cx: 0.81, cy: 0.19, r: 0.19, class: "figure-disc" }), svg("text", { x: 0.81, y: 0.2, class: "figure" }, text)] : [];

/** Draw a result of the bead plate: a disc with its letter; a Banker pair is a dot on top, a Player
 * pair a diamond below, a natural a bar. A figure on gold: a side wager on that total won. */
export function bead(cell, word) {
  const parts = [circle(0.45, "disc"), letter(word(`bead.${cell.mark}`), "bead-letter")];
  if (cell.bankerPair) parts.push(svg("circle", { cx: 0.17, cy: 0.17, r: 0.16, class: "pair-b" }));
  if (cell.playerPair) parts.push(svg("path", { d: "M.82 .62 1 .82 .82 1 .64 .82Z", class: "pair-p" }));
  if (cell.natural) parts.push(svg("path", { d: "M.27 .86H.73", class: "natural-bar" }));
  return [...parts, ...figure(cell)];
}

/** Draw a cell of the big road: Banker a circle, Player a circle with a dot, ties green strokes. */
export function big(cell) {
  const parts = cell.mark ? [circle(0.38, "ring")] : [];
  if (cell.mark === "P") parts.push(circle(0.13, "dot"));
  if (cell.ties > 0) parts.push(svg("path", { d: "M.12 .88 .88 .12", class: "tie-stroke" }));
  if (cell.ties > 1) parts.push(letter(String(cell.ties), "tie-count"));
  return [...parts, ...figure(cell)];
}

/** Draw a mark of a derived road: red in the traditional shape, blue as a diamond or mirrored. */
export const DERIVED = {
  big_eye_boy: ({ mark }) => [mark === "R" ? circle(0.36, "ring") : diamond(0.42, "ring")],
  small_road: ({ mark }) => [mark === "R" ? circle(0.4, "disc") : diamond(0.46, "disc")],
  cockroach_pig: ({ mark }) => [
    svg("path", { d: mark === "R" ? "M.15 .85 .85 .15" : "M.15 .15 .85 .85", class: "slash" }),
  ],
};

const drawn = new WeakMap(); // a road's element -> its columns, and what it shows, cell by cell

function lines(columns) {
  const paths = [`M0 0H${columns}V${ROWS}H0Z`];
  for (let n = 0; n <= columns; n += 1) paths.push(`M${n} 0V${ROWS}`);
  for (let n = 0; n <= ROWS; n += 1) paths.push(`M0 ${n}H${columns}`);
  return svg("path", { d: paths.join(""), class: "lines" });
}

const mark = (cell, shape) =>
  svg(
    "g",
    {
      transform: `translate(${cell.column} ${cell.row})`,
      class: `mark mark-${cell.mark}`,
      "data-column": cell.column,
      "data-row": cell.row,
      "data-mark": cell.mark,
      "data-ties": cell.ties ?? 0,
    },
    ...shape(cell),
  );

/**
 * Draw a road into its element, six rows and as many columns as it says in `data-columns`.
 *
 * A coup adds a mark or two. The other marks stay untouched, so that a browser on a small machine
 * has almost nothing to paint again.
 *
 * @param {SVGSVGElement} into
 * @param {object[]} cells the visible ones, as returned by `newest`.
 * @param {(cell: object) => SVGElement[]} shape of a cell; the same for each call on an element.
 */
export function drawRoad(into, cells, shape) {
  const columns = Number(into.dataset.columns);
  const keys = cells.map((cell) => JSON.stringify(cell));
  let before = drawn.get(into);
  if (before?.columns !== columns) {
    into.setAttribute("viewBox", `0 0 ${columns} ${ROWS}`);
    into.replaceChildren(lines(columns));
    before = { columns, keys: [] };
  }
  let same = 0;
  while (same < keys.length && keys[same] === before.keys[same]) same += 1;
  into.querySelector(".newest")?.classList.remove("newest");
  while (into.childElementCount > same + 1) into.lastElementChild.remove();
  into.append(...cells.slice(same).map((cell) => mark(cell, shape)));
  if (cells.length) into.lastElementChild.classList.add("newest");
  drawn.set(into, { columns, keys });
}

/** Draw a single mark, for hints and the legend; nothing for an empty mark. */
export function loneMark(shape, mark, cell = { mark }) {
  const alone = svg("svg", { viewBox: "0 0 1 1", class: "lone", "data-mark": mark });
  if (mark) alone.append(svg("g", { class: `mark mark-${mark}` }, ...shape(cell)));
  return alone;
}

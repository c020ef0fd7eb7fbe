// The sign: what each wager pays, in words, its limits, and the lines that the rules ask for.
//
// Letters shrink until all rows fit; where they would be too small to read, the rows are shown a
// page after the other. A press of the page's number goes on by hand, and stops the turning.

import { money } from "../money.js";
import { say } from "../sentences.js";
import { both, make, word, write } from "./languages.js";
import { differs, payRows, sameLimits, sideLimits, tableLimits } from "./text.js";

const WHOLE = { whole: true }; // a sign writes 500, not 500.00
const LARGEST = 1.7;
const SMALLEST = 0.8; // of the usual letters; smaller ones nobody reads at a table
const STEP = 0.05;
const PAGE_MS = 10_000;
const FOOT = 0.11; // of the height, for the lines of the sign

const at = (id) => document.getElementById(id);
const table = at("bets").closest("table");
const box = table.parentElement;
const board = at("board");

/** Return a text of the rulebook in a language, or as the rulebook has it. */
const sign = (text, words) => {
  const key = `sign.${text}`;
  const said = words(key);
  return said === key ? text : said;
};

/** The words of a bet, or of one of its categories; of what this build does not know, the last id. */
export const named = (words, kind, ...ids) => {
  const key = [kind, ...ids].join(".");
  const said = words(key);
  return said === key ? ids.at(-1).replaceAll("_", " ") : said;
};

function limitsOf({ minimum, maximum }, decimals) {
  const least = money(minimum, decimals, WHOLE);
  return maximum === null ? `${least}+` : `${least}–${money(maximum, decimals, WHOLE)}`;
}

/** Create a row: names, odds in words, the commission, and limits that differ from the usual. */
function payRow({ bets, scale, less }, all, decimals) {
  const names = bets.map((bet) => make("span", "name", ...both((words) => named(words, "bet", bet.id))));
  if (differs(bets[0], all)) names.push(make("span", "limits", limitsOf(bets[0], decimals)));
  const [{ id }] = bets;
  const odds = scale.map(({ category, num, den }) =>
    make(
      "span",
      "odds",
      ...(scale.length > 1 ? [make("span", "category", ...both((words) => named(words, "category", id, category))), " "] : []),
      make("b", "", word("odds", { num, den })),
    ),
  );
  if (less) odds.push(make("span", "less", ...both((words) => words("pays.less", { rate: less }))));
  const row = make("tr", scale.length > 3 ? "long" : "", make("th", "", ...names), make("td", "pays", ...odds));
  row.cells[1].style.setProperty("--half", Math.ceil(odds.length / 2));
  row.dataset.bet = bets.map((bet) => bet.id).join(" ");
  return row;
}

/** Write a limit, in the largest letters that its length allows. */
function showLimit(id, text) {
  at(id).textContent = text;
  at(id).style.setProperty("--length", text.length);
}

let shown = "";
let page = 0;
let pages = [];
let turning = 0;

/** Show the rules of the table, if they are others than before. */
export function showSign(rulebook) {
  const asText = JSON.stringify(rulebook);
  if (asText === shown) return;
  shown = asText;
  const { bets, currency, decimals } = rulebook;
  const { minimum, maximum } = tableLimits(bets);
  at("game").replaceChildren(...both((words) => sign(rulebook.sign.game, words)));
  const scale = rulebook.sign.pay_scale;
  at("scale").replaceChildren(...(scale ? both((words) => words("scale", { scale: words(`scale.${scale}`) })) : []));
  for (const each of document.querySelectorAll("[data-currency]")) each.textContent = currency;
  showLimit("minimum", minimum === null ? "–" : money(minimum, decimals, WHOLE));
  showLimit("maximum", maximum === null ? word("limits.none") : money(maximum, decimals, WHOLE));
  const side = sideLimits(bets);
  at("side-limits").hidden = side === null || sameLimits(side, { minimum, maximum });
  if (side) write(at("side-limits"), "limits.others", { limits: limitsOf(side, decimals) });
  at("bets").replaceChildren(...payRows(bets).map((row) => payRow(row, bets, decimals)));
  const written = rulebook.sign.generated ? [] : rulebook.sign.lines.map((line) => (words) => sign(line, words));
  const says = rulebook.says.map((sentence) => (words) => say(sentence, words, rulebook));
  at("lines").replaceChildren(...[...says, ...written].flatMap((text) => [make("span", "", ...both(text)), " "]));
  page = 0;
}

/** Smaller letters, until the lines of the sign leave the hands their room. */
function fitLines() {
  for (let share = 1; share >= SMALLEST / 2; share -= STEP) {
    at("lines").style.setProperty("--fit", share);
    if (at("lines").offsetHeight <= innerHeight * FOOT) return;
  }
}

/** Fit the sign into the room that the page leaves it. */
export function fitSign() {
  const stacked = getComputedStyle(board).getPropertyValue("--stacked").trim() === "1";
  const rows = [...at("bets").rows];
  for (const row of rows) row.hidden = false;
  at("page").hidden = true;
  table.classList.remove("narrow");
  pages = [rows];
  at("lines").style.setProperty("--fit", 1);
  table.style.setProperty("--fit", 1);
  if (!stacked) {
    fitLines();
    fitRows(rows);
  }
  showPage();
}

function fitRows(rows) {
  const wide = () => rows.every((row) => [row, row.cells[1]].every((each) => each.scrollWidth <= each.clientWidth));
  const fits = () => table.offsetHeight <= room() && wide();
  for (let share = LARGEST; share >= SMALLEST; share -= STEP) {
    table.style.setProperty("--fit", share);
    if (fits()) return;
  }
  // Where no letter is small enough, a long schedule stands in one column.
  table.classList.toggle("narrow", !wide());
  at("page").hidden = false;
  pages = [[]];
  let used = 0;
  for (const row of rows) {
    used += row.offsetHeight;
    if (used > room() && pages.at(-1).length) {
      pages.push([]);
      used = row.offsetHeight;
    }
    pages.at(-1).push(row);
  }
}

const room = () => box.clientHeight - box.firstElementChild.offsetHeight - 2;

function showPage() {
  page %= pages.length;
  for (const [number, rows] of pages.entries()) for (const row of rows) row.hidden = number !== page;
  at("page").textContent = word("pays.page", { page: page + 1, pages: pages.length });
}

const turn = () => {
  page += 1;
  showPage();
};

at("page").addEventListener("click", () => {
  clearInterval(turning);
  turn();
});
turning = setInterval(turn, PAGE_MS);

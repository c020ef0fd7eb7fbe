// The scoreboard's page: shows the newest state, and whether it is live.

import { counts, dealt, drawRules, handOf, pays, status, tableLimits } from "./board_text.js";
import { watch } from "./live.js";
import { money } from "./money.js";
import { DERIVED, bead, big, drawRoad, loneMark } from "./roads/draw.js";
import { beadPlate, bigRoad, derivedRoad, newest } from "./roads/grid.js";
import { say } from "./sentences.js";
import { language, loadWords } from "./words.js";

const SUITS = { S: "♠", H: "♥", D: "♦", C: "♣" };
const HANDS = ["player", "banker"];
const RESULTS = { P: "player", B: "banker", T: "tie" };
const ROADS = ["big_eye_boy", "small_road", "cockroach_pig"];
const TICK_MS = 100;
const LAST_SECONDS = 5;
const SMALLEST = 0.2; // of the letters of the wagers; no rulebook that is shipped comes near it

const FOOT = 0.11; // of the height, for the lines of the sign

const word = await loadWords();
const board = document.querySelector("#board");
const at = (id) => document.getElementById(id);
const columnsOf = (element) => Number(element.dataset.columns);

/** Create an element with a class and children. */
function make(name, kind, ...children) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.append(...children);
  return made;
}

/** Create a card; without a face until the table has seen it. The third lies across. */
function cardOf({ number, card }) {
  const made = make("div", `card${number === 3 ? " third" : ""}`);
  made.setAttribute("role", "img");
  made.dataset.card = card ?? "";
  if (!card) {
    made.classList.add("covered");
    made.setAttribute("aria-label", word("card.covered"));
    return made;
  }
  const rank = card[0] === "T" ? "10" : card[0];
  made.classList.add(`suit-${card[1]}`);
  made.setAttribute("aria-label", `${rank}${SUITS[card[1]]}`);
  made.append(make("span", "rank", rank), make("span", "suit", SUITS[card[1]]));
  return made;
}

function showHand(coup, hand, winner) {
  const { cards, total, natural, pair } = handOf(coup, hand);
  const panel = at(hand);
  panel.classList.toggle("winner", winner === hand || winner === "tie");
  panel.classList.toggle("loser", Boolean(winner) && winner !== hand && winner !== "tie");
  panel.querySelector(".cards").replaceChildren(...cards.map(cardOf));
  panel.querySelector(".total").textContent = total ?? "";
  panel.querySelector(".natural").hidden = !natural;
  panel.querySelector(".pair").hidden = !pair;
}

function showStatus(state) {
  const { key, tone, winner } = status(state);
  board.dataset.tone = tone;
  board.dataset.winner = winner ?? "";
  board.dataset.phase = state.coup?.phase ?? "none";
  at("status").textContent = word(key);
  at("score").hidden = winner === null;
  at("score").textContent = winner
    ? `${state.coup.player_total} : ${state.coup.banker_total}`
    : "";
  const idle = tone === "open" || tone === "idle";
  for (const hand of HANDS) showHand(idle ? null : state.coup, hand, winner);
  at("rule").replaceChildren(
    ...(idle ? [] : drawRules(state.coup)).map((rule) => make("span", "", word(`rule.${rule}`))),
  );
  const last = state.shoe?.last_coup ?? null;
  const isLast = last !== null && state.coup?.id === `${state.shoe.id}/${last}`;
  at("last").hidden = last === null || state.shoe.ended;
  at("last").textContent = word(isLast ? "shoe.last" : "shoe.cut");
  at("link").hidden = !state.catching_up;
  showPrevious(state.shoe, tone);
}

/** Show the last coup's result until this one has a card. */
function showPrevious(shoe, tone) {
  const bead = shoe && !shoe.ended && tone === "open" ? shoe.roads.bead_plate.at(-1) : undefined;
  at("previous").hidden = bead === undefined;
  at("previous").textContent = bead ? word("previous", { outcome: word(`status.${RESULTS[bead[0]]}`) }) : "";
}

function showRoads(shoe) {
  const roads = shoe?.roads;
  const beads = roads?.bead_plate ?? [];
  const draw = (id, cells, shape) => {
    drawRoad(at(id), newest(cells, columnsOf(at(id))), shape);
  };
  draw("bead_plate", beadPlate(beads), (cell) => bead(cell, word));
  draw("big_road", bigRoad(roads?.big_road ?? [], beads), big);
  for (const road of ROADS) draw(road, derivedRoad(roads?.[road] ?? ""), DERIVED[road]);
  for (const [name, count] of Object.entries(counts(beads))) {
    board.querySelector(`[data-count="${name}"]`).textContent = count;
  }
  for (const hand of HANDS) {
    const marks = roads?.next?.[hand];
    at(`next-${hand}`).replaceChildren(
      ...ROADS.map((road) => loneMark(DERIVED[road], marks?.[road] ?? "")),
    );
  }
}

function showShoe(state) {
  const { shoe, coup } = state;
  at("table").textContent = word("table", { table: state.table.toUpperCase() });
  at("shoe").textContent = shoe ? word("shoe", { shoe: shoe.id.split("-").pop() }) : "";
  at("coup").textContent = coup && shoe ? word("coup", { coup: coup.id.split("/").pop() }) : "";
  at("progress").style.width = `${shoe ? Math.round(dealt(shoe) * 1000) / 10 : 0}%`;
  at("left").textContent = shoe ? word("shoe.cards", { cards: shoe.cards, all: shoe.decks * 52 }) : "";
}

/** Return a text of the rulebook in the page's language, or as the rulebook has it. */
function sign(text) {
  const key = `sign.${text}`;
  const said = word(key);
  return said === key ? text : said;
}

/** The words of a bet, or of one of its categories; of what this build does not know, the last id. */
const named = (kind, ...ids) => {
  const key = [kind, ...ids].join(".");
  const said = word(key);
  return said === key ? ids.at(-1).replaceAll("_", " ") : said;
};

const WHOLE = { whole: true }; // a sign writes 500, not 500.00

function limitsOf({ minimum, maximum }, decimals) {
  const least = money(minimum, decimals, WHOLE);
  return maximum === null ? `${least}+` : `${least}–${money(maximum, decimals, WHOLE)}`;
}

/** What a bet pays, less the commission that is kept of its winnings. */
const less = (odds, { less: rate }) => (rate ? word("sign.less", { odds, rate }) : odds);

function betRow(bet, decimals) {
  const scale = pays(bet);
  const odds = scale.map(({ category, odds: pay }) =>
    make(
      "span",
      "odds",
      ...(scale.length > 1 ? [`${named("category", bet.id, category)} `] : []),
      make("b", "", less(pay.endsWith(":1") ? pay.slice(0, -2) : pay, bet)),
    ),
  );
  const row = make(
    "tr",
    "",
    make("th", "", named("bet", bet.id)),
    make("td", "pays", ...odds),
    make("td", "limits", limitsOf(bet, decimals)),
  );
  row.dataset.bet = bet.id;
  return row;
}

/** Create a limit, in the largest letters that its length allows. */
function showLimit(id, text) {
  at(id).textContent = text;
  at(id).style.setProperty("--length", text.length);
}

/** Smaller letters, until what the rulebook offers fits beside the table. */
function fitBets() {
  const table = at("bets").closest("table");
  const side = table.parentElement;
  for (let share = 1; share >= SMALLEST; share -= 0.05) {
    table.style.setProperty("--fit", share);
    if (side.scrollHeight <= side.clientHeight && side.scrollWidth <= side.clientWidth) return;
  }
}

/** Smaller letters, until the lines of the sign leave the hands their room. */
function fitLines() {
  const lines = at("lines");
  for (let share = 1; share >= SMALLEST; share -= 0.05) {
    lines.style.setProperty("--fit", share);
    if (lines.offsetHeight <= innerHeight * FOOT) return;
  }
}

function fit() {
  fitLines();
  fitBets();
}

let signShown = "";

function showSign(rulebook) {
  const asText = JSON.stringify(rulebook);
  if (asText === signShown) return;
  signShown = asText;
  const { bets, currency, decimals } = rulebook;
  const { minimum, maximum } = tableLimits(bets);
  at("game").textContent = sign(rulebook.sign.game);
  const scale = rulebook.sign.pay_scale;
  at("scale").textContent = scale ? word("scale", { scale: word(`scale.${scale}`) }) : "";
  for (const each of board.querySelectorAll("[data-currency]")) each.textContent = currency;
  showLimit("minimum", minimum === null ? "–" : money(minimum, decimals, WHOLE));
  showLimit("maximum", maximum === null ? word("limits.none") : money(maximum, decimals, WHOLE));
  at("bets").replaceChildren(...bets.map((bet) => betRow(bet, decimals)));
  const lines = bets.reduce((sum, bet) => sum + (pays(bet).length > 2 ? 2 : 1), 0);
  const table = at("bets").closest("table");
  table.style.setProperty("--rows", Math.max(8, lines));
  table.style.setProperty("--longest", Math.max(...bets.map((bet) => limitsOf(bet, decimals).length)));
  const written = rulebook.sign.generated ? [] : rulebook.sign.lines.map(sign);
  const says = rulebook.says.map((sentence) => say(sentence, word, rulebook));
  const spans = [...says, ...written].flatMap((text) => [make("span", "", text), " "]);
  at("lines").replaceChildren(...spans);
  fit();
}

/** Draw the legend of the bead plate's small marks, next to its name. */
function showLegend() {
  const plain = { mark: "T", bankerPair: false, playerPair: false, natural: false };
  at("legend").replaceChildren(
    ...["bankerPair", "playerPair", "natural"].map((name) =>
      make("span", "", loneMark((cell) => bead(cell, () => ""), "T", { ...plain, [name]: true }), word(`legend.${name}`)),
    ),
  );
}

let live = false;
let closes = null;

function showCountdown() {
  const left = closes === null ? null : Math.max(0, Math.ceil((closes - performance.now()) / 1000));
  const shown = live && left !== null;
  at("countdown").hidden = !shown;
  at("countdown").textContent = shown ? left : "";
  at("countdown").classList.toggle("last", shown && left <= LAST_SECONDS);
}

function showHealth(health) {
  live = health.live;
  closes = health.betting_ms === null ? null : performance.now() + health.betting_ms;
  board.classList.toggle("stale", !live);
  board.dataset.live = String(live);
  at("lost").hidden = live;
  at("lost-why").textContent = live ? "" : word(`lost.${health.reason}`);
  showCountdown();
}

watch("/events", {
  onState(state) {
    showStatus(state);
    showShoe(state);
    showRoads(state.shoe);
    showSign(state.rulebook);
    board.dataset.position = state.position;
  },
  onHealth: showHealth,
  onBuild(build) {
    if (build !== document.querySelector('meta[name="build"]').content) location.reload();
  },
});
setInterval(showCountdown, TICK_MS);
addEventListener("resize", fit);
showLegend();
showRoads(null);
board.dataset.ready = "true";

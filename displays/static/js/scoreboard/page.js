// The scoreboard's page: shows the newest state, and whether it is live.

import { watch } from "../live.js";
import { DERIVED, bead, big, drawRoad, loneMark } from "../roads/draw.js";
import { FIGURES, beadPlate, bigRoad, columnsOf, derivedRoad } from "../roads/grid.js";
import { both, make, nameTwice, word, write } from "./languages.js";
import { fitSign, named, showSign } from "./pay_table.js";
import { counts, dealt, drawRules, handOf, sideCounts, status } from "./text.js";

const SUITS = { S: "♠", H: "♥", D: "♦", C: "♣" };
const HANDS = ["player", "banker"];
const RESULTS = { P: "player", B: "banker", T: "tie" };
const ROADS = ["big_eye_boy", "small_road", "cockroach_pig"];
const TICK_MS = 100;
const LAST_SECONDS = 5;
const RESULT_MS = 8000; // the hands of a coup that is over, before its result goes beside the roads
const OVER = ["settled", "voided"];
const board = document.querySelector("#board");
let statusKey = "status.connecting";
let shown = null; // the newest state
let over = { result: "", since: 0 }; // what the last coup's end was, and since when
const at = (id) => document.getElementById(id);
const LEAST = Object.fromEntries([...document.querySelectorAll(".road > svg")].map((svg) => [svg.id, Number(svg.dataset.columns)]));

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

/** Return whether a coup has been over for so long that the roads may have the room. */
function isPast(coup) {
  const result = OVER.includes(coup?.phase) ? JSON.stringify([coup.id, coup.winner, coup.player_total, coup.banker_total]) : "";
  if (result !== over.result) over = { result, since: performance.now() };
  return result !== "" && performance.now() - over.since >= RESULT_MS;
}

function showStatus(state) {
  const { coup } = state;
  const past = isPast(coup);
  const { key, tone, winner } = status(state, past);
  board.dataset.tone = tone;
  board.dataset.room = ["open", "idle", "last"].includes(tone) ? "roads" : "hands";
  board.dataset.winner = winner ?? "";
  board.dataset.phase = coup?.phase ?? "none";
  board.dataset.shoe = state.shoe ? "there" : "none";
  statusKey = key;
  if (tone === "last" && winner) at("status").replaceChildren(...both((words) => words("previous", { outcome: words(key) })));
  else write(at("status"), key);
  at("score").hidden = winner === null;
  const points = winner ? [make("small", "", word("bead.P")), ` ${coup.player_total} : ${coup.banker_total} `, make("small", "", word("bead.B"))] : [];
  at("score").replaceChildren(...points);
  const hands = board.dataset.room === "hands";
  for (const hand of HANDS) showHand(hands ? coup : null, hand, winner);
  showLastHands(tone === "last" ? coup : null);
  at("rule").replaceChildren(
    ...(hands ? drawRules(coup) : []).map((rule) => make("span", "", ...both((words) => words(`rule.${rule}`)))),
  );
  const last = state.shoe?.last_coup ?? null;
  const isLast = last !== null && state.coup?.id === `${state.shoe.id}/${last}`;
  at("last").hidden = last === null || state.shoe.ended;
  write(at("last"), isLast ? "shoe.last" : "shoe.cut");
  at("link").hidden = !state.catching_up;
  showPrevious(state.shoe, tone);
}

/** Show the cards of the last coup beside its result. */
function showLastHands(coup) {
  at("last-hands").hidden = coup === null;
  at("last-hands").replaceChildren(
    ...(coup ? HANDS : []).map((hand) =>
      make("div", hand, make("b", "", word(`hand.${hand}`)), make("div", "cards", ...handOf(coup, hand).cards.map(cardOf))),
    ),
  );
}

/** Show the last coup's result until this one has a card. */
function showPrevious(shoe, tone) {
  const bead = shoe && !shoe.ended && tone === "open" ? shoe.roads.bead_plate.at(-1) : undefined;
  at("previous").hidden = bead === undefined;
  if (bead) at("previous").replaceChildren(...both((words) => words("previous", { outcome: words(`status.${RESULTS[bead[0]]}`) })));
}

/** Draw the whole shoe; the squares of a road get smaller where it has more columns than fit. */
function showRoads(shoe) {
  const roads = shoe?.roads;
  const beads = roads?.bead_plate ?? [];
  const cells = {
    bead_plate: beadPlate(beads, shoe?.side_wins),
    big_road: bigRoad(roads?.big_road ?? [], beads, shoe?.side_wins),
    ...Object.fromEntries(ROADS.map((road) => [road, derivedRoad(roads?.[road] ?? "")])),
  };
  const shapes = { bead_plate: (cell) => bead(cell, word), big_road: big, ...DERIVED };
  const upright = stacked();
  for (const [id, all] of Object.entries(cells)) {
    const svg = at(id);
    svg.dataset.columns = columnsOf(all, LEAST[id], upright ? null : svg.getBoundingClientRect());
    drawRoad(svg, all, shapes[id]);
  }
  for (const [name, count] of Object.entries(counts(beads))) {
    board.querySelector(`[data-count="${name}"]`).textContent = count;
  }
  board.dataset.ended = String(Boolean(shoe?.ended));
  for (const hand of HANDS) {
    const marks = roads?.next?.[hand];
    at(`next-${hand}`).replaceChildren(
      ...ROADS.map((road) => loneMark(DERIVED[road], marks?.[road] ?? "")),
    );
  }
}

/** Show how often each side wager has won in this shoe; nothing where that is not known. */
function showSideWins({ shoe, rulebook }) {
  const counted = sideCounts(rulebook.bets, shoe);
  at("side-wins").hidden = !counted.length;
  at("side-wins").replaceChildren(
    ...counted.map(({ id, count }) => {
      const figure = FIGURES[id] ? [make("i", "figure-of", FIGURES[id]), " "] : [];
      const won = make("div", "", make("dt", "", ...figure, named(word, "bet", id)), make("dd", "", count));
      won.dataset.won = id;
      return won;
    }),
  );
}

/** Whether the screen is one column that can be scrolled. */
const stacked = () => getComputedStyle(board).getPropertyValue("--stacked").trim() === "1";

function showShoe(state) {
  const { shoe, coup } = state;
  write(at("table"), "table", { table: state.table.toUpperCase() });
  write(at("shoe"), shoe && "shoe", { shoe: shoe?.id.split("-").pop() });
  write(at("coup"), coup && shoe && "coup", { coup: coup?.id.split("/").pop() });
  at("progress").style.width = `${shoe ? Math.round(dealt(shoe) * 1000) / 10 : 0}%`;
  write(at("left"), shoe && "shoe.cards", { cards: shoe?.cards, all: (shoe?.decks ?? 0) * 52 });
}

/** Draw the legend of the bead plate's small marks, next to its name. */
function showLegend() {
  const plain = { mark: "T", bankerPair: false, playerPair: false, natural: false };
  at("legend").replaceChildren(
    ...["bankerPair", "playerPair", "natural"].map((name) =>
      make("span", "", loneMark((cell) => bead(cell, () => ""), "T", { ...plain, [name]: true }), ...both((words) => words(`legend.${name}`))),
    ),
  );
}

let live = false;
let closes = null;

function showCountdown() {
  const left = closes === null ? null : Math.max(0, Math.ceil((closes - performance.now()) / 1000));
  const shown = live && left !== null;
  at("countdown").hidden = !left || !shown;
  at("countdown").textContent = shown ? left : "";
  const last = shown && left <= LAST_SECONDS;
  at("countdown").classList.toggle("last", last);
  if (statusKey !== "status.open") return;
  const key = !last ? statusKey : left ? "status.last" : "status.time_up";
  if (at("status").dataset.key !== key) write(at("status"), key);
}

function showHealth(health) {
  live = health.live;
  closes = health.betting_ms === null ? null : performance.now() + health.betting_ms;
  board.classList.toggle("stale", !live);
  board.dataset.live = String(live);
  at("lost").hidden = live;
  at("lost-why").textContent = live ? "" : word("lost.patrons");
  at("lost").dataset.reason = live ? "" : health.reason;
  showCountdown();
}

function showState(state) {
  shown = state;
  showStatus(state);
  showShoe(state);
  showSign(state.rulebook);
  showSideWins(state);
  fitOnce(state.rulebook);
  showRoads(state.shoe);
  board.dataset.position = state.position;
}

/** Give the roads the room, once the last coup has been shown for long enough. */
function showPast() {
  if (shown && board.dataset.room === "hands" && isPast(shown.coup)) showState(shown);
}

watch("/events", {
  onState: showState,
  onHealth: showHealth,
  onBuild(build) {
    if (build !== document.querySelector('meta[name="build"]').content) location.reload();
  },
});
let fitted = "";

/** Fit the sign anew where the rules or the page's layout are others. */
function fitOnce(rulebook) {
  const now = JSON.stringify([rulebook, board.dataset.tone, board.dataset.shoe]);
  if (now === fitted) return;
  fitted = now;
  fitSign();
}

setInterval(() => {
  showCountdown();
  showPast();
}, TICK_MS);
const fit = () => {
  fitSign();
  showRoads(shown?.shoe ?? null);
};
addEventListener("resize", fit);
document.fonts.addEventListener("loadingdone", fit);
nameTwice();
showLegend();
showRoads(null);
board.dataset.ready = "true";

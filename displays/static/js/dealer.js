// The dealer's page: betting, wagers, the next draw and its rule, and the shoe's commands.

import { placeButtons } from "./command_buttons.js";
import { byId, el, fill } from "./dom.js";
import { listenForShortcuts } from "./key_presses.js";
import { money } from "./money.js";
import { say } from "./sentences.js";
import { Station } from "./station.js";
import { drawHands, drawNext, drawStrip } from "./table_strip.js";
import { commissionTiming, drawStanding, Laying, refundLines, settlementTable, standingRows } from "./wagers.js";

const OVER = ["settled", "voided"];

const station = await Station.open();
const { word } = station;
const laying = new Laying(station);
let shown = ""; // which coup's settlement stands on the page

placeButtons(station, "dealer");
listenForShortcuts(
  (event) => laying.key(event),
  (button) => station.shut(button),
);

function render(state) {
  drawStrip(state, word);
  drawHands(state, word);
  drawNext(state, word);
  drawCalls(state);
  laying.offer(state.rulebook);
  laying.drawPressed();
  drawOwed(state);
  const over = OVER.includes(state.coup?.phase);
  putPressed(over ? "after" : "before");
  if (over || state.coup?.settled.length) {
    showPayments(state);
    return;
  }
  shown = "";
  drawStanding(station, state);
}

/** Draw what the dealer calls at this step. */
function drawCalls({ calls, rulebook }) {
  const said = calls.map((call) => say(call, word, rulebook));
  fill(byId("calls"), ...said.map((text) => el("span", {}, text)));
}

/** Move the list of pressed wagers: to the top during betting, to the end during payment. */
function putPressed(where) {
  const [standing, pressed] = [byId("standing"), byId("pressed")];
  const there = where === "before" ? standing.previousElementSibling : standing.nextElementSibling;
  if (there !== pressed) standing[where](pressed);
}

/** Draw the commission that seats owe, each with its own button. */
function drawOwed({ commission, rulebook }) {
  const row = (title, list) =>
    list.length
      ? el(
          "p",
          {},
          el("b", {}, `${word(title)}: `),
          list
            .map(({ seat, amount }) => `${word("dealer.seat", { seat })} ${money(amount, rulebook.decimals)}`)
            .join(" · "),
        )
      : null;
  fill(
    byId("commission"),
    row("commission.laid", commission.laid),
    row("commission.outstanding", commission.outstanding),
    ...refundLines(commission, word),
  );
}

/**
 * Show what to take, pay and give back, from the table's record: of the first four cards as soon as
 * they are paid, with the wagers that still stand; and of the whole coup at its end.
 */
async function showPayments(state) {
  const { coup, rulebook, totals } = state;
  const mark = JSON.stringify([coup.id, coup.settled, totals]);
  if (mark === shown) return;
  shown = mark;
  const answer = await station.look("show_coup", { coup: coup.id });
  if (shown !== mark) return;
  if (answer.result !== "accepted") {
    shown = ""; // with the next state it is asked for again
    return;
  }
  const timing = commissionTiming(station.state, answer.shown.rulebook_hash);
  const paid = new Set(answer.shown.settlements.flatMap(({ lines }) => lines.map(({ wager }) => wager)));
  const open = OVER.includes(coup.phase) ? [] : coup.wagers.filter(({ id }) => !paid.has(id));
  fill(
    byId("standing"),
    settlementTable(answer.shown, rulebook.decimals, word, timing),
    ...standingRows(station, state, open),
  );
}

station.watch(render);

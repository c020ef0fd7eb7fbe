// The dealer's page: what is due now, the layout with its chips, and the list of what to pay.

import { placeButtons } from "../command_buttons.js";
import { byId, el, fill, markMore } from "../dom.js";
import { listenForShortcuts, shortcutSwitch } from "../key_presses.js";
import { money } from "../money.js";
import { say } from "../sentences.js";
import { Station } from "../station.js";
import { drawHands, drawNext, drawStrip, reasonOf } from "../table_strip.js";
import { areSums, drawStanding, laidOn, Laying, settlementTable, standingRows } from "../wagers.js";

const OVER = ["settled", "voided"];
const DUE_MOST = 4;
const LAST_RESULTS = 5;
const LIST_MOST = 12; // moves that a list shows one by one

const station = await Station.open();
const { word } = station;
const laying = new Laying(station);
let timeUp = false; // the countdown has ended

placeButtons(station, "dealer");
byId("more-acts").addEventListener("click", () => {
  const open = byId("more-acts").getAttribute("aria-expanded") !== "true";
  byId("more-acts").setAttribute("aria-expanded", String(open));
  byId("acts").dataset.open = open ? "yes" : "no";
});
byId("switches").append(shortcutSwitch(word));
listenForShortcuts(
  (event) => laying.key(event),
  (button) => station.shut(button),
);
station.onHealth(({ betting_ms: left }) => {
  const shown = byId("countdown");
  shown.hidden = typeof left !== "number";
  shown.textContent = shown.hidden ? "" : left > 0 ? word("dealer.countdown", { seconds: Math.ceil(left / 1000) }) : word("dealer.time_up");
  const up = !shown.hidden && left <= 0;
  if (up !== timeUp) {
    timeUp = up;
    if (station.state) drawNext(station.state, station, timeUp);
  }
  byId("station").dataset.timeUp = String(timeUp);
  shown.dataset.short = String(!shown.hidden && left <= 5000);
});

function render(state) {
  const { advice, coup } = state;
  const stop = advice.stop;
  byId("station").dataset.stop = stop ? "yes" : "no";
  drawStrip(state, word);
  drawStatus(state);
  drawHands(state, word);
  drawStop(state);
  drawNext(state, station, timeUp);
  drawCalls(state);
  drawActs(state);
  laying.offer(state.rulebook);
  laying.remember(state);
  laying.drawPressed();
  drawOwed(state);
  drawToMove(state);
  const over = OVER.includes(coup?.phase);
  // What a coup has paid stays in sight until the next one, also after the shoe's end.
  const paying = over ? state.pay.length > 0 : advice.lines.includes("advice.pay_first");
  byId("wagers").dataset.mode = paying ? "pay" : coup?.phase === "betting" ? "bet" : "look";
  putLists(paying || over);
  if (paying) drawPayments(state, over);
  else if (over) fill(byId("standing"), el("p", {}, word("dealer.no_wagers")));
  else drawStanding(station, state);
  laying.draw();
  markMore(byId("standing"));
}

/** Draw the cut card, the last results, and what lies on the layout. */
function drawStatus({ shoe, coup, rulebook }) {
  const cut = byId("cut");
  const last = shoe && !shoe.ended && shoe.last_coup !== null;
  cut.hidden = !last;
  cut.textContent = last ? word(shoe.coups >= shoe.last_coup ? "shoe.last" : "shoe.cut") : "";
  const beads = (shoe?.roads.bead_plate ?? []).slice(-LAST_RESULTS);
  fill(
    byId("results"),
    ...beads.map((bead) => el("i.bead", { data: { winner: bead[0] }, role: "img", aria: { label: word(`bead.name.${bead[0]}`) } }, word(`bead.${bead[0]}`))),
  );
  byId("results").hidden = !beads.length;
  const wagers = OVER.includes(coup?.phase) ? [] : laidOn(coup);
  const sum = wagers.reduce((total, { stake }) => total + stake, 0);
  const count = areSums(coup) ? coup.sums.wagers : wagers.length;
  byId("on-layout").textContent = wagers.length
    ? word(count === 1 ? "dealer.on_layout.1" : "dealer.on_layout", { count, sum: money(sum, rulebook.decimals) })
    : "";
}

/** Say over everything else that nobody touches anything, and why. */
function drawStop({ advice, coup }) {
  const stop = byId("stop");
  const isNew = stop.hidden && advice.stop;
  stop.hidden = !advice.stop;
  if (!advice.stop) {
    fill(stop);
    return;
  }
  fill(
    stop,
    el("strong", {}, word("stop.title")),
    ...advice.lines.map((line) => el("p", {}, word(line))),
    // What the machines say of it is for the supervisor; its first word is a program's.
    coup?.reason && station.roles.includes("supervisor") ? el("p.reason", {}, reasonOf(coup, station)) : null,
  );
  if (isNew) stop.scrollIntoView({ block: "nearest" });
}

/** Draw what the dealer calls at this step; nothing once its coup is paid and its shoe over. */
function drawCalls({ calls, rulebook, shoe, coup, advice }) {
  const past = advice.stop || (OVER.includes(coup?.phase) && (!shoe || shoe.ended || !coup.id.startsWith(`${shoe.id}/`)));
  const said = past ? [] : calls.map((call) => say(call, word, rulebook));
  fill(byId("calls"), ...said.map((text) => el("span", {}, text)));
}

/** Make the due actions large, and put the others behind "More". */
function drawActs({ advice, refusals, dealer }) {
  const buttons = [...byId("acts").querySelectorAll(".act")];
  const may = (name) => buttons.some((button) => button.dataset.command === name && !button.dataset.foreign);
  // Where dealers have accounts, whoever is signed in and does not deal yet takes the table first.
  const taking = byId("acts").querySelector("[data-command=take_table]");
  taking.hidden = refusals.take_table?.code === "dealers_are_named";
  const takes = !taking.hidden && dealer !== byId("station").dataset.person && !advice.stop ? ["take_table"] : [];
  const due = [...new Set([...takes, ...advice.commands])].filter(may).slice(0, DUE_MOST);
  for (const button of buttons) button.dataset.due = due.includes(button.dataset.command) ? "yes" : "no";
  byId("none-due").hidden = due.length > 0 || advice.stop;
}

/** Put what is to be paid in the layout's place, and wagers that were placed beside the layout. */
function putLists(pays) {
  const [standing, pressed] = [byId("standing"), byId("pressed")];
  const section = byId(pays ? "wagers" : "placed");
  byId("placed").hidden = pays;
  if (standing.parentElement === section) return;
  if (pays) section.querySelector("#commission").before(standing, pressed);
  else section.append(pressed, standing);
}

/** Draw the commission that lies beside the wagers, and what seats owe. */
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
  fill(byId("commission"), row("commission.laid", commission.laid), row("commission.outstanding", commission.outstanding));
}

/** Draw the chips that corrections move, each coup until somebody says that they are moved. */
function drawToMove({ to_move: corrections, rulebook }) {
  const sign = JSON.stringify(corrections);
  const list = byId("to-move");
  if (list.dataset.sign === sign) return;
  list.dataset.sign = sign;
  fill(list, ...corrections.map((each) => correction(each, rulebook.decimals)));
}

function correction({ coup, settlements, seats }, decimals) {
  const done = el("button.go", { type: "button", data: { command: "acknowledge_correction" } }, word("correction.done"));
  station.bind(done, {
    command: "acknowledge_correction",
    act: () => station.send(done, "acknowledge_correction", { coup, settlements }),
  });
  const line = ({ seat, gets }) =>
    el(
      "li",
      { data: { seat, gets } },
      word(gets > 0 ? "correction.pay" : "correction.take", { seat, amount: money(Math.abs(gets), decimals) }),
    );
  return el(
    "div.correction",
    { data: { coup }, role: "alert" },
    el("b", {}, word("correction.title", { coup })),
    el("ul", {}, ...seats.map(line)),
    done,
  );
}

/** Return a list as it is, or, where it is long, with all that a seat has lost as one move. */
function shortened(moves) {
  if (moves.length <= LIST_MOST) return moves;
  const lost = moves.filter(({ result }) => result === "lose");
  const seats = [...new Set(lost.map(({ seat }) => seat))].map((seat) => {
    const of = lost.filter((move) => move.seat === seat);
    return { seat, result: "lose", bet: [...new Set(of.map(({ bet }) => bet))], take: of.reduce((sum, { take }) => sum + take, 0) };
  });
  return [...seats, ...moves.filter(({ result }) => result !== "lose")];
}

/** Draw what to take, pay and return; wagers that still stand come after it. */
function drawPayments(state, over) {
  const { coup, rulebook, pay, pay_corrected: corrected } = state;
  // All wagers of a bet are paid at the same time, so a sum is paid or not.
  const spot = ({ seat, bet }) => `${seat} ${bet}`;
  const paid = new Set(pay.map(areSums(coup) ? spot : ({ wager }) => wager));
  const open = over ? [] : laidOn(coup).filter((each) => !paid.has(each.id ?? spot(each)));
  fill(
    byId("standing"),
    corrected ? el("p.corrected", {}, `⚠ ${word("settled.corrected")}`) : null,
    settlementTable(shortened(pay), rulebook.decimals, word, rulebook.commission),
    ...standingRows(station, state, open),
  );
}

for (const button of byId("acts").querySelectorAll(".act")) {
  const roles = button.dataset.roles?.split(" ") ?? [];
  if (roles.length && !roles.some((role) => station.roles.includes(role))) button.dataset.foreign = "yes";
}
station.watch(render);

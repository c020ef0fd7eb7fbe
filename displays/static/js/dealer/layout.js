// The drawn layout: a column for each seat, a row for each bet, chips on the spots. Draws only.

import { betName } from "../command_text.js";
import { el, fill } from "../dom.js";
import { money } from "../money.js";

const LETTERS = { player: "P", banker: "B", tie: "T" };

/**
 * Draw the seats and the bets of a rulebook, each spot of theirs as a button.
 *
 * @param {object} places the elements {seats, bets}.
 * @param {number[]} seats their numbers, in order.
 * @param {object[]} bets of the rulebook.
 * @param {{onSeat: Function, onBet: Function, onSpot: Function}} presses
 */
export function drawLayout({ seats: head, bets: body }, seats, bets, word, { onSeat, onBet, onSpot }) {
  head.parentElement.style.setProperty("--seats", seats.length);
  fill(
    head,
    el("span.corner", {}, word("field.seat")),
    ...seats.map((seat) =>
      el("button.seat-number", { type: "button", data: { seat }, aria: { label: word("dealer.seat", { seat }) }, on: { click: () => onSeat(seat) } }, String(seat)),
    ),
  );
  fill(body, ...bets.map(({ id }) => row(id, seats, word, onBet, onSpot)));
}

function row(bet, seats, word, onBet, onSpot) {
  const letter = LETTERS[bet];
  const name = betName(bet, word);
  return el(
    `div.row.${bet}`,
    {},
    el(
      `button.bet.${bet}`,
      { type: "button", data: { bet, ...(letter ? { shortcut: letter } : {}) }, on: { click: () => onBet(bet) } },
      el("span", {}, name),
      letter ? el("kbd", {}, letter) : null,
    ),
    ...seats.map((seat) =>
      el("button.spot", { type: "button", tabIndex: -1, data: { spot: `${seat} ${bet}` }, on: { click: () => onSpot(seat, bet) } }),
    ),
  );
}

/** Add up what stands on each spot: its sum, and who laid it. */
export function spotsOf(wagers) {
  const spots = new Map();
  for (const wager of wagers) {
    const key = `${wager.seat} ${wager.bet}`;
    const spot = spots.get(key) ?? { sum: 0, count: 0, authors: new Set() };
    spot.sum += wager.stake;
    spot.count += 1;
    spot.authors.add(authorOf(wager));
    spots.set(key, spot);
  }
  return spots;
}

/** Return who placed a wager: the person at a console, or the user of the bus; empty for a sum. */
export function authorOf({ id = "" }) {
  const [user, transaction] = id.split("/");
  return user === "console" ? transaction.slice(0, transaction.lastIndexOf(".")) : user;
}

/** Put the chips on the spots: those that stand, and next to them those that are under way. */
export function drawSpots(body, { standing, underway, chosen, decimals }, word) {
  const spots = spotsOf(standing);
  const coming = spotsOf(underway.map((each) => ({ ...each, id: "me/" })));
  for (const button of body.querySelectorAll(".spot")) {
    const { spot } = button.dataset;
    const [seat, bet] = spot.split(" ");
    const lies = spots.get(spot);
    const comes = coming.get(spot);
    const text = lies ? money(lies.sum, decimals, { whole: true }) : "";
    const sign = JSON.stringify([text, comes?.sum, lies?.count]);
    button.setAttribute("aria-pressed", String(chosen === spot));
    if (button.dataset.sign === sign) continue;
    button.dataset.sign = sign;
    const names = [word("dealer.seat", { seat }), betName(bet, word), ...(text ? [text] : [])];
    button.setAttribute("aria-label", names.join(" · "));
    fill(
      button,
      lies ? el("span.disc", { data: { long: String(text.length > 5), many: String(lies.count > 1) } }, text) : null,
      comes ? el("span.disc.coming", {}, money(comes.sum, decimals, { whole: true })) : null,
    );
  }
}

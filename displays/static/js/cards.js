// Draws cards, and the pad of all 52. Suits differ by shape and letter, not by colour alone.

import { el } from "./dom.js";

export const SUITS = ["S", "H", "D", "C"];
export const RANKS = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K"];
const SHAPES = { S: "♠", H: "♥", D: "♦", C: "♣" };

/** Return a card's text: `10♥` for `TH`. */
export function faceText(face) {
  return `${face[0] === "T" ? "10" : face[0]}${SHAPES[face[1]]}`;
}

/** Return a card's name for a screen reader: `10 of hearts` in the page's language. */
export function faceName(face, word) {
  return word("card.name", {
    rank: word(`rank.${face[0]}`),
    suit: word(`suit.${face[1]}`),
  });
}

/**
 * Create the element of a card on the table.
 *
 * @param {{hand: string, number: number, card: ?string, source: string}} card
 */
export function cardElement({ card, source }, word) {
  if (!card) {
    const unread = source === "unread";
    return el(
      `span.card.${unread ? "unread" : "covered"}`,
      { role: "img", aria: { label: word(unread ? "card.unread" : "card.covered") } },
      unread ? "?" : "",
    );
  }
  return el(
    `span.card.suit-${card[1]}`,
    { role: "img", aria: { label: faceName(card, word) } },
    faceText(card),
    source === "shoe" ? null : el("i", { title: word("card.by_hand") }, "✎"),
  );
}

/**
 * Create a pad of all 52 faces, a row for each suit. Arrow keys move, Enter or space picks.
 *
 * @param {(face: string) => void} onPick
 */
export function cardPad(onPick, word) {
  const buttons = SUITS.map((suit) =>
    RANKS.map((rank) =>
      el(
        `button.suit-${suit}`,
        {
          type: "button",
          tabIndex: -1,
          data: { face: rank + suit },
          aria: { label: faceName(rank + suit, word), pressed: "false" },
          on: { click: () => onPick(rank + suit) },
        },
        faceText(rank + suit),
      ),
    ),
  );
  buttons[0][0].tabIndex = 0;
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const move = (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const row = buttons.findIndex((each) => each.includes(document.activeElement));
    const column = buttons[Math.max(row, 0)].indexOf(document.activeElement);
    const to = buttons[(Math.max(row, 0) + step[0] + 4) % 4][(Math.max(column, 0) + step[1] + 13) % 13];
    for (const each of buttons.flat()) each.tabIndex = each === to ? 0 : -1;
    to.focus();
  };
  return el(
    "div.pad",
    { role: "group", aria: { label: word("card.pad") }, on: { keydown: move } },
    ...buttons.flat(),
  );
}

/** Mark the chosen face of a pad. */
export function choose(pad, face) {
  for (const button of pad.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.dataset.face === face));
  }
}

// The form that finds coups, and the list of matches.

import { RANKS, SUITS, faceText } from "../cards.js";
import { byId, el, fill } from "../dom.js";
import { timeText } from "../words.js";

const PAGE = 20;
const RESULTS = ["player", "banker", "tie", "void"];
const NUMBERS = ["number", "seat"];
const TIMES = ["since", "until"];

/** Return a coup's outcome in the page's language. */
export function resultText(result, word) {
  if (!result) return word("replay.in_progress");
  return result === "void" ? word("phase.voided") : word(`winner.${result}`);
}

/** The left side of the page: form and list. */
export class Finder {
  /**
   * @param {import("../station.js").Station} station
   * @param {(command: string, fields: object, said: HTMLElement) => Promise<?object>} ask
   * @param {(coup: string) => void} open called with the chosen coup.
   */
  constructor(station, ask, open) {
    this.station = station;
    this.ask = ask;
    this.open = open;
    this.form = byId("find");
    this.searches = 0;
    this.oldest = null;
    this.chosen = null;
    const { word } = station;
    const options = (values, text) => [
      el("option", { value: "" }, word("replay.any")),
      ...values.map((value) => el("option", { value }, text(value))),
    ];
    const faces = SUITS.flatMap((suit) => RANKS.map((rank) => rank + suit));
    this.form.elements.namedItem("face").append(...options(faces, faceText));
    this.form.elements.namedItem("result").append(...options(RESULTS, (each) => resultText(each, word)));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.search();
    });
    this.form.addEventListener("reset", () => setTimeout(() => this.search()));
    byId("more").addEventListener("click", () => this.search(this.oldest));
  }

  /** Return the fields that are not empty. */
  #wanted() {
    const entries = [...new FormData(this.form)].filter(([, value]) => value !== "");
    return Object.fromEntries(
      entries.map(([name, value]) => {
        if (NUMBERS.includes(name)) return [name, Number(value)];
        // A date without a time would be one of Greenwich.
        if (TIMES.includes(name)) return [name, new Date(value.length > 10 ? value : `${value}T00:00`).toISOString()];
        return [name, value];
      }),
    );
  }

  /** Find coups, from the newest down or from before a given one. */
  async search(before = null) {
    this.searches += 1;
    const mine = this.searches;
    const { word } = this.station;
    const fields = { ...this.#wanted(), limit: PAGE, ...(before ? { before } : {}) };
    const found = await this.ask("find_coups", fields, byId("found-said"));
    if (!found || mine !== this.searches) return;
    const items = found.coups.map((coup) => this.#item(coup));
    if (before) byId("found").append(...items);
    else fill(byId("found"), ...items);
    this.oldest = found.coups.at(-1)?.coup ?? this.oldest;
    byId("more").hidden = !found.more;
    const count = byId("found").children.length;
    byId("found-said").textContent = count ? "" : word("replay.none");
    this.mark(this.chosen);
    if (before) items[0]?.querySelector("button").focus();
  }

  /** Mark the coup that is shown. */
  mark(coup) {
    this.chosen = coup;
    for (const button of byId("found").querySelectorAll("button")) {
      button.setAttribute("aria-current", String(button.dataset.coup === coup));
    }
  }

  #item({ coup, at, result, player, banker, over, troubles }) {
    const { word } = this.station;
    const hand = (cards) => cards.map(faceText).join(" ") || "–";
    const marks = { player: word("bead.P"), banker: word("bead.B"), tie: word("bead.T"), void: "✕" };
    return el(
      "li",
      {},
      el(
        "button.coup",
        {
          type: "button",
          data: { coup, key: coup, result: result ?? "" },
          disabled: !over,
          on: { click: () => this.open(coup) },
        },
        el("span.mark", { aria: { hidden: "true" } }, marks[result] ?? "▶"),
        el(
          "span.about",
          {},
          el("b", {}, coup),
          el("span.outcome", {}, resultText(result, word)),
          el("span.lay", {}, `${word("side.player")} ${hand(player)} · ${word("side.banker")} ${hand(banker)}`),
          el("time", { dateTime: at }, timeText(at)),
          troubles.length
            ? el("span.troubles", {}, `⚠ ${troubles.map((each) => word(`trouble.${each}`)).join(" · ")}`)
            : null,
        ),
      ),
    );
  }
}

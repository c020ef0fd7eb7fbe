// What every page of people has: the newest state, whether it is live, and buttons that act once.
//
// A button acts when it is neither refused by the table as it stands (`state.refusals`), nor waiting
// for an answer, nor cut off from the table. Its title says which. This page judges nothing itself.

import { ask, newTransaction } from "./action.js";
import { byId, el } from "./dom.js";
import { watch } from "./live.js";
import { Queue } from "./queue.js";
import { loadWords } from "./words.js";

const SAID_MOST = 8;
// A second press of a button within this time is the same press.
const SETTLE_MS = 800;
// What makes no sense once betting on its coup is over.
const OF_BETTING = ["place_wager", "close_betting"];
// A refusal that has passed by the time the queue has asked again.
const PASSING = { place_wager: "catching_up" };

/** The page's state, words and live line; made once. */
export class Station {
  constructor(word, roles) {
    this.word = word;
    this.roles = roles;
    this.state = null;
    this.live = false;
    this.actions = new Map(); // button -> what it needs
    this.waiting = new Set(); // buttons whose answer is out
    this.meant = new Set(); // what their presses mean
    this.listeners = [];
    this.makeRoom = () => () => {};
    this.queue = new Queue({ onChange: () => this.refresh(), makeRoom: () => this.makeRoom() });
  }

  /** Load the words, and watch. */
  static async open() {
    const roles = byId("station").dataset.roles.split(" ");
    const station = new Station(await loadWords(), roles);
    return station;
  }

  /** Begin to watch; `render` is called with every state. */
  watch(render) {
    const build = document.querySelector('meta[name="build"]').content;
    this.makeRoom = watch("/console/events", {
      onState: (state) => {
        this.state = state;
        const open = this.openCoup();
        this.queue.drop(({ name, fields }) => OF_BETTING.includes(name) && fields.coup !== open, "betting_closed");
        render(state);
        this.refresh();
      },
      onHealth: (health) => this.#health(health),
      onBuild: (now) => {
        const busy = document.querySelector("dialog[open]") || !this.queue.idle;
        if (now !== build && !busy) location.reload();
      },
      onBye: () => location.assign("/login"),
    });
  }

  #health({ live, reason }) {
    this.live = live;
    document.body.dataset.live = live ? "yes" : "no";
    const lost = byId("lost");
    lost.hidden = live;
    if (!live) lost.textContent = `${this.word(`lost.${reason || "server"}`)} ${this.word("station.until_then")}`;
    for (const listen of this.listeners) listen({ live, reason });
    this.refresh();
  }

  /** Be told of every change of the line to the table. */
  onHealth(listen) {
    this.listeners.push(listen);
  }

  /** The coup on which betting is open, as far as this page knows; null where there is none. */
  openCoup() {
    const { coup } = this.state ?? {};
    return coup?.phase === "betting" ? coup.id : null;
  }

  /** Why a command cannot be given now; empty where it can. */
  whyNot(command, roles = []) {
    const { asking } = this.queue;
    if (asking) return this.word("why.asking", { command: this.word(`command.${asking}`) });
    if (!this.live || !this.state) return this.word("why.not_live");
    if (roles.length && !roles.some((role) => this.roles.includes(role))) {
      return this.word("why.role", { roles: roles.map((r) => this.word(`role.${r}`)).join(", ") });
    }
    const refusal = this.state.refusals[command];
    return refusal && refusal.code !== PASSING[command] ? this.explain(refusal) : "";
  }

  /** A refusal in words of the page's language where there are some, and its code. */
  explain({ code, text }) {
    const key = `code.${code}`;
    const known = this.word(key);
    return `${known === key ? text : known} (${code})`;
  }

  /**
   * Let a button do something.
   *
   * @param {HTMLButtonElement} button
   * @param {{command: string, roles?: string[], act: () => void, also?: () => string, shut?: (why: string) => void}} action
   *     `also` gives a further reason why not, or nothing; with `shut` the button can be pressed
   *     where the command cannot be given, and `shut` is told why.
   */
  bind(button, action) {
    this.actions.set(button, action);
    button.addEventListener("click", () => {
      const why = action.shut ? this.whyNot(action.command, action.roles) : "";
      if (why) action.shut(why);
      else action.act();
    });
    this.#show(button, action);
    return button;
  }

  /** Enable and disable every button by what holds now. */
  refresh() {
    for (const [button, action] of this.actions) {
      if (button.isConnected) this.#show(button, action);
      else this.actions.delete(button);
    }
  }

  #show(button, { command, roles, also, shut }) {
    const first = this.waiting.has(button) ? this.word("why.waiting") : "";
    const why = first || this.whyNot(command, roles);
    const more = also?.() ?? "";
    button.disabled = Boolean((why && !shut) || more);
    if (shut) button.setAttribute("aria-disabled", String(Boolean(why || more)));
    button.title = why || more;
  }

  /**
   * Put a command into the queue, and tell what became of it.
   *
   * @param {string} command
   * @param {object} fields its body without the transaction.
   * @param {(standing: string, answer?: object) => void} tell see `Queue.put`.
   */
  press(command, fields, tell) {
    this.queue.put(command, fields, (standing, answer) => {
      if (standing === "asked") this.say(command, { result: "unknown" });
      if (standing === "over") this.say(command, answer);
      tell(standing, answer);
    });
  }

  /**
   * Send a command, once for what the person means: a second press of the same is the same.
   *
   * @param {HTMLElement} button what was pressed; it waits for the answer.
   * @param {(answer: object) => void} [onAnswer]
   */
  send(button, command, fields, onAnswer = () => {}) {
    const key = JSON.stringify([command, fields]);
    if (this.meant.has(key)) return;
    this.meant.add(key);
    this.waiting.add(button);
    this.refresh();
    const pressed = performance.now();
    this.press(command, fields, (standing, answer) => {
      if (standing !== "over") return;
      onAnswer(answer);
      const again = () => {
        this.meant.delete(key);
        this.waiting.delete(button);
        this.refresh();
      };
      setTimeout(again, Math.max(0, SETTLE_MS - (performance.now() - pressed)));
    });
  }

  /** A key was pressed whose button is shut: say why, where it is not the same press again. */
  shut(button) {
    if (!this.waiting.has(button)) this.say(button.dataset.command, { result: "dropped", text: button.title });
  }

  /** Ask to see something that changes nothing; the whole answer, or "lost" where there is none. */
  async look(command, fields) {
    const answer = await ask(command, { ...fields, transaction: newTransaction() });
    return answer.result === "unknown" ? { ...answer, result: "lost" } : answer;
  }

  /** An answer in words: what became of it, and why. */
  told(answer) {
    const text = answer.code ? this.explain(answer) : (answer.text ?? "");
    return `${this.word(`result.${answer.result}`)}${text ? `: ${text}` : ""}`;
  }

  /** Tell what became of a command; the newest first. */
  say(command, answer) {
    const { word } = this;
    const ok = answer.result === "accepted" || answer.result === "exists";
    const said = el(
      `li.${ok ? "ok" : "no"}`,
      { data: { result: answer.result, command, code: answer.code ?? "" } },
      el("b", {}, ok ? "✓ " : "✗ ", word(`command.${command}`)),
      ` ${this.told(answer)}`,
    );
    const list = byId("said");
    list.prepend(said);
    while (list.children.length > SAID_MOST) list.lastChild.remove();
    if (answer.result === "login") location.assign("/login");
  }
}

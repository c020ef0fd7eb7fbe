// The common part of every console page: the newest state, its liveness, and buttons that act once.
//
// A button is enabled unless the table refuses its command now (`state.refusals`), an answer is
// pending, or the page has no live connection. Its title shows the reason. The page decides nothing
// itself.

import { ask, newTransaction } from "./send_command.js";
import { byId, el } from "./dom.js";
import { watch } from "./live.js";
import { Queue } from "./command_queue.js";
import { goToLogin, showEnding } from "./login.js";
import { loadWords } from "./words.js";

const SAID_MOST = 8;
// A second press of a button within this time is the same press.
const SETTLE_MS = 800;
// What makes no sense once betting on its coup is over.
const OF_BETTING = ["place_wager", "close_betting"];
// A refusal that has passed by the time the queue has asked again.
const PASSING = { place_wager: "catching_up" };

/** A console page's state, texts and event stream; a page has one. */
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

  /** Load the texts, and read the stream. */
  static async open() {
    const roles = byId("station").dataset.roles.split(" ");
    const station = new Station(await loadWords(), roles);
    return station;
  }

  /** Start to read the stream; call `render` with every state. */
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
      onBye: goToLogin,
      onLogin: showEnding(this.word),
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

  /** Register a function to be called at every change of liveness. */
  onHealth(listen) {
    this.listeners.push(listen);
  }

  /** Return the coup with open betting, as far as this page knows, or null. */
  openCoup() {
    const { coup } = this.state ?? {};
    return coup?.phase === "betting" ? coup.id : null;
  }

  /** Return why a command is unavailable now; empty if it is available. */
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

  /** Return a refusal's text in the page's language, if there is one, and its code. */
  explain({ code, text }) {
    const key = `code.${code}`;
    const known = this.word(key);
    return `${known === key ? text : known} (${code})`;
  }

  /**
   * Register a button's action.
   *
   * @param {HTMLButtonElement} button
   * @param {{command: string, roles?: string[], act: () => void, also?: () => string, shut?: (why: string) => void}} action
   *     `also` returns a further reason to disable the button, or nothing. With `shut` the button
   *     stays enabled, and a press calls `shut` with the reason.
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

  /** Enable or disable every button by the present state. */
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
   * Put a command into the queue, and show its outcome.
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
   * Send a command once: a second press before the answer repeats the same command.
   *
   * @param {HTMLElement} button the pressed button; it waits for the answer.
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

  /** Show why the button of a pressed key is unavailable, unless it repeats the last press. */
  shut(button) {
    if (!this.waiting.has(button)) this.say(button.dataset.command, { result: "dropped", text: button.title });
  }

  /** Send a read-only request; return the whole answer, or "lost" without one. */
  async look(command, fields) {
    const answer = await ask(command, { ...fields, transaction: newTransaction() });
    return answer.result === "unknown" ? { ...answer, result: "lost" } : answer;
  }

  /** Return an answer as text: the outcome and its reason. */
  told(answer) {
    const text = answer.code ? this.explain(answer) : (answer.text ?? "");
    return `${this.word(`result.${answer.result}`)}${text ? `: ${text}` : ""}`;
  }

  /** Show a command's outcome, the newest first. */
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
    if (answer.result === "login") goToLogin();
  }
}

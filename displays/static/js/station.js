// The common part of every console page: the newest state, its liveness, and buttons that act once.
//
// A button is enabled unless the table refuses its command now (`state.refusals`), an answer is
// pending, or the page has no live connection. Its title shows the reason. The page decides nothing
// itself.

import { ask, newTransaction } from "./send_command.js";
import { byId, el } from "./dom.js";
import { watch } from "./live.js";
import { Queue } from "./command_queue.js";
import { describe, limitOf } from "./command_text.js";
import { goToLogin, showEnding } from "./login.js";
import { loadRecordWords, loadWords, recordTeller, timeText } from "./words.js";

const SAID_MOST = 8;
// A second press of a button within this time is the same press.
const SETTLE_MS = 800;
// What makes no sense once betting on its coup is over.
const OF_BETTING = ["place_wager", "close_betting"];
// A refusal that has passed by the time the queue has asked again.
const PASSING = { place_wager: "catching_up" };
// Commands that put a coup on record right: it is named in them, and they are bound to a preview.
const OF_RECORD = ["correct_hands", "correct_wager", "correct_rulebook", "void_coup", "acknowledge_correction"];

/** A console page's state, texts and event stream; a page has one. */
export class Station {
  constructor(word, recordWords, roles) {
    this.word = word;
    this.recordWords = recordWords;
    this.tell = (text) => text; // says a text of the table in the page's language
    this.roles = roles;
    this.state = null;
    this.live = false;
    this.lostAt = null; // when it was lost, since it was live
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
    const station = new Station(await loadWords(), await loadRecordWords(), roles);
    return station;
  }

  /** Start to read the stream; call `render` with every state. */
  watch(render) {
    const build = document.querySelector('meta[name="build"]').content;
    this.makeRoom = watch("/console/events", {
      onState: (state) => {
        this.state = state;
        this.tell = recordTeller(this.recordWords, state.spoken ?? {});
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
    }, document.querySelector('meta[name="csrf"]').content);
  }

  #health({ live, reason, betting_ms }) {
    if (live) this.lostAt = null;
    else if (this.live) this.lostAt = Date.now();
    this.live = live;
    document.body.dataset.live = live ? "yes" : "no";
    const lost = byId("lost");
    lost.hidden = live;
    const since = this.lostAt && this.word("lost.since", { time: timeText(this.lostAt, { date: false }) });
    if (!live) lost.textContent = [this.word(`lost.${reason || "server"}`), this.word("station.until_then"), since].filter(Boolean).join(" ");
    for (const listen of this.listeners) listen({ live, reason, betting_ms });
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
    return this.#refusal(command, roles);
  }

  /** Return why the table would refuse a command by its newest state, live or not; empty if it would not. */
  #refusal(command, roles = []) {
    if (roles.length && !roles.some((role) => this.roles.includes(role))) {
      return this.word("why.role", { roles: roles.map((r) => this.word(`role.${r}`)).join(", ") });
    }
    const refusal = this.state?.refusals[command];
    return refusal && refusal.code !== PASSING[command] ? this.explain(refusal) : "";
  }

  /**
   * Return a refusal's text in the page's language, if there is one, with the limit that it is about.
   *
   * @param {{code: string, text?: string}} refusal
   * @param {object} [fields] of the command.
   */
  explain({ code, text }, fields) {
    const figure = this.state && limitOf(code, fields, this.state.rulebook, this.word);
    if (figure) return figure;
    const key = `code.${code}`;
    const known = this.word(key);
    const said = known === key ? text || code : known;
    return code === "invalid_limits" && text ? `${said}: ${text}` : said;
  }

  /** Return the newest coup of the table as this page shows it; empty before the first. */
  newestCoup() {
    return this.state?.coup?.id ?? "";
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
    // While the table is lost the page says so once, and its buttons stand as they stood.
    const refused = this.#refusal(command, roles);
    button.dataset.possible = this.state && !refused ? "yes" : "no";
    const shown = button.querySelector(".why");
    if (shown) shown.textContent = (this.live ? why : refused) || more;
  }

  /**
   * Put a command into the queue, and show its outcome.
   *
   * @param {string} command
   * @param {object} fields its body without the transaction.
   * @param {(standing: string, answer?: object) => void} tell see `Queue.put`.
   */
  press(command, fields, tell) {
    const bound = OF_RECORD.includes(command) ? fields : { during: this.newestCoup(), ...fields };
    const about = describe(command, fields, this.state, this.word);
    this.queue.put(command, bound, (standing, answer) => {
      if (standing === "asked") this.say(command, { result: "unknown" }, about, fields);
      if (standing === "over") this.say(command, answer, about, fields);
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
  told(answer, fields) {
    const text = answer.code ? this.explain(answer, fields) : (answer.text ?? "");
    return `${this.word(`result.${answer.result}`)}${text ? `: ${text}` : ""}`;
  }

  /** Show a command's outcome, the newest first; `about` says what the command was for. */
  say(command, answer, about = "", fields = {}) {
    const { word } = this;
    const ok = answer.result === "accepted" || answer.result === "exists";
    const said = el(
      `li.${ok ? "ok" : "no"}`,
      { data: { result: answer.result, command, code: answer.code ?? "" } },
      el("b", {}, ok ? "✓ " : "✗ ", word(`command.${command}`), about ? ` · ${about}` : ""),
      ` ${this.told(answer, fields)}`,
    );
    const list = byId("said");
    list.prepend(said);
    while (list.children.length > SAID_MOST) list.lastChild.remove();
    if (answer.result === "login") goToLogin();
  }
}

// What every page of people has: the newest state, whether it is live, and buttons that act once.
//
// A button acts when it is neither refused by the table as it stands (`state.refusals`), nor waiting
// for an answer, nor cut off from the table. Its title says which. This page judges nothing itself.

import { ask } from "./action.js";
import { byId, el } from "./dom.js";
import { intend, newTransaction } from "./intent.js";
import { watch } from "./live.js";
import { loadWords } from "./words.js";

const SAID_MOST = 8;

/** The page's state, words and live line; made once. */
export class Station {
  constructor(word, roles) {
    this.word = word;
    this.roles = roles;
    this.state = null;
    this.live = false;
    this.actions = new Map(); // button -> what it needs
    this.waiting = new Set(); // buttons whose answer is out
    this.listeners = [];
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
    watch("/console/events", {
      onState: (state) => {
        this.state = state;
        render(state);
        this.refresh();
      },
      onHealth: (health) => this.#health(health),
      onBuild: (now) => {
        if (now !== build && !document.querySelector("dialog[open]")) location.reload();
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

  /** Why a command cannot be given now; empty where it can. */
  whyNot(command, roles = []) {
    if (!this.live || !this.state) return this.word("why.not_live");
    if (roles.length && !roles.some((role) => this.roles.includes(role))) {
      return this.word("why.role", { roles: roles.map((r) => this.word(`role.${r}`)).join(", ") });
    }
    const refusal = this.state.refusals[command];
    return refusal ? this.explain(refusal) : "";
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
   * @param {{command: string, roles?: string[], act: () => void, also?: () => string}} action
   *     `also` gives a further reason why not, or nothing.
   */
  bind(button, action) {
    this.actions.set(button, action);
    button.addEventListener("click", () => action.act());
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

  #show(button, { command, roles, also }) {
    const why = this.waiting.has(button)
      ? this.word("why.waiting")
      : this.whyNot(command, roles) || also?.() || "";
    button.disabled = Boolean(why);
    button.title = why;
  }

  /**
   * Send a command, once for what the person means.
   *
   * @param {HTMLElement} button what was pressed; it waits for the answer.
   * @param {(answer: object) => void} [onAnswer]
   */
  async send(button, command, fields, onAnswer = () => {}) {
    const done = intend(command, fields, (answer) => {
      this.say(command, answer);
      onAnswer(answer);
    });
    if (!done) return;
    this.waiting.add(button);
    button.disabled = true;
    await done;
    this.waiting.delete(button);
    button.disabled = false;
    this.refresh();
  }

  /** Ask to see something that changes nothing; the whole answer. */
  look(command, fields) {
    return ask(command, { ...fields, transaction: newTransaction() });
  }

  /** Tell what became of a command; the newest first. */
  say(command, answer) {
    const { word } = this;
    const ok = answer.result === "accepted" || answer.result === "exists";
    const text = answer.result === "refused" ? this.explain(answer) : (answer.text ?? "");
    const said = el(
      `li.${ok ? "ok" : "no"}`,
      { data: { result: answer.result, command, code: answer.code ?? "" } },
      el("b", {}, ok ? "✓ " : "✗ ", word(`command.${command}`)),
      ` ${word(`result.${answer.result}`)}`,
      text ? `: ${text}` : "",
    );
    const list = byId("said");
    list.prepend(said);
    while (list.children.length > SAID_MOST) list.lastChild.remove();
    if (answer.result === "login") location.assign("/login");
  }
}

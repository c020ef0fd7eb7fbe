// A page's command queue: sends commands one at a time, in the order of the presses.
//
// Each press has its own transaction. The queue sends the next command after the table has answered
// the one before, so that the log keeps their order. A command for a coup names the coup, and the
// table refuses it in any other. The queue reports the outcome of every press to the person.

import { carryOut, newTransaction } from "./send_command.js";

/** The command queue; a page has one. */
export class Queue {
  /**
   * @param {object} page
   * @param {() => void} page.onChange called when the queue begins or ends asking for a fate.
   * @param {() => () => void} page.makeRoom see `carryOut`.
   */
  constructor({ onChange, makeRoom }) {
    this.onChange = onChange;
    this.makeRoom = makeRoom;
    this.waiting = [];
    this.running = false;
    this.asking = ""; // the command that has no answer, and whose fate is being asked for
  }

  /** Whether no command waits or is in flight. */
  get idle() {
    return !this.running && this.waiting.length === 0;
  }

  /**
   * Append a command.
   *
   * @param {string} name
   * @param {object} fields its body without the transaction.
   * @param {(standing: string, answer?: object) => void} tell called with "waits", "sent", "asked"
   *     and, once and last, "over" with the answer. Its `result` is the table's, or "dropped" for
   *     a command that was not sent; its `code` is then the reason.
   */
  put(name, fields, tell) {
    // A page that fails to draw what it is told must not hold up what is behind.
    const told = (...what) => {
      try {
        tell(...what);
      } catch (error) {
        reportError(error);
      }
    };
    this.waiting.push({ name, fields, tell: told });
    told("waits");
    if (!this.running) this.#run();
  }

  /** Drop the commands that were not sent yet, with a reason. */
  drop(which, code) {
    const dropped = this.waiting.filter(which);
    this.waiting = this.waiting.filter((press) => !dropped.includes(press));
    for (const { tell } of dropped) tell("over", { result: "dropped", code });
  }

  async #run() {
    this.running = true;
    while (this.waiting.length) {
      const { name, fields, tell } = this.waiting.shift();
      tell("sent");
      const answer = await carryOut(
        name,
        { ...fields, transaction: newTransaction() },
        {
          makeRoom: this.makeRoom,
          onGivenUp: () => {
            this.#ask(name);
            tell("asked");
            // They were pressed by somebody who thought that this one would go through.
            this.drop(() => true, "not_sent");
          },
        },
      );
      this.#ask("");
      tell("over", answer);
    }
    this.running = false;
  }

  #ask(name) {
    if (this.asking === name) return;
    this.asking = name;
    this.onChange();
  }
}

// The commands of a page, one after the other in the order in which they were pressed.
//
// Each press has its own transaction, and the next is sent when the table has answered the one
// before, so that the log has them as they were pressed. What was pressed for a coup names it, and
// the table refuses it in any other. Nothing is dropped in silence: whoever presses is told of every
// press what became of it.

import { carryOut, newTransaction } from "./action.js";

/** A page's queue; a page has one. */
export class Queue {
  /**
   * @param {object} page
   * @param {() => void} page.onChange told when the queue's head is asked after, or no longer.
   * @param {() => () => void} page.makeRoom see `carryOut`.
   */
  constructor({ onChange, makeRoom }) {
    this.onChange = onChange;
    this.makeRoom = makeRoom;
    this.waiting = [];
    this.running = false;
    this.asking = ""; // the command that has no answer, and whose fate is being asked for
  }

  /** Whether nothing waits and nothing is on its way. */
  get idle() {
    return !this.running && this.waiting.length === 0;
  }

  /**
   * Put a command at the end.
   *
   * @param {string} name
   * @param {object} fields its body without the transaction.
   * @param {(standing: string, answer?: object) => void} tell called with "waits", "sent", "asked"
   *     and, once and last, "over" with the answer. Its `result` is the table's, or "dropped" for
   *     what was not sent; then its `code` says why.
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

  /** Drop what was not sent yet, for a reason. */
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

/**
 * A reader of the TOML that rulebooks and wire profiles are written in.
 *
 * It knows tables, arrays of tables, keys (bare, quoted, dotted), strings on one line, whole
 * numbers, booleans, arrays and inline tables. Whatever else TOML has is refused, never guessed.
 */

const ESCAPES = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", '"': '"', "\\": "\\" };
const BARE = /[A-Za-z0-9_-]+/y;
const INTEGER = /[+-]?(?:0|[1-9](?:_?[0-9])*)(?![0-9A-Za-z_.:-])/y;
const BOOLEAN = /(?:true|false)(?![A-Za-z0-9_-])/y;

class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text.replace(/\r\n/g, "\n");
    this.at = 0;
  }

  fail(what) {
    const line = this.text.slice(0, this.at).split("\n").length;
    throw new Error(`line ${line}: ${what}`);
  }

  /** @param {string} token @returns {boolean} whether it stood here, and is behind us now */
  take(token) {
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  expect(token) {
    if (!this.take(token)) this.fail(`${JSON.stringify(token)} would be right`);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found?.[0];
  }

  /** Skip blanks, and where `lines` is true line ends and comments. */
  skip(lines = false) {
    this.match(lines ? /(?:[ \t\n]+|#[^\n]*)*/y : /[ \t]*/y);
  }

  /** Go behind the end of the line; only a comment may stand before it. */
  endLine() {
    this.skip();
    this.match(/#[^\n]*/y);
    if (this.at < this.text.length) this.expect("\n");
  }

  key() {
    const found = this.match(BARE);
    if (found !== undefined) return found;
    if (this.text[this.at] === '"' || this.text[this.at] === "'") return this.string();
    return this.fail("a key would be right");
  }

  keys() {
    const found = [];
    do {
      this.skip();
      found.push(this.key());
      this.skip();
    } while (this.take("."));
    return found;
  }

  string() {
    if (this.text.startsWith('"""', this.at) || this.text.startsWith("'''", this.at)) {
      this.fail("strings of several lines are not read here");
    }
    if (this.take("'")) {
      const found = this.match(/[^'\n]*/y);
      this.expect("'");
      return found;
    }
    this.expect('"');
    let value = "";
    while (!this.take('"')) {
      const found = this.match(/[^"\\\n]+/y);
      if (found !== undefined) value += found;
      else if (this.take("\\")) value += this.escape();
      else this.fail("a string that does not end");
    }
    return value;
  }

  escape() {
    const letter = this.text[this.at];
    this.at += 1;
    if (letter in ESCAPES) return ESCAPES[letter];
    const digits = { u: 4, U: 8 }[letter];
    const code = this.text.slice(this.at, this.at + (digits ?? 0));
    if (!digits || !/^[0-9A-Fa-f]+$/.test(code) || code.length !== digits) this.fail("an unknown escape");
    this.at += digits;
    return String.fromCodePoint(parseInt(code, 16));
  }

  value() {
    this.skip();
    const letter = this.text[this.at];
    if (letter === '"' || letter === "'") return this.string();
    if (letter === "[") return this.array();
    if (letter === "{") return this.inlineTable();
    const truth = this.match(BOOLEAN);
    if (truth) return truth === "true";
    const number = this.match(INTEGER);
    if (number === undefined) this.fail("a text, a whole number, true, false, a list or a table would be right");
    const whole = Number(number.replace(/_/g, ""));
    if (!Number.isSafeInteger(whole)) this.fail("a number beyond 2^53-1");
    return whole;
  }

  array() {
    this.expect("[");
    const values = [];
    for (this.skip(true); !this.take("]"); this.skip(true)) {
      values.push(this.value());
      this.skip(true);
      if (this.text[this.at] !== "]") this.expect(",");
    }
    return values;
  }

  inlineTable() {
    this.expect("{");
    const table = {};
    this.skip();
    if (this.take("}")) return table;
    do {
      this.assign(table);
      this.skip();
    } while (this.take(","));
    this.expect("}");
    return table;
  }

  /** Read `key = value` into `table`. */
  assign(table) {
    const keys = this.keys();
    this.expect("=");
    const last = keys.pop();
    const inner = keys.reduce((place, key) => this.enter(place, key), table);
    if (Object.hasOwn(inner, last)) this.fail(`${last} is said twice`);
    inner[last] = this.value();
  }

  enter(table, key) {
    if (!Object.hasOwn(table, key)) table[key] = {};
    const inner = Array.isArray(table[key]) ? table[key].at(-1) : table[key];
    if (typeof inner !== "object") this.fail(`${key} is no table`);
    return inner;
  }

  document() {
    const root = {};
    const opened = new Set();
    let table = root;
    for (;;) {
      this.skip(true);
      if (this.at >= this.text.length) return root;
      if (this.text[this.at] === "[") table = this.header(root, opened);
      else this.assign(table);
      this.endLine();
    }
  }

  header(root, opened) {
    const many = this.take("[[");
    if (!many) this.expect("[");
    const keys = this.keys();
    this.expect(many ? "]]" : "]");
    const name = JSON.stringify(keys);
    if (!many && opened.has(name)) this.fail(`${keys.join(".")} is opened twice`);
    const last = keys.pop();
    const outer = keys.reduce((place, key) => this.enter(place, key), root);
    if (!many) {
      opened.add(name);
      return this.enter(outer, last);
    }
    outer[last] ??= [];
    if (!Array.isArray(outer[last])) this.fail(`${last} is no list of tables`);
    outer[last].push({});
    return outer[last].at(-1);
  }
}

/** @param {string} text @returns {object} throws with the line where it cannot be read */
export function parseToml(text) {
  return new Reader(text).document();
}

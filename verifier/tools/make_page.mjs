/**
 * Write displays/verifier/verify.html, one self-contained file, from the modules: `node verifier/tools/make_page.mjs`.
 *
 * With `--check` nothing is written, and the exit code says whether the file is current. Each module
 * becomes a function that returns its exports, so that names of two modules never meet.
 */

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const FOLDER = new URL("../", import.meta.url);
const SHIPPED = "../displays/verifier/";
const read = (path) => readFileSync(new URL(path, FOLDER), "utf8");
const hash = (text, form) => createHash("sha256").update(text).digest(form);

const IMPORT = /^import \{([^}]*)\} from "([^"]+)";\n/gm;
const EXPORT = /^export (?=(?:async )?(?:function|class)|const|let)(?:async )?(?:function|class|const|let) ([A-Za-z0-9_]+)/gm;

const made = new Map();
const bundle = [];

/** @param {string} path below verifier/ @returns {string} the name of the module's value in the bundle */
function add(path) {
  if (made.has(path)) return made.get(path);
  const name = `$${path.replace(/[^a-z0-9]/g, "_")}`;
  made.set(path, name);
  const source = path === "page/words.js" ? `export const WORDS = ${JSON.stringify(JSON.parse(read("page/words.json")))};\n` : read(path);
  const exports = [...source.matchAll(EXPORT)].map((found) => found[1]);
  const text = source
    .replace(IMPORT, (_, names, from) => `const {${names}} = ${add(new URL(from, new URL(path, "file:///")).pathname.slice(1))};\n`)
    .replace(/^export /gm, "");
  bundle.push(`const ${name} = (() => {\n${text}\nreturn { ${exports.join(", ")} };\n})();\n`);
  return name;
}

add("page/page.js");
// A closing tag within a text would end the script.
const script = `"use strict";\n${bundle.join("")}`.replaceAll("</script", "<\\/script");
const style = read("page/page.css");
const fill = { "@CSS@": style, "@JS@": script, "@SCRIPT@": hash(script, "base64"), "@STYLE@": hash(style, "base64") };
const page = read("page/page.html").replace(/@[A-Z]+@/g, (mark) => fill[mark]);
const published = `${hash(page, "hex")}  verify.html\n`;

if (!process.argv.includes("--check")) {
  writeFileSync(new URL(`${SHIPPED}verify.html`, FOLDER), page);
  writeFileSync(new URL(`${SHIPPED}verify.html.sha256`, FOLDER), published);
} else if (read(`${SHIPPED}verify.html`) !== page || read(`${SHIPPED}verify.html.sha256`) !== published) {
  console.error("displays/verifier/verify.html is not current: run node verifier/tools/make_page.mjs");
  process.exit(1);
}

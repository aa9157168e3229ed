// Reads what llvm-cov exports (lcov), prints a table per file, and fails below the threshold of branches.
//   coverage.mjs FILE.lcov THRESHOLD
import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "./lib/project.mjs";

/** Modules that are shown; `must`: each of them has to reach the threshold. */
const MODULES = [
  { name: "src/protocol", must: true },
  { name: "src/webhook", must: true },
  { name: "src/types", must: false },
  { name: "src/store", must: false },
];

/** Lines from the first `#[cfg(test)]` that opens a block are tests: they would count as covered. */
function testsBegin(path) {
  const lines = readFileSync(path, "utf8").split("\n");
  const at = lines.findIndex((line, index) => line === "#[cfg(test)]" && /^mod \w+ \{$/.test(lines[index + 1] ?? ""));
  return at < 0 ? Infinity : at + 1;
}

/** Each file's lines and branches with how often they were taken; the same place in two builds counts once. */
function parse(text) {
  const files = new Map();
  let file;
  const more = (map, key, count) => map.set(key, Math.max(map.get(key) ?? 0, count));
  for (const line of text.split("\n")) {
    const [what, rest] = [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)];
    if (what === "SF") {
      const name = relative(ROOT, rest).replaceAll("\\", "/");
      const counts = existsSync(rest) && !name.endsWith("_tests.rs");
      file = counts ? { name, end: testsBegin(rest), lines: new Map(), branches: new Map() } : undefined;
      if (file) files.set(name, file);
    } else if (what === "DA" && file) {
      const [at, count] = rest.split(",").map(Number);
      if (at < file.end) more(file.lines, at, count);
    } else if (what === "BRDA" && file) {
      const [at, block, branch, count] = rest.split(",");
      if (Number(at) < file.end) more(file.branches, `${at},${block},${branch}`, count === "-" ? 0 : Number(count));
    }
  }
  return [...files.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const all = (map) => ({ all: map.size, taken: [...map.values()].filter((count) => count > 0).length });
const sum = (list) => list.reduce((a, b) => ({ all: a.all + b.all, taken: a.taken + b.taken }), { all: 0, taken: 0 });
const percent = ({ all, taken }) => (all === 0 ? 100 : (100 * taken) / all);

function cell(part) {
  if (part.all === 0) return "–".padStart(9) + " ".repeat(9);
  return `${part.taken}/${part.all}`.padStart(9) + `${percent(part).toFixed(1)} %`.padStart(9);
}

function row(name, lines, branches) {
  console.log(`${name.padEnd(34)}${cell(lines)}  ${cell(branches)}`);
}

const [path, threshold] = [process.argv[2], Number(process.argv[3])];
const files = parse(readFileSync(path, "utf8"));
const missed = [];
const missedLines = [];
const failures = [];
console.log(`${"".padEnd(34)}${"lines".padStart(18)}  ${"branches".padStart(18)}`);
for (const { name, must } of MODULES) {
  const own = files.filter((file) => file.name.startsWith(`${name}/`) && file.lines.size > 0);
  if (own.length === 0) failures.push(`${name}: nothing was measured`);
  for (const file of own) {
    row(file.name.slice(4), all(file.lines), all(file.branches));
    for (const [at, count] of file.lines) if (count === 0 && must) missedLines.push(`${file.name}:${at}`);
    for (const [key, count] of file.branches) {
      if (count > 0 || !must) continue;
      const [at, , branch] = key.split(",");
      missed.push(`${file.name}:${at}: never ${branch === "0" ? "true" : "false"}`);
    }
  }
  const branches = sum(own.map((file) => all(file.branches)));
  row(`= ${name}`, sum(own.map((file) => all(file.lines))), branches);
  console.log();
  if (must && percent(branches) < threshold) {
    failures.push(`${name}: ${percent(branches).toFixed(1)} % of branches, wanted ${threshold} %`);
  }
}
if (missed.length > 0) console.log(`Branches of the deciders that no test takes:\n  ${missed.join("\n  ")}\n`);
// An arm of a `match` is no branch for the compiler, but it has lines.
if (missedLines.length > 0) console.log(`Lines of the deciders that no test reaches:\n  ${missedLines.join("\n  ")}\n`);
for (const failure of failures) console.error(`onceward: error: ${failure}`);
process.exit(failures.length === 0 ? 0 : 1);

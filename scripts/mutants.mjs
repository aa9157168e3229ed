// Reads the outcomes of cargo-mutants and the table of explained survivors.
//   mutants.mjs left FOLDER          options that choose those that are neither noticed nor explained, two lines for each
//   mutants.mjs judge FOLDER WHAT    prints the figures; fails if one is left, and, if WHAT is `all`, if a row is not needed
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./lib/project.mjs";

const TABLE = "docs/proof-survivors.md";
const STAGES = ["quick", "thorough", "model"];

/** A mutant by what it does and to which text: lines move, so their numbers say nothing. */
function read(mutant) {
  const { line, column } = mutant.span.start;
  const code = readFileSync(join(folder, "package", mutant.file), "utf8").split("\n")[line - 1].trim();
  const what = mutant.name.replace(`${mutant.file}:${line}:${column}: `, "");
  return { name: mutant.name, file: mutant.file, at: `${mutant.file}:${line}:${column}`, what, code };
}

/** What came of each mutant, by its name: the best of all stages. */
function outcomes() {
  const all = new Map();
  for (const stage of STAGES) {
    const path = join(folder, stage, "mutants.out", "outcomes.json");
    if (!existsSync(path)) continue;
    for (const { scenario, summary } of JSON.parse(readFileSync(path, "utf8")).outcomes) {
      if (!scenario.Mutant) continue;
      const before = all.get(scenario.Mutant.name);
      if (before && before.summary !== "MissedMutant") continue;
      all.set(scenario.Mutant.name, { ...read(scenario.Mutant), summary, stage });
    }
  }
  return [...all.values()];
}

/** Rows: | `file` | `what` | `line of code` | why |. A bar within a cell is written \|. */
function table() {
  const path = join(ROOT, TABLE);
  const rows = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  return rows
    .filter((row) => row.startsWith("| `"))
    .map((row) => row.split(/(?<!\\)\|/).slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll("\\|", "|").replace(/^`+ ?| ?`+$/g, "")))
    .map(([file, what, code, why]) => ({ file: `src/protocol/${file}`, what, code, why, used: false }));
}

/** Takes a row for each explained survivor; one row explains one mutant. */
function split(missed, rows) {
  return missed.filter((mutant) => {
    const row = rows.find((r) => !r.used && r.file === mutant.file && r.what === mutant.what && r.code === mutant.code && r.why);
    if (row) row.used = true;
    return !row;
  });
}

const [, , command, folder, what] = process.argv;
const all = outcomes();
const rows = table();
const missed = all.filter((mutant) => mutant.summary === "MissedMutant");
const left = split(missed, rows);
if (command === "left") {
  // (cargo-mutants 27 adds all mutants that delete a field, whatever is chosen: a dozen.)
  for (const { name } of left) console.log(`-F\n^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);
  process.exit(0);
}

const count = (summary, stage) => all.filter((m) => m.summary === summary && (!stage || m.stage === stage)).length;
const caught = STAGES.map((stage) => count("CaughtMutant", stage));
console.log(
  `${all.length} mutants: ${caught[0]} noticed by the quick native tests, ${caught[1]} by all of them, ${caught[2]} by the model; ` +
    `${count("Timeout")} never end; ${count("Unviable")} do not compile; ${missed.length} missed, ${missed.length - left.length} of them explained`,
);
for (const m of left) console.error(`${m.at}: ${m.what}\n    ${m.code}\n    | \`${m.file.slice(13)}\` | \`${m.what.replaceAll("|", "\\|")}\` | \`${m.code.replaceAll("|", "\\|")}\` | why |`);
const idle = what === "all" ? rows.filter((row) => !row.used) : [];
for (const row of idle) console.error(`${TABLE}: this is noticed, or is no more: ${row.file}: ${row.what}: ${row.code}`);
if (all.length === 0) console.error("no mutant was tested");
process.exit(left.length + idle.length > 0 || all.length === 0 ? 1 : 0);

// Where things are, and the few values of wrangler.toml that the scripts share.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const BIN = join(ROOT, "node_modules/.bin");
export const MIGRATIONS = join(ROOT, "migrations");

/** One top-level or `[vars]` value is all we need, so no TOML parser is installed for it. */
export function readWranglerToml(path = join(ROOT, "wrangler.toml")) {
  const config = { vars: {}, databases: [] };
  let table = "";
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const header = /^\s*\[+([^\]]+)\]+/.exec(line);
    if (header) table = header[1].trim();
    if (header && table === "d1_databases") config.databases.push({});
    const pair = /^\s*([A-Za-z0-9_-]+)\s*=\s*(.+?)\s*(?:#[^"']*)?$/.exec(line);
    if (!pair) continue;
    const [, key, text] = pair;
    if (table === "" && key === "compatibility_date") config.compatibilityDate = unquote(text);
    if (table === "" && key === "compatibility_flags") config.compatibilityFlags = JSON.parse(text);
    if (table === "" && key === "name") config.name = unquote(text);
    if (table === "vars") config.vars[key] = unquote(text);
    const database = config.databases.at(-1);
    if (table === "d1_databases" && key === "binding") database.binding = unquote(text);
    if (table === "d1_databases" && key === "database_id") database.id = unquote(text);
    if (table === "d1_databases" && key === "database_name") database.name = unquote(text);
  }
  return config;
}

/** Bindings and ids of `count` databases: those of wrangler.toml, and further ones that exist here only. */
export function databasesOf(config, count) {
  const named = Object.fromEntries(config.databases.map(({ binding, id }) => [binding, id]));
  for (let n = config.databases.length; n < count; n += 1) named[n === 0 ? "DB" : `DB_${n}`] = `${config.name}-local-${n}`;
  return named;
}

function unquote(text) {
  const quoted = /^(["'])(.*)\1$/.exec(text);
  return quoted ? quoted[2] : JSON.parse(text);
}

/** `KEY=value` lines of a .dev.vars file. */
export function readVarsFile(path) {
  const vars = {};
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const pair = /^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line);
    if (pair) vars[pair[1]] = pair[2].replace(/^(["'])(.*)\1$/, "$2");
  }
  return vars;
}

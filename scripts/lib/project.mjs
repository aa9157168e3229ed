// Where things are, and the few values of wrangler.toml that the scripts share.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const BIN = join(ROOT, "node_modules/.bin");
export const MIGRATIONS = join(ROOT, "migrations");

/** One top-level or `[vars]` value is all we need, so no TOML parser is installed for it. */
export function readWranglerToml(path = join(ROOT, "wrangler.toml")) {
  const config = { vars: {} };
  let table = "";
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const header = /^\s*\[+([^\]]+)\]+/.exec(line);
    if (header) table = header[1].trim();
    const pair = /^\s*([A-Za-z0-9_-]+)\s*=\s*(.+?)\s*(?:#[^"']*)?$/.exec(line);
    if (!pair) continue;
    const [, key, text] = pair;
    if (table === "" && key === "compatibility_date") config.compatibilityDate = unquote(text);
    if (table === "" && key === "compatibility_flags") config.compatibilityFlags = JSON.parse(text);
    if (table === "" && key === "name") config.name = unquote(text);
    if (table === "vars") config.vars[key] = unquote(text);
    if (table === "d1_databases" && key === "database_id") config.databaseId = unquote(text);
    if (table === "d1_databases" && key === "database_name") config.databaseName = unquote(text);
  }
  return config;
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

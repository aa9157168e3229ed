// Applies migrations/*.sql to a D1 binding, with the same bookkeeping table as `wrangler d1 migrations apply`,
// so that either may go on where the other stopped.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const TABLE = `CREATE TABLE IF NOT EXISTS d1_migrations(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`;

/** Returns the names of the migrations that were applied now. */
export async function migrate(db, folder) {
  await db.prepare(TABLE).run();
  const { results } = await db.prepare("SELECT name FROM d1_migrations").all();
  const known = new Set(results.map((row) => row.name));
  const pending = readdirSync(folder).filter((name) => name.endsWith(".sql") && !known.has(name)).sort();
  for (const name of pending) {
    const statements = splitSql(readFileSync(join(folder, name), "utf8"));
    const mark = db.prepare("INSERT INTO d1_migrations(name) VALUES (?)").bind(name);
    await db.batch([...statements.map((sql) => db.prepare(sql)), mark]);
  }
  return pending;
}

/** Splits at `;` outside of strings, quoted names, comments and trigger bodies. */
export function splitSql(text) {
  const token = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|\w+|;|[\s\S]/g;
  const statements = [];
  let current = "";
  let depth = 0;
  let trigger = false;
  for (const [part] of text.matchAll(token)) {
    if (part.startsWith("--") || part.startsWith("/*")) {
      current += " ";
      continue;
    }
    const word = part.toUpperCase();
    if (word === "TRIGGER") trigger = true;
    if (trigger && (word === "BEGIN" || word === "CASE")) depth += 1;
    if (trigger && word === "END") depth -= 1;
    if (part === ";" && depth <= 0) {
      if (current.trim()) statements.push(current.trim());
      current = "";
      trigger = false;
      depth = 0;
    } else {
      current += part;
    }
  }
  if (current.trim()) statements.push(current.trim());
  return statements;
}

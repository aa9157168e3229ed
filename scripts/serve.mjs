// Runs a built bundle on bare workerd (the Miniflare library with a direct socket): starts in about a second, is as
// fast as workerd itself, and can be killed with -9 at any time. For tests and benchmarks; people use `make dev`.
//
//   node_modules/.bin/node scripts/serve.mjs
//
// Every option is an environment variable or the flag of the same name (ONCEWARD_PORT or --port):
//   port    0 (default) takes a free one
//   state   folder of the objects and of D1, kept over restarts; without it the data is gone at the end
//   build   folder with index.js and index_bg.wasm (default build-lab)
//   vars    JSON object of variables and secrets, over [vars] of wrangler.toml and the values of .dev.vars.example
//   limiters JSON object of rate limiters: {"NAME": {"limit": 5, "period": 60}}
//   databases how many D1 databases there are at least (default: those of wrangler.toml); all get the migrations
//   host    default 127.0.0.1
//   verbose 1 prints what workerd logs (it is quiet otherwise, but for errors)
//
// Prints, one a line:   cron http://127.0.0.1:PORT2/cdn-cgi/local/scheduled?cron=*+*+*+*+*
//                       ready http://127.0.0.1:PORT
// A GET of the cron address runs the scheduled handler and answers with its outcome: local engines have no clock for
// it. (It is served by Miniflare's own entry on a second port; the direct socket has the Worker's routes only.)
//
// Start it in a process group of its own (Rust: `Command::process_group(0)`, Node: `detached`): `kill -9 -PGID` then
// takes Node and workerd at once. SIGTERM ends both in order. When Node alone is killed workerd dies too on Linux.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { MIGRATIONS, ROOT, databasesOf, readVarsFile, readWranglerToml } from "./lib/project.mjs";
import { openFilesWarning } from "./lib/processes.mjs";
import { migrate } from "./lib/migrate.mjs";

function options() {
  const names = ["port", "state", "build", "vars", "limiters", "databases", "host", "verbose"];
  const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });
  const get = (name, fallback) => values[name] ?? process.env[`ONCEWARD_${name.toUpperCase()}`] ?? fallback;
  return {
    port: Number(get("port", "0")),
    state: get("state"),
    build: resolve(ROOT, get("build", "build-lab")),
    vars: JSON.parse(get("vars", "{}")),
    limiters: JSON.parse(get("limiters", "{}")),
    databases: databasesOf(readWranglerToml(), Number(get("databases", "1"))),
    host: get("host", "127.0.0.1"),
    verbose: get("verbose", "") === "1",
  };
}

function fail(message) {
  console.error(`serve: ${message}`);
  process.exit(1);
}

function miniflareOptions(given, modules) {
  const config = readWranglerToml();
  const { kCurrentWorker, Log, LogLevel, convertV4MiniflareOptions } = modules;
  return convertV4MiniflareOptions({
    host: given.host,
    port: 0,
    cf: false,
    log: new Log(given.verbose ? LogLevel.INFO : LogLevel.ERROR),
    handleStructuredLogs: ({ level, message }) => {
      if (given.verbose || level === "error") console.error(`workerd ${level}: ${message}`);
    },
    unsafeTriggerHandlers: true,
    resourcePersistencePath: given.state && join(resolve(given.state), "v3"), // the layout of `wrangler dev --persist-to`
    name: config.name,
    modulesRoot: given.build,
    modules: [
      { type: "ESModule", path: join(given.build, "index.js") },
      { type: "CompiledWasm", path: join(given.build, "index_bg.wasm") },
    ],
    compatibilityDate: config.compatibilityDate,
    compatibilityFlags: config.compatibilityFlags ?? [],
    bindings: { ...config.vars, ...devVars(), ...given.vars },
    durableObjects: { TASKS: { className: "TaskObject", useSQLite: true } },
    d1Databases: given.databases,
    serviceBindings: { SELF: kCurrentWorker },
    analyticsEngineDatasets: { ANALYTICS: { dataset: "onceward" } },
    ratelimits: limiters(given.limiters),
    unsafeDirectSockets: [{ host: given.host, port: given.port }],
  });
}

function limiters(given) {
  const entries = Object.entries(given).map(([name, simple], at) => [name, { namespace_id: `${at + 1}`, simple }]);
  return Object.fromEntries(entries);
}

function devVars() {
  const example = join(ROOT, ".dev.vars.example");
  return existsSync(example) ? readVarsFile(example) : {};
}

// A file beside the databases which says that they have these migrations. The library asks a database while nothing else of
// this process runs, not even what reads the Worker's log: after a crash overdue alarms may fill that pipe first, and both
// would wait for each other. So on a restart nothing is asked.
function markOf(given) {
  if (!given.state) return undefined;
  const hash = createHash("sha256").update(readFileSync(join(MIGRATIONS, "SHA256SUMS")));
  for (const binding of Object.keys(given.databases)) hash.update(binding);
  return join(resolve(given.state), "v3/d1", `.migrated-${hash.digest("hex").slice(0, 16)}`);
}

async function main() {
  const given = options();
  if (!existsSync(join(given.build, "index_bg.wasm"))) {
    fail(`no bundle in ${given.build}. Run \`make build-lab\`, or name another folder with --build.`);
  }
  const warning = openFilesWarning();
  if (warning) console.error(`serve: ${warning}`);
  if (given.state) mkdirSync(given.state, { recursive: true });
  process.env.MINIFLARE_WORKERD_PATH ??= join(ROOT, "scripts/workerd.sh");
  const modules = await import("miniflare");
  const server = new modules.Miniflare(miniflareOptions(given, modules));
  const stop = async () => {
    await server.dispose();
    process.exit(0);
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  const control = await server.ready;
  const direct = await server.unsafeGetDirectURL();
  const mark = markOf(given);
  if (!mark || !existsSync(mark)) {
    for (const binding of Object.keys(given.databases)) await migrate(await server.getD1Database(binding), MIGRATIONS);
    if (mark) writeFileSync(mark, "");
  }
  console.log(`cron ${new URL("/cdn-cgi/local/scheduled?cron=*+*+*+*+*", control)}`);
  console.log(`ready ${direct.origin}`);
}

main().catch((error) => fail(error.stack ?? error));

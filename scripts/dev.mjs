// `make dev`: wrangler dev with everything that a deployed Worker has and a local one lacks: migrations, secrets, cron.
//
// Environment: PORT (8787), HOST (127.0.0.1), STATE (.state), TOKEN (instead of ONCEWARD_TOKEN of .dev.vars).
// Ends on SIGTERM and SIGINT with all its children, and also when the process that started it is gone.
import { copyFileSync, createWriteStream, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { join, relative, resolve } from "node:path";
import { BIN, MIGRATIONS, ROOT, readVarsFile, readWranglerToml } from "./lib/project.mjs";
import { endAll, openFilesWarning, sleep, start } from "./lib/processes.mjs";
import { exampleCommands } from "./lib/delivery.mjs";

const READY_WITHIN_MS = 300_000; // saved changes are built meanwhile
const GRACE_MS = 5_000;
const LOG_TAIL_LINES = 40;
// Wrangler's own entry; bin/wrangler.js would put one more process in between.
const WRANGLER = join(ROOT, "node_modules/wrangler/wrangler-dist/cli.js");
const CRON_PATH = "/cdn-cgi/local/scheduled?cron=*+*+*+*+*";

const options = {
  port: Number(process.env.PORT || 8787),
  host: process.env.HOST || "127.0.0.1",
  state: resolve(process.env.STATE || join(ROOT, ".state")),
  token: process.env.TOKEN || undefined,
};
const url = `http://${["0.0.0.0", "::"].includes(options.host) ? "127.0.0.1" : options.host}:${options.port}`;
const say = (message) => console.log(`onceward: ${message}`);
let stopping = false;

async function stop(code, ...messages) {
  if (stopping) return;
  stopping = true;
  for (const message of messages) (code === 0 ? console.log : console.error)(`onceward: ${message}`);
  await endAll(GRACE_MS);
  process.exit(code);
}

/** Says so before wrangler does, whose message is long and names no way out. */
async function requireFreePort() {
  if (!Number.isInteger(options.port) || options.port < 1 || options.port > 65535) {
    await stop(1, `error: PORT=${process.env.PORT} is no port number.`);
  }
  const error = await new Promise((done) => {
    const probe = createServer().once("error", done);
    probe.listen(options.port, options.host, () => probe.close(() => done(undefined)));
  });
  if (!error) return;
  const why = error.code === "EADDRINUSE" ? "is taken by another process" : `can't be opened (${error.code})`;
  await stop(1, `error: port ${options.port} on ${options.host} ${why}.`,
    `Take another one: make dev PORT=${options.port === 65535 ? 8788 : options.port + 1}`,
    `or end the other process; see which it is with: ss -ltnp 'sport = :${options.port}'   (macOS: lsof -i :${options.port})`);
}

/** .dev.vars with TOKEN on top, in a file of this state: an --env-file takes the place of .dev.vars as a whole. */
function writeSecrets() {
  const example = join(ROOT, ".dev.vars.example");
  const own = join(ROOT, ".dev.vars");
  if (!existsSync(own)) {
    copyFileSync(example, own);
    say("made .dev.vars from .dev.vars.example");
  }
  const secrets = { ...readVarsFile(example), ...readVarsFile(own) };
  if (options.token) secrets.ONCEWARD_TOKEN = options.token;
  const file = join(options.state, "dev.vars");
  const lines = Object.entries(secrets).map(([name, value]) => `${name}=${quoteForEnvFile(value)}\n`);
  writeFileSync(file, lines.join(""), { mode: 0o600 });
  return { file, secrets };
}

/** The format has no escapes: the value takes the first kind of quotes that isn't part of it. */
function quoteForEnvFile(value) {
  const quote = ["'", '"', "`"].find((candidate) => !value.includes(candidate));
  return quote ? `${quote}${value}${quote}` : value;
}

function wrangler(args, stdio) {
  const env = {
    ...process.env,
    CI: "1",
    WRANGLER_SEND_METRICS: "false",
    X_LOCAL_OBSERVABILITY: "false", // recording every request makes it twice as slow
    CLOUDFLARE_CF_FETCH_ENABLED: "false", // no network needed
    MINIFLARE_WORKERD_PATH: join(ROOT, "scripts/workerd.sh"),
    ONCEWARD_VARIANT: "lab",
  };
  return start(join(BIN, "node"), ["--no-warnings", WRANGLER, ...args], { cwd: ROOT, env, stdio });
}

const exitOf = (child) => new Promise((done) => child.once("exit", (code, name) => done(code ?? name)));

/** Wrangler takes seconds to find nothing to do, so the state remembers which migrations it has. */
async function applyMigrations() {
  const hash = createHash("sha256");
  for (const name of readdirSync(MIGRATIONS).filter((file) => file.endsWith(".sql")).sort()) {
    hash.update(name).update(readFileSync(join(MIGRATIONS, name)));
  }
  const { databases } = readWranglerToml();
  for (const { name, id } of databases) hash.update(`${name} ${id}`);
  const digest = hash.digest("hex");
  const mark = join(options.state, "migrations.applied");
  if (existsSync(mark) && readFileSync(mark, "utf8") === digest) return;
  say("applying D1 migrations");
  for (const { name } of databases) {
    const child = wrangler(["d1", "migrations", "apply", name, "--local", "--persist-to", options.state],
      ["ignore", "pipe", "pipe"]);
    const log = keepTail(child);
    const code = await exitOf(child);
    if (code !== 0) await stop(1, `error: the D1 migrations of ${name} failed (${code}).`, log(), "Start from empty data with another folder: make dev STATE=.state2");
  }
  writeFileSync(mark, digest);
}

/** What wrangler says of cron is not so here: tick() does it. */
const NOT_SO = /Scheduled Workers are not automatically|To manually trigger a scheduled event|curl "http.*local\/scheduled"|test-cron-triggers-locally/;
const shown = (text) => text.split("\n").filter((line) => !NOT_SO.test(line)).join("\n");

/** Copies a child's output to a file; the returned function gives its last lines. */
function keepTail(child, { show } = {}) {
  const file = createWriteStream(join(options.state, "dev.log"), { flags: "a" });
  let lines = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      file.write(text);
      if (show) process.stdout.write(shown(text));
      lines = [...lines, ...text.split("\n")].slice(-LOG_TAIL_LINES);
    });
  }
  return () => lines.join("\n");
}

function startServer(secretsFile) {
  const child = wrangler(["dev", join(ROOT, "build-lab/index.js"), "--ip", options.host, "--port", String(options.port),
    "--persist-to", options.state, "--env-file", secretsFile, "--show-interactive-dev-session=false",
    "--inspector-port", "0"], ["ignore", "pipe", "pipe"]);
  const log = keepTail(child, { show: true });
  child.once("exit", (code, name) => {
    void stop(1, `error: wrangler dev ended by itself (${code ?? name}). The end of its log (all of it is in ${relative(ROOT, join(options.state, "dev.log"))}):`, log());
  });
}

async function untilReady() {
  const deadline = performance.now() + READY_WITHIN_MS;
  let last = "no answer";
  while (performance.now() < deadline && !stopping) {
    try {
      const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) });
      if (answer.status === 200) return;
      last = `status ${answer.status}`;
    } catch (error) {
      last = error.cause?.code ?? error.name;
    }
    await sleep(50);
  }
  await stop(1, `error: ${url}/healthz did not answer 200 within ${READY_WITHIN_MS / 1000} s (${last}).`,
    "Run `make doctor`, or try empty data: make dev STATE=.state2");
}

/** Local engines have no clock for cron: this is it, at each full minute. */
async function tick() {
  for (;;) {
    await sleep(60_000 - (Date.now() % 60_000));
    if (stopping) return;
    try {
      const answer = await fetch(url + CRON_PATH, { signal: AbortSignal.timeout(50_000) });
      if (!answer.ok) console.error(`onceward: cron answered ${answer.status}: ${(await answer.text()).slice(0, 500)}`);
    } catch (error) {
      if (!stopping) console.error(`onceward: cron did not run: ${error.cause?.code ?? error.message}`);
    }
  }
}

/** Killed with -9, `make` can't tell us; its children get another parent then. */
function endWithParent() {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) void stop(1, "the process that started make dev is gone; ending too");
  }, 500).unref();
}

function greet(secrets) {
  const { deliver, status } = exampleCommands(url, secrets.GITHUB_WEBHOOK_SECRET, secrets.ONCEWARD_TOKEN);
  console.log(`
Onceward is ready at ${url}   (data: ${relative(process.cwd(), options.state) || "."}, log: dev.log there; Ctrl-C ends it)
Cron runs at each full minute. Saved changes of src/ are built and loaded. Paste into another terminal:

# 1. A signed GitHub delivery
${deliver}

# 2. The same again, as senders do: the function doesn't run twice
${deliver}

# 3. The task that both belong to
${status}

Next: make demo (three equal deliveries at once), or docs/lab.md (retries, crashes, lost messages).`);
}

process.once("SIGTERM", () => void stop(0, "ending"));
process.once("SIGINT", () => void stop(0, "ending"));
process.once("SIGHUP", () => void stop(0, "ending"));
endWithParent();
const warning = openFilesWarning();
if (warning) console.error(`onceward: warning: ${warning}`);
mkdirSync(options.state, { recursive: true });
writeFileSync(join(options.state, "dev.log"), "");
await requireFreePort();
const { file, secrets } = writeSecrets();
await applyMigrations();
startServer(file);
await untilReady();
if (!stopping) {
  greet(secrets);
  await tick();
}

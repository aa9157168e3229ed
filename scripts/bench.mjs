// `make bench`: a first delivery, a duplicate and a bad signature, beside a hand-written object that only inserts a row.
// All of them take turns in one run on the same machine, so that the ratios mean something; single times don't.
//
// Environment: ROUNDS (300), WARMUP (30).
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { ROOT, readWranglerToml } from "./lib/project.mjs";

const ROUNDS = Number(process.env.ROUNDS || 300);
const WARMUP = Number(process.env.WARMUP || 30);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Starts Onceward's release build through serve.mjs. */
async function startOnceward(state) {
  const child = spawn(process.execPath, [join(ROOT, "scripts/serve.mjs"), "--state", state, "--build", "build"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("ready ")) return { child, url: line.slice(6) };
  }
  throw new Error("the server did not start");
}

/** Starts the object that only inserts a row. */
async function startBaseline(state) {
  process.env.MINIFLARE_WORKERD_PATH ??= join(ROOT, "scripts/workerd.sh");
  const { Miniflare, Log, LogLevel, convertV4MiniflareOptions } = await import("miniflare");
  const server = new Miniflare(
    convertV4MiniflareOptions({
      port: 0,
      cf: false,
      log: new Log(LogLevel.ERROR),
      resourcePersistencePath: join(state, "v3"),
      name: "baseline",
      modules: [{ type: "ESModule", path: "index.js", contents: readFileSync(join(ROOT, "benches/insert-a-row.js"), "utf8") }],
      compatibilityDate: readWranglerToml().compatibilityDate,
      durableObjects: { ROWS: { className: "RowObject", useSQLite: true } },
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    }),
  );
  await server.ready;
  return { server, url: (await server.unsafeGetDirectURL()).origin };
}

function post(url, path, key, more = {}) {
  const started = process.hrtime.bigint();
  return new Promise((resolve, reject) => {
    const options = { method: "POST", agent, headers: { "idempotency-key": key, "content-type": "text/plain", ...more } };
    const sent = request(`${url}${path}`, options, (response) => {
      response.resume();
      response.on("end", () => {
        const ms = Number(process.hrtime.bigint() - started) / 1e6;
        resolve({ ms, status: response.statusCode, replayed: response.headers["idempotent-replayed"] === "true" });
      });
    });
    sent.on("error", reject);
    sent.end("hello");
  });
}

/** A delivery of GitHub's whose signature is of the right form and of nothing. */
function forged(url) {
  return post(url, "/hooks/github", "forged", { "x-hub-signature-256": `sha256=${"0".repeat(64)}`, "x-github-delivery": "forged" });
}

function checkRefused(got) {
  if (got.status !== 401) throw new Error(`bad signature: got ${got.status}; this would not measure what it says`);
  return got.ms;
}

function check(got, wanted, what) {
  if (got.status !== 200 || got.replayed !== wanted) {
    throw new Error(`${what}: got ${got.status}, replayed ${got.replayed}; this would not measure what it says`);
  }
  return got.ms;
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function main() {
  const state = mkdtempSync(join(tmpdir(), "onceward-bench-"));
  const onceward = await startOnceward(join(state, "a"));
  const baseline = await startBaseline(join(state, "b"));
  try {
    const times = { first: [], duplicate: [], refused: [], insert: [], again: [] };
    for (let round = 0; round < ROUNDS + WARMUP; round += 1) {
      const key = `bench-${round}`;
      const first = check(await post(onceward.url, "/hooks/inbox", key), false, "first delivery");
      const insert = (await post(baseline.url, "/", key)).ms;
      const duplicate = check(await post(onceward.url, "/hooks/inbox", key), true, "duplicate");
      const again = (await post(baseline.url, "/", key)).ms;
      const refused = checkRefused(await forged(onceward.url));
      if (round < WARMUP) continue;
      times.first.push(first);
      times.insert.push(insert);
      times.duplicate.push(duplicate);
      times.again.push(again);
      times.refused.push(refused);
    }
    const of = (name) => median(times[name]);
    const row = (what, a, b) => {
      const ratio = median(times[a].map((ms, at) => ms / times[b][at]));
      console.log(`${what.padEnd(18)} ${of(a).toFixed(2).padStart(8)} ms ${of(b).toFixed(2).padStart(8)} ms ${ratio.toFixed(2).padStart(7)}×`);
    };
    console.log(`${ROUNDS} rounds, medians; a first delivery runs a function with one step.`);
    console.log(`${"".padEnd(18)}    onceward   insert a row   ratio`);
    row("first delivery", "first", "insert");
    row("duplicate", "duplicate", "again");
    row("bad signature", "refused", "again");
    console.log(`wasm: ${statSync(join(ROOT, "build/index_bg.wasm")).size} bytes (release)`);
    console.log("Next: compare with the same run on the commit before yours; single times are only noise.");
  } finally {
    await baseline.server.dispose();
    onceward.child.kill("SIGTERM");
    agent.destroy();
    rmSync(state, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(`bench: ${error.stack ?? error}`);
  process.exit(1);
});

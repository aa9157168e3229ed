// `make demo`: one real GitHub push, sent three times at once with one delivery id; shows what the Worker made of it.
// Uses the server of `make dev` (PORT, HOST, TOKEN as there), or starts one of its own for a moment.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BIN, ROOT, readVarsFile } from "./lib/project.mjs";
import { endAll, sleep, start } from "./lib/processes.mjs";
import { deliveryHeaders } from "./lib/delivery.mjs";

const COPIES = 3;
const FINAL_WITHIN_MS = 30_000;
const SAMPLE = "tests/samples/github/push.json";

class Failed extends Error {}

function secrets() {
  const file = [".dev.vars", ".dev.vars.example"].map((name) => join(ROOT, name)).find(existsSync);
  const vars = readVarsFile(file);
  return { webhook: vars.GITHUB_WEBHOOK_SECRET, token: process.env.TOKEN || vars.ONCEWARD_TOKEN };
}

async function isUp(url) {
  try {
    return (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(3_000) })).status === 200;
  } catch {
    return false;
  }
}

/** A server on a free port with empty data, for the time of the demo. */
async function ownServer({ webhook, token }) {
  const built = spawnSync(join(ROOT, "scripts/build.sh"), ["lab"], { stdio: "inherit" });
  if (built.status !== 0) throw new Failed("the Worker could not be built; see above.");
  const state = mkdtempSync(join(tmpdir(), "onceward-demo-"));
  process.once("exit", () => rmSync(state, { recursive: true, force: true }));
  const vars = JSON.stringify({ GITHUB_WEBHOOK_SECRET: webhook, ONCEWARD_TOKEN: token });
  const child = start(join(BIN, "node"), [join(ROOT, "scripts/serve.mjs"), "--state", state, "--vars", vars],
    { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("ready ")) return line.slice("ready ".length);
  }
  throw new Failed("the server ended before it was ready; see above. Run `make doctor`.");
}

async function deliver(url, body, headers) {
  const before = performance.now();
  const answer = await fetch(`${url}/hooks/github`, { method: "POST", body, headers });
  const text = await answer.text();
  return {
    status: answer.status,
    task: answer.headers.get("onceward-task-id") ?? undefined,
    replayed: answer.headers.get("idempotent-replayed") === "true",
    ms: Math.round(performance.now() - before),
    text,
  };
}

async function finalTask(url, token, id) {
  const deadline = performance.now() + FINAL_WITHIN_MS;
  for (;;) {
    const answer = await fetch(`${url}/v1/tasks/${id}`, { headers: { Authorization: `Bearer ${token}` } });
    const text = await answer.text();
    if (answer.status !== 200) throw new Failed(`GET /v1/tasks/${id} answered ${answer.status}: ${text.slice(0, 500)}`);
    const task = JSON.parse(text);
    if (["succeeded", "failed", "cancelled"].includes(task.state ?? task.status)) return task;
    if (performance.now() > deadline) return task;
    await sleep(200);
  }
}

function report(answers) {
  for (const [index, { status, task, replayed, ms }] of answers.entries()) {
    const mark = replayed ? "a duplicate (Idempotent-Replayed: true)" : "the first";
    console.log(`  ${index + 1}.  ${status}  ${ms} ms  task ${task ?? "-"}  ${task ? mark : ""}`);
  }
}

async function main() {
  const { webhook, token } = secrets();
  const devUrl = `http://${process.env.HOST || "127.0.0.1"}:${process.env.PORT || 8787}`;
  const body = readFileSync(join(ROOT, SAMPLE), "utf8");
  const borrowed = await isUp(devUrl);
  if (!borrowed) console.log(`No make dev at ${devUrl}; starting a server for the demo.`);
  const url = borrowed ? devUrl : await ownServer({ webhook, token });
  const headers = deliveryHeaders(webhook, body);
  console.log(`\nA GitHub push (${SAMPLE}), ${COPIES} times at once to ${url}/hooks/github\nas delivery ${headers["X-GitHub-Delivery"]}:\n`);
  const answers = await Promise.all(Array.from({ length: COPIES }, () => deliver(url, body, headers)));
  report(answers);
  const ids = new Set(answers.map(({ task }) => task));
  const bad = answers.find(({ status, task }) => status >= 300 || !task);
  if (bad) throw new Failed(`an answer was not what it should be: ${bad.status} ${bad.text.slice(0, 500)}`);
  if (ids.size !== 1) throw new Failed(`the ${COPIES} deliveries became ${ids.size} tasks instead of one.`);
  const firsts = answers.filter(({ replayed }) => !replayed).length;
  if (firsts !== 1) throw new Failed(`${firsts} of ${COPIES} answers say that they were the first.`);
  const [id] = ids;
  const task = await finalTask(url, token, id);
  console.log(`\nOne task, run once:\n\n${JSON.stringify(task, null, 2)}\n`);
  console.log(borrowed ? `Next: docs/lab.md tries retries, crashes and lost messages; make help lists the rest.` : "Next: make dev, and make demo beside it.");
}

try {
  await main();
} catch (error) {
  console.error(`onceward: error: ${error instanceof Failed ? error.message : error.stack}`);
  process.exitCode = 1;
} finally {
  await endAll(3_000);
  process.exit();
}

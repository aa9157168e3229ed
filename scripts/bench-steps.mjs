// `make bench-steps`: what a step costs in tasks of 10, 100, 1,000 and 10,000 steps, and how long a task takes to go on
// after kill -9. Lab build, real workerd. The sizes take turns in one run, so that the ratios mean something.
//
// Environment: ROUNDS (3) of the sizes, KILLS (3), LEASE (6s).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { ROOT } from "./lib/project.mjs";

const ROUNDS = Number(process.env.ROUNDS || 3);
const KILLS = Number(process.env.KILLS || 3);
const LEASE = process.env.LEASE || "6s";
const SIZES = [10, 100, 1000, 10000];

async function start(state) {
  const child = spawn(process.execPath, [join(ROOT, "scripts/serve.mjs"), "--state", state, "--build", "build-lab"], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("ready ")) return { child, url: line.slice(6) };
  }
  throw new Error("the server did not start");
}

function kill(server) {
  const gone = new Promise((resolve) => server.child.on("exit", resolve));
  process.kill(-server.child.pid, "SIGKILL");
  return gone;
}

const token = { authorization: "Bearer dev-token" };
const json = async (url, init) => (await fetch(url, init)).json();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

async function begin(server, key, program) {
  const answer = await fetch(`${server.url}/hooks/lab`, {
    method: "POST",
    headers: { "idempotency-key": key, prefer: "respond-async" },
    body: JSON.stringify(program),
  });
  const body = await answer.json();
  if (answer.status !== 202 && answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(body)}`);
  return body.task_id;
}

/** Waits for the end of a task, by looking at it; the product says when it began and ended. */
async function ended(server, id) {
  for (let looks = 0; looks < 10000; looks += 1) {
    const task = await json(`${server.url}/v1/tasks/${id}?wait=5`, { headers: token });
    if (task.finished_at) return task;
    await pause(20);
  }
  throw new Error(`task ${id} does not end`);
}

async function measure(server, size, round) {
  const before = await json(`${server.url}/lab/counters`);
  const program = {
    steps: [{ do: "repeat", name: "r", times: size, step: { do: "value", name: "v", value: 1 } }],
    answer: { status: 200, body: null },
  };
  const task = await ended(server, await begin(server, `steps-${size}-${round}`, program));
  const after = await json(`${server.url}/lab/counters`);
  if (task.state !== "succeeded") throw new Error(JSON.stringify(task));
  const ms = Date.parse(task.finished_at) - Date.parse(task.created_at);
  return { ms, requests: after.object_requests - before.object_requests, rows: after.object_rows - before.object_rows };
}

async function steps(server) {
  const results = new Map(SIZES.map((size) => [size, []]));
  await measure(server, 1000, "warm");
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const size of SIZES) {
      // A short task is measured many times over: its clock has whole milliseconds.
      const times = Math.max(1, Math.min(20, 1000 / size));
      for (let n = 0; n < times; n += 1) results.get(size).push(await measure(server, size, `${round}-${n}`));
      process.stderr.write(`  round ${round + 1} of ${ROUNDS}: ${size} steps done\n`);
    }
  }
  console.log("steps   ms/step (median)  requests/step  rows/step   (looks at the task included in the requests)");
  const per = new Map();
  for (const [size, list] of results) {
    per.set(size, median(list.map((one) => one.ms)) / size);
    const each = (pick) => (median(list.map(pick)) / size).toFixed(3);
    console.log(`${String(size).padEnd(7)} ${per.get(size).toFixed(3).padStart(16)} ${each((o) => o.requests).padStart(14)} ${each((o) => o.rows).padStart(10)}`);
  }
  console.log(`10,000 against 10: ${(per.get(10000) / per.get(10)).toFixed(2)}x; against 100: ${(per.get(10000) / per.get(100)).toFixed(2)}x`);
}

async function recovery(state) {
  const times = [];
  for (let n = 0; n < KILLS; n += 1) {
    let server = await start(state);
    const program = {
      steps: [{ do: "value", name: "a", value: 1 }, { do: "wait", for: "2s" }],
      config: { lease: LEASE, slice_cut: "3s", slice_budget: "2500ms", respond_within: "500ms" },
    };
    const id = await begin(server, `kill-${n}`, program);
    await pause(500);
    await kill(server);
    server = await start(state);
    const task = await ended(server, id);
    times.push(Date.parse(task.finished_at) - Date.parse(task.created_at) - 2000);
    await kill(server);
  }
  console.log(`kill -9 with a lease of ${LEASE}: gone on after ${times.map((ms) => `${ms} ms`).join(", ")} from its begin (lease + dispatch)`);
}

const state = mkdtempSync(join(tmpdir(), "onceward-steps-"));
try {
  const server = await start(state);
  try {
    await steps(server);
  } finally {
    await kill(server);
  }
  await recovery(state);
} finally {
  rmSync(state, { recursive: true, force: true });
}

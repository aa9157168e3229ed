// `make bench-flows`: what a task of a flow costs beside the same step in Rust. Lab build, real workerd. The two take
// turns in one run, so that their ratio means something.
//
// Environment: ROUNDS (10), SIZE (200) steps of one task.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { ROOT } from "./lib/project.mjs";

const ROUNDS = Number(process.env.ROUNDS || 10);
const SIZE = Number(process.env.SIZE || 200);
const token = { authorization: "Bearer dev-token" };
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

async function start(state) {
  const serve = [join(ROOT, "scripts/serve.mjs"), "--state", state, "--build", "build-lab"];
  const child = spawn(process.execPath, serve, { stdio: ["ignore", "pipe", "inherit"], detached: true });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("ready ")) return { child, url: line.slice(6) };
  }
  throw new Error("the server did not start");
}

const values = JSON.stringify(Array.from({ length: SIZE }, (_, n) => n));
const flow = (id, task) => `id: ${id}
namespace: bench
triggers: [{id: hook, type: io.kestra.plugin.core.trigger.Webhook, key: k}]
tasks:
  - id: each
    type: io.kestra.plugin.core.flow.ForEach
    values: ${values}
    tasks:
      - ${task}
`;

/** The same work twice: what it is called, as a flow's task, as a step of the lab's program. */
const PAIRS = [
  ["a value", "{id: v, type: io.kestra.plugin.core.debug.Return, format: \"{{ taskrun.value }}\"}", { do: "value", name: "v", value: 1 }],
  ["a key looked up", "{id: v, type: io.kestra.plugin.core.kv.Get, key: bench}", { do: "kv", name: "v", op: "get", key: "bench" }],
];

async function took(server, begin) {
  const answer = await begin();
  const body = await answer.json();
  const id = body.task_id ?? answer.headers.get("onceward-task-id");
  if (![200, 202].includes(answer.status) || !id) throw new Error(`${answer.status} ${JSON.stringify(body)}`);
  for (let looks = 0; looks < 10000; looks += 1) {
    const task = await (await fetch(`${server.url}/v1/tasks/${id}?wait=5`, { headers: token })).json();
    if (task.finished_at) {
      if (task.state !== "succeeded") throw new Error(JSON.stringify(task));
      return Date.parse(task.finished_at) - Date.parse(task.created_at);
    }
  }
  throw new Error(`task ${id} does not end`);
}

async function compare(server, [what, task, step], nth) {
  const id = `bench-${nth}`;
  const headers = { ...token, "content-type": "application/yaml" };
  const put = await fetch(`${server.url}/v1/flows/bench/${id}`, { method: "PUT", headers, body: flow(id, task) });
  if (!put.ok) throw new Error(await put.text());
  const program = {
    steps: [{ do: "repeat", name: "r", times: SIZE, step }],
    answer: { status: 200, body: null },
  };
  const post = (path, key, body) =>
    fetch(server.url + path, { method: "POST", headers: { "idempotency-key": key, prefer: "respond-async" }, body });
  const asFlow = (key) => took(server, () => post(`/api/v1/executions/webhook/bench/${id}/k`, key, "{}"));
  const inRust = (key) => took(server, () => post("/hooks/lab", key, JSON.stringify(program)));
  const times = { flow: [], rust: [] };
  for (let round = -1; round < ROUNDS; round += 1) {
    const one = { rust: await inRust(`${id}-rust-${round}`), flow: await asFlow(`${id}-flow-${round}`) };
    if (round < 0) continue;
    times.rust.push(one.rust);
    times.flow.push(one.flow);
  }
  const each = (list) => median(list) / SIZE;
  const [f, r] = [each(times.flow), each(times.rust)];
  console.log(`${what.padEnd(18)} ${f.toFixed(3).padStart(12)} ${r.toFixed(3).padStart(12)} ${(f / r).toFixed(2).padStart(8)}x`);
}

const state = mkdtempSync(join(tmpdir(), "onceward-flows-"));
let server;
try {
  server = await start(state);
  console.log(`${SIZE} in one task, median of ${ROUNDS}   ms/task of a flow  ms/step in Rust   ratio`);
  for (const [nth, pair] of PAIRS.entries()) await compare(server, pair, nth);
} finally {
  if (server) process.kill(-server.child.pid, "SIGKILL");
  rmSync(state, { recursive: true, force: true });
}

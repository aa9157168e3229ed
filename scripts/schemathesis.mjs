// Runs schemathesis against the lab build on workerd, with tasks in several states to look at and to steer.
// scripts/schemathesis.sh installs it and says where it is: ONCEWARD_SCHEMATHESIS. Arguments are passed on to it.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { ROOT } from "./lib/project.mjs";

const TOKEN = "schema-token";
const FOLDER = join(ROOT, "scripts/schemathesis");

function fail(message) {
  console.error(`schemathesis: ${message}`);
  process.exit(1);
}

/** A server of its own; resolves with its process and address. */
function serve() {
  // An endpoint to look at, which hears of nothing.
  const endpoint = { url: "http://127.0.0.1:9/", secrets: ["OPS_SECRET"], functions: ["none"] };
  const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
  const vars = JSON.stringify({ ONCEWARD_TOKEN: TOKEN, OPS_SECRET: secret, ONCEWARD_NOTIFY: { ops: endpoint } });
  const child = spawn(process.execPath, [join(ROOT, "scripts/serve.mjs"), "--vars", vars], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith("ready ")) resolve({ child, url: line.slice("ready ".length) });
    });
  });
}

/** Begins a task of the lab function. */
async function begin(url, key, program) {
  const answer = await fetch(`${url}/v1/functions/lab`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "idempotency-key": key, "content-type": "application/json" },
    body: JSON.stringify(program),
  });
  const id = answer.headers.get("onceward-task-id");
  if (!id) throw new Error(`no task: ${answer.status} ${await answer.text()}`);
  return id;
}

async function tasks(url) {
  const fail = { do: "fail", kind: "terminal", message: "on purpose" };
  const value = { do: "value", name: "one", value: 1 };
  return {
    SUCCEEDED: await begin(url, "succeeded", { steps: [value] }),
    FAILED: await begin(url, "failed", { steps: [value, fail] }),
    WAITING: await begin(url, "waiting", { steps: [{ do: "signal", name: "go" }], config: { respond_within: "100ms" } }),
  };
}

function run(url, ids, given) {
  const env = { ...process.env, ONCEWARD_SCHEMA_TOKEN: TOKEN, NO_COLOR: "1" };
  for (const [name, id] of Object.entries(ids)) env[`ONCEWARD_SCHEMA_${name}`] = id;
  const options = ["--config-file", join(FOLDER, "schemathesis.toml"), "run", `${url}/openapi.json`, "--url", url, ...given];
  const cwd = process.env.ONCEWARD_SCHEMATHESIS_CWD ?? ROOT;
  const child = spawn(process.env.ONCEWARD_SCHEMATHESIS ?? "st", options, { stdio: "inherit", env, cwd });
  return new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 1)));
}

async function main() {
  const server = await serve();
  try {
    return await run(server.url, await tasks(server.url), process.argv.slice(2));
  } finally {
    server.child.removeAllListeners("exit");
    server.child.kill("SIGTERM");
  }
}

main().then((code) => process.exit(code), (error) => fail(error.stack ?? error));

// A GitHub delivery as GitHub would send it, and how to write it down as a command.
import { createHmac, randomUUID } from "node:crypto";

export function signature(secret, body) {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

/** The headers of one delivery of the `push` event. */
export function deliveryHeaders(secret, body, id = randomUUID()) {
  return {
    "Content-Type": "application/json",
    "X-GitHub-Event": "push",
    "X-GitHub-Delivery": id,
    "X-Hub-Signature-256": signature(secret, body),
  };
}

export const shellQuote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Three commands to paste into another terminal: a delivery, the same again, and the task that it became. */
export function exampleCommands(url, secret, token) {
  const body = JSON.stringify({
    ref: "refs/heads/main",
    after: "6113728f27ae82c7b1a177c8d03f9e96e0adf246",
    repository: { full_name: "octo/hello" },
  });
  const headers = Object.entries(deliveryHeaders(secret, body));
  const answer = '"${TMPDIR:-/tmp}/onceward-answer"';
  const deliver = [
    `curl -isS -w '\\n' -D ${answer} ${url}/hooks/github`,
    ...headers.map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`),
    `-d ${shellQuote(body)}`,
  ].join(" \\\n  ");
  const id = `$(tr -d '\\r' <${answer} | awk 'tolower($1) == "onceward-task-id:" { print $2 }')`;
  const status = `curl -isS -w '\\n' -H ${shellQuote(`Authorization: Bearer ${token}`)} \\\n  ${url}/v1/tasks/${id}`;
  return { deliver, status };
}

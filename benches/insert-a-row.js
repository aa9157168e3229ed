// What Onceward is measured against: the least that any deduplication in an object costs. A Worker asks the object of the
// key, the object inserts one row and answers. No signature, no lease, no journal, no answer to replay.
import { DurableObject } from "cloudflare:workers";

export class RowObject extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS seen (key TEXT PRIMARY KEY, at INTEGER)");
  }

  async fetch(request) {
    const key = request.headers.get("idempotency-key");
    this.ctx.storage.sql.exec("INSERT OR IGNORE INTO seen VALUES (?, ?)", key, Date.now());
    return Response.json({ key });
  }
}

export default {
  async fetch(request, env) {
    const key = request.headers.get("idempotency-key");
    const body = await request.text();
    return env.ROWS.getByName(key).fetch("https://object/", { method: "POST", body, headers: { "idempotency-key": key } });
  },
};

// Sends signed webhook POSTs from Node, as an application without a webhook library does.
// Usage: node webhooks.mjs URL IN_FLIGHT SECONDS fetch|http
import { createHmac, randomUUID } from "node:crypto";
import http from "node:http";

const [url, inFlight, seconds, kind] = process.argv.slice(2);
const key = Buffer.alloc(24, 7);
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(inFlight) });
const body = JSON.stringify({
  type: "contact.created",
  created_at: "2026-01-05T09:12:33.456Z",
  data: {
    id: randomUUID(), audience_id: randomUUID(), segment_ids: [], email: "f123456@example.net", first_name: null,
    last_name: null, unsubscribed: false, created_at: "2026-01-05T09:12:33.456Z",
    updated_at: "2026-01-05T09:12:33.456Z", source: "api",
  },
});

async function viaFetch(headers) {
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual" });
  await response.arrayBuffer();
  return response.status;
}

function viaHttp(headers) {
  return new Promise((resolve, reject) => {
    const length = { "content-length": Buffer.byteLength(body) };
    const request = http.request(url, { method: "POST", agent, headers: { ...headers, ...length } }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    request.on("error", reject);
    request.end(body);
  });
}

let delivered = 0;
const post = kind === "http" ? viaHttp : viaFetch;
const began = performance.now();
const end = began + Number(seconds) * 1000;

async function worker() {
  while (performance.now() < end) {
    const id = `msg_${randomUUID()}`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = "v1," + createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
    const headers = { "content-type": "application/json" };
    for (const family of ["webhook", "svix"]) {
      headers[`${family}-id`] = id;
      headers[`${family}-timestamp`] = timestamp;
      headers[`${family}-signature`] = signature;
    }
    const status = await post(headers);
    if (status !== 200) throw new Error(`the receiver returned ${status}`);
    delivered += 1;
  }
}

await Promise.all(Array.from({ length: Number(inFlight) }, worker));
console.log(JSON.stringify({ per_s: delivered / ((performance.now() - began) / 1000) }));
agent.destroy();

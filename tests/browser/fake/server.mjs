// A server with invented data, for writing pages without the real one. It serves the pages from disk and answers the
// paths of /dashboard/api from `fixtures*.mjs`.
//
//   node tests/browser/fake/server.mjs [PORT] [--state=empty|new|capture|dev|viewer|error|slow|warning|paused|region|few] [--still] [--join]
//
// `--still` leaves the data as it is. `--join` joins the modules as the real server does, to count requests and weigh the
// answers. `POST /control/events` with a list publishes events. `PUT /emails/ID` changes an email without an event, and
// `PUT /dashboard/api/broadcasts/ID/report` the numbers of a broadcast.
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { join_css, join_modules } from './join.mjs';
import { answer, tick } from './fixtures.mjs';

const ROOT = new URL('../../../assets/dashboard/', import.meta.url).pathname;
const args = process.argv.slice(2);
const port = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 8990);
const state = args.find((arg) => arg.startsWith('--state='))?.slice(8) ?? 'full';
/** The joined files, compressed once. */
const joined = args.includes('--join')
  ? Object.fromEntries(Object.entries({ ...join_modules(ROOT), 'app.css': join_css(ROOT) }).map(([name, text]) => [name, brotliCompressSync(text)])) : null;
const hash = joined ? 'a1b2c3d4' : 'dev';

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const PREVIEW = (images) => `sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:${images ? ' http: https:' : ''}`;
const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2', '.html': 'text/html; charset=utf-8' };

/** Open event streams. @type {Set<import('node:http').ServerResponse>} */
const streams = new Set();
setInterval(() => {
  if (state === 'empty' || args.includes('--still')) return;
  publish(tick());
}, 4000).unref();

function publish(event) {
  for (const stream of streams) stream.write(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

createServer(async (req, res) => {
  const url = new URL(req.url ?? '/', `http://${req.headers.host}`);
  const path = url.pathname;
  if (path.startsWith('/dashboard/a/')) return asset(req, res, normalize(path.slice('/dashboard/a/'.length).replace(/^[^/]+\//, '')));
  if (path === '/dashboard/api/events') {
    res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    res.write(': ringmail\n\n');
    streams.add(res);
    return req.on('close', () => streams.delete(res));
  }
  if (path === '/control/events') {
    let body = '';
    for await (const chunk of req) body += chunk;
    for (const event of JSON.parse(body)) publish(event);
    return json(res, 200, {});
  }
  const isApi = /^\/(emails|captured)(\/|$)/.test(path);
  if (path.startsWith('/dashboard/api/') || isApi) {
    let body = '';
    for await (const chunk of req) body += chunk;
    if (req.method !== 'GET' && !isApi && req.headers['x-ringmail-dashboard'] !== '1') return json(res, 403, { statusCode: 403, name: 'invalid_access', message: 'The request lacks the header `x-ringmail-dashboard`.' });
    const call = { method: req.method, path: decodeURIComponent(path.replace('/dashboard/api', '')), query: Object.fromEntries(url.searchParams), body: body ? JSON.parse(body) : null, state };
    if (state === 'slow') await new Promise((resolve) => setTimeout(resolve, 100_000));
    let said = answer(call);
    if (call.method === 'POST' && call.path === '/emails') publish({ id: crypto.randomUUID(), type: 'email.sent', created_at: new Date().toISOString(), data: { email_id: said.json.id } });
    if (state === 'error' && call.path !== '/me') said = { status: 500, json: { statusCode: 500, name: 'internal_server_error', message: 'The store could not be read.' } };
    if (!said) return json(res, 404, { statusCode: 404, name: 'not_found', message: `The fake server has no ${req.method} ${call.path}.` });
    if ('html' in said) {
      res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PREVIEW(url.searchParams.get('images') === '1'), 'referrer-policy': 'no-referrer' });
      return res.end(said.html);
    }
    if ('text' in said) { res.writeHead(200, { 'content-type': said.type ?? 'text/plain; charset=utf-8' }); return res.end(said.text); }
    return json(res, said.status ?? 200, said.json);
  }
  if (/^\/dashboard(\/|$)/.test(path) && !/\.[a-z0-9]+$/.test(path)) {
    res.writeHead(200, { 'content-type': TYPES['.html'], 'content-security-policy': POLICY, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    return res.end(readFileSync(join(ROOT, 'index.html'), 'utf8').replaceAll('/dashboard/a/dev/', `/dashboard/a/${hash}/`));
  }
  res.writeHead(path === '/' ? 302 : 404, path === '/' ? { location: '/dashboard/' } : {}).end();
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/dashboard/ (${state})`));

function json(res, status, value) {
  res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-request-id': '0199c0de-0000-7000-8000-000000000001' });
  res.end(JSON.stringify(value));
}

function asset(req, res, path) {
  const type = TYPES[extname(path)];
  // Over plain HTTP, browsers accept brotli only from this machine.
  const isBrotli = /\bbr\b/.test(String(req.headers['accept-encoding'])), packed = joined?.[path];
  const text = packed && !isBrotli ? brotliDecompressSync(packed) : packed;
  const file = join(ROOT, path);
  if (!type || (!text && (!existsSync(file) || (joined && type === TYPES['.js'] && path !== 'theme.js')))) return res.writeHead(404).end();
  res.writeHead(200, { 'content-type': type, 'x-content-type-options': 'nosniff', 'cache-control': joined ? 'public, max-age=31536000, immutable' : 'no-store', ...(text && isBrotli ? { 'content-encoding': 'br' } : {}) });
  if (text) return res.end(text);
  createReadStream(file).pipe(res);
}

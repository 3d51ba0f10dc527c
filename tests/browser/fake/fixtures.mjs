// Invented data for the fake server: who is signed in, emails and their parts. Other nouns are in files of
// their own, which `EXTRA` names.
import { apiKeys, requests, sessions } from './access.mjs';
import { broadcasts, sendSome } from './broadcasts.mjs';
import { connect, captured } from './captured.mjs';
import { domains } from './domains.mjs';
import { EMAILS, email, emails, preview } from './emails.mjs';
import { numbers } from './metrics.mjs';
import { health, overview, queue } from './operate.mjs';
import { suppressions, webhooks } from './reach.mjs';
import { templates } from './templates.mjs';

/** @typedef {{ method: string, path: string, query: Record<string, string>, body: any, state: string }} Call */

const ME = {
  user: { id: '0190a000-0000-7000-8000-000000000001', email: 'ops@acme.com' }, role: 'owner', is_operator: true, team: { id: '0190a000-0000-7000-8000-000000000002', name: 'Acme' },
  teams: [], mode: 'serve', delivery: 'direct', release: 'direct', base_url: 'https://mail.acme.com', version: '0.1.0', csrf: null,
};
/** A server that captures, with one email. */
const CAPTURES = { ...ME, delivery: 'capture', release: null };
const DEV = { ...ME, user: null, team: { ...ME.team, name: 'Main' }, mode: 'dev', delivery: 'capture', release: null, base_url: 'http://127.0.0.1:8787' };

/** Answers of other nouns: each takes a call and returns an answer or null. @type {((call: Call) => any)[]} */
const EXTRA = [connect, captured, overview, queue, health, domains, apiKeys, requests, sessions, suppressions, webhooks, broadcasts, templates, numbers];

/** @param {Call} call */
export function answer(call) {
  const { method, path, state } = call;
  if (path === '/me') return { json: state === 'empty' || state === 'dev' ? DEV : state === 'capture' ? CAPTURES : state === 'viewer' ? { ...ME, role: 'viewer' } : ME };
  // A server that sends to recipients and has no data yet.
  if (state === 'new' && path !== '/connect') return answer({ ...call, state: 'empty' });
  for (const one of EXTRA) {
    const said = one(call);
    if (said) return said;
  }
  if (path === '/emails' || path === '/search') return emails(call);
  const [, id, part] = /^\/emails\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
  if (id && part === 'preview') return { html: preview(call.query) };
  if (/^\/emails\/[^/]+\/attachments\/a1$/.test(path)) return { json: { object: 'attachment', id: 'a1', filename: 'INV-2026-1184.pdf', content_type: 'application/pdf', size: 5, content: 'JVBERg==' } };
  if (id) return email(call, id, part);
  return null;
}

let ticks = 0;

/** The next event of the stream: a new email arrives, or a queued one is delivered. */
export function tick() {
  ticks += 1;
  sendSome();
  const waiting = EMAILS.find((row) => row.last_event === 'queued');
  if (ticks % 2 === 0 && waiting) waiting.last_event = 'delivered';
  else EMAILS.unshift({ ...EMAILS[ticks % 7], id: crypto.randomUUID(), last_event: 'queued', created_at: new Date().toISOString() });
  return { id: `evt-${ticks}`, type: ticks % 2 === 0 ? 'email.delivered' : 'email.sent', created_at: new Date().toISOString(), data: { email_id: (waiting ?? EMAILS[0]).id } };
}

// Invented broadcasts, with the data of the dashboard about them.
import { D, H, LONGEST, ago, missing, page, stale, uuid } from './lists.mjs';

const SEGMENTS = [[uuid('5e90', 0), 'Customers on a paid plan'], [uuid('5e90', 1), 'Everybody who has opened at least one of our emails in the northern region since last summer']].map(([id, name]) => ({ object: 'segment', id, name, filter: null, created_at: ago(90 * D) }));
const TOPICS = [[uuid('709c', 0), 'Product news'], [uuid('709c', 1), 'Maintenance']].map(([id, name]) => ({ object: 'topic', id, name, description: null, default_subscription: 'opt_in', visibility: 'public', created_at: ago(90 * D) }));
const CONTACTS = ['ada@example.net', 'priya@example.net', 'olle@example.org', LONGEST].map((email, n) => ({ object: 'contact', id: uuid('c017', n), email, first_name: null, last_name: null, unsubscribed: false, created_at: ago(60 * D) }));
const PROPERTIES = [{ object: 'contact_property', id: uuid('9009', 0), key: 'COMPANY', type: 'string', fallback_value: 'your company', created_at: ago(80 * D) }];

const SOURCE = `# Coming in December

Hello {{{FIRST_NAME}}},

**shared views** are nearly ready. Save the filters you use
every day, and give them to your team with one link.

![](https://acme.com/img/shared-views.png)

[[button: Try the preview](https://acme.com/views)]

## What changes for you

Nothing, until you switch it on. Views that you saved before
stay private, and links keep working.

Write back if something is missing,
the Acme team

[Unsubscribe]({{{UNSUBSCRIBE_URL}}})
`;
const none = { queued: 0, sent: 0, delivered: 0, bounced: 0, complained: 0, suppressed: 0, failed: 0, canceled: 0, attempted: 0, opened: 0, clicked: 0, unsubscribed: 0 };
const SENDING = { ...none, queued: 4466, sent: 574, delivered: 5291, bounced: 542, complained: 5, attempted: 6412, opened: 1204, clicked: 211, unsubscribed: 9 };
const SENT = { ...none, delivered: 9810, bounced: 41, complained: 3, suppressed: 22, failed: 4, attempted: 9858, opened: 3311, clicked: 604, unsubscribed: 31 };

/** name, subject, status, age, counts, audience, and what differs */
const NAMES = [
  ['December preview', 'Coming in December: shared views for your whole team', 'draft', 2 * H, none, 0, { segment: 0, topic: 0, preview_text: 'The preview is open today.', reply_to: ['hello@acme.com'] }],
  ['November release', 'Acme 4.0 is here: faster exports, dark mode and more', 'queued', 5 * H, SENDING, 10_878, { segment: 0, started_at: ago(5 * H), finishes_at: ago(-3 * H), html: true }],
  ['Maintenance on Sunday', 'Acme is away for ten minutes on Sunday', 'scheduled', 8 * H, none, 12_480, { topic: 1, scheduled_at: ago(-16 * H), finishes_at: ago(-18 * H) }],
  ['', 'دعوة للانضمام إلى فريق Acme', 'sent', 9 * D, SENT, 9880, { segment: 1, sent_at: ago(9 * D - 3 * H), started_at: ago(9 * D) }],
  ['An offer with a mistake in the price', 'Half the price until Friday', 'canceled', 20 * D, { ...none, delivered: 310, canceled: 9212, attempted: 310 }, 9522, { segment: 0, started_at: ago(20 * D) }],
  ['A broadcast whose name somebody has written as a whole sentence, because there was no limit that stopped them from it', 'Hello', 'failed', 30 * D, none, 40, {}],
  ['Written in HTML', 'Our winter catalogue', 'draft', 31 * D, none, 0, { html: true }],
];
const rows = Array.from({ length: 110 }, (_, n) => {
  const [name, subject, status, age, counts, audience, more] = NAMES[n] ?? [`Newsletter ${n}`, `What is new, part ${n}`, 'sent', (40 + n) * D, SENT, 9880, { sent_at: ago((40 + n) * D), started_at: ago((40 + n) * D) }];
  const { segment, topic, ...rest } = more;
  return { object: 'broadcast', id: uuid('b0ad', n), revision: 0, name: name || null, from: 'Acme <news@mail.acme.com>', subject, reply_to: null, preview_text: null, audience_id: null, status, created_at: ago(age), scheduled_at: null, sent_at: null, started_at: null, finishes_at: null,
    segment_id: segment === undefined ? null : SEGMENTS[segment].id, segment_name: segment === undefined ? null : SEGMENTS[segment].name, topic_id: topic === undefined ? null : TOPICS[topic].id, topic_name: topic === undefined ? null : TOPICS[topic].name, audience, counts, ...rest };
});
/** @type {Map<string, { source: string | null, html: string | null, text: string | null }>} */
const contents = new Map(rows.map((row) => [row.id, row.html ? { source: null, html: htmlOf(SOURCE), text: 'Acme 4.0 is here.' } : { source: SOURCE, html: htmlOf(SOURCE), text: SOURCE }]));
for (const row of rows) delete row.html;

function htmlOf(source) {
  return `<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Message</title></head>\n<body>\n${source.split('\n').filter(Boolean).map((line) => `<p>${line.replace(/^#+ /, '')}</p>`).join('\n')}\n</body>\n</html>\n`;
}

const merged = (text, contact) => (text ?? '').replace(/\{\{\{(\w+)(?:\|([^{}]*))?\}\}\}/g, (_, name, fallback = '') => (name === 'FIRST_NAME' && contact !== 'none' ? 'Ada' : /URL$/.test(name) ? 'https://mail.acme.com/u/sample' : fallback));

/** A link whose page does not exist. */
const DEAD = 'https://acme.com/views';

/** The links and images that the check requests. */
const linksOf = ({ source, html }) => [...new Set(((source ?? html ?? '').match(/https:[^\s"<>()]+/g) ?? []))];

/** The findings of a content, as the check of the server has them. `links`: also those of the requested links. */
function findings(row, content, links = false) {
  const part = content.source === null ? 'html' : 'source', text = content[part] ?? '';
  const at = (index, length) => ({ at: index, length, line: text.slice(0, index).split('\n').length });
  const dead = /\[[^[\]]*\]\(https:\/\/acme\.com\/views\)/.exec(text)?.[0] ?? DEAD;
  const bare = { at: null, length: null, line: null, name: null, url: null, contacts: null };
  return [
    ...(row.subject ? [] : [{ ...bare, kind: 'subject_empty', severity: 'error', part: 'subject', message: 'The subject is empty.' }]),
    ...[...text.matchAll(/\{\{\{FIRST_NAME\}\}\}/g)].map((match) => ({ ...bare, kind: 'fallback_missing', severity: 'warning', part, ...at(match.index, match[0].length), name: 'FIRST_NAME', contacts: 1102, message: 'FIRST_NAME has no fallback.' })),
    ...[...text.matchAll(content.source === null ? /<img(?![^>]*\salt=)[^>]*>/gi : /!\[\]\([^)]*\)/g)].map((match) => ({ ...bare, kind: 'alt_missing', severity: 'warning', part, ...at(match.index, match[0].length), message: 'The image has no alternative text, which is shown while images are off and read aloud.' })),
    ...(/UNSUBSCRIBE_URL/.test(text) ? [] : [{ ...bare, kind: 'unsubscribe_missing', severity: 'warning', part, message: 'The content has no {{{UNSUBSCRIBE_URL}}}. Only the header has an unsubscribe link, which not every mail client shows.' }]),
    ...(links && linksOf(content).includes(DEAD) ? [{ ...bare, kind: 'link_dead', severity: 'warning', part, ...at(text.indexOf(dead), dead.length), url: DEAD, message: 'The link does not work: the response has the status 404.' }] : []),
  ];
}

const summary = (links) => ({ found: links.length, checked: links.length, dead: links.includes(DEAD) ? 1 : 0 });
const wrong = (message) => ({ status: 403, json: { statusCode: 403, name: 'validation_error', message } });
const apiOf = ({ counts, segment_name, topic_name, audience, started_at, ...row }) => { const { source, ...parts } = contents.get(row.id); return { ...row, ...parts, sent_count: counts.attempted }; };
const listed = ({ object, revision, reply_to, preview_text, audience_id, started_at, ...row }) => row;
const contentOf = ({ id, revision }) => { const content = contents.get(id); return { object: 'broadcast_content', id, revision, format: content.source === null ? 'html' : 'markdown', ...content, html_bytes: (content.html ?? '').length }; };

/** Domains with their parts of the attempted, bounced and waiting emails. */
const DOMAINS = [['gmail.com', 0.406, 0.38, 0.37], ['outlook.com', 0.234, 0.01, 0.21], ['yahoo.example', 0.065, 0.02, 0.36], [CONTACTS[3].email.split('@')[1], 0.02, 0, 0], ['acme-partners.example', 0.015, 0, 0.01], ['example.org', 0.011, 0.01, 0], ['nortwhind.example', 0.005, 0, 0.02], ['example.net', 0.004, 0.01, 0]];

/** The numbers by domain, whose sums are those of the broadcast. */
function byDomain({ attempted, bounced, sent }) {
  if (attempted === 0) return { domains: [], other_domains: null };
  const of = (all, failed, waiting) => ({ attempted: all, delivered: all - failed - waiting, bounced: failed, waiting });
  const domains = DOMAINS.map(([domain, ...parts]) => { const [all, failed, waiting] = [attempted, bounced, sent].map((n, i) => Math.floor(n * parts[i])); return { domain, ...of(all, failed, waiting) }; });
  const [all, failed, waiting] = [[attempted, 'attempted'], [bounced, 'bounced'], [sent, 'waiting']].map(([n, name]) => domains.reduce((rest, one) => rest - one[name], n));
  return { domains, other_domains: { domains: 388, ...of(all, failed, waiting) } };
}

/** Sends some emails of the broadcasts that are being sent. */
export function sendSome(n = 40) {
  for (const row of rows) {
    const { queued, sent, delivered, bounced, attempted, opened, clicked } = row.counts, more = row.status === 'queued' ? Math.min(n, queued) : 0;
    if (more > 0) row.counts = { ...row.counts, queued: queued - more, attempted: attempted + more, delivered: delivered + Math.floor(more * 0.9), bounced: bounced + Math.floor(more * 0.05), sent: sent + more - Math.floor(more * 0.9) - Math.floor(more * 0.05), opened: opened + Math.floor(more * 0.2), clicked: clicked + Math.floor(more * 0.03) };
  }
}

function report({ revision, from, reply_to, preview_text, audience_id, ...row }) {
  const { counts, audience } = row, left = row.status === 'queued' || row.status === 'scheduled' ? Math.max(0, audience - counts.attempted) : 0;
  return { ...row, object: 'broadcast_report', remaining: left, fan_out: { queued: row.status === 'queued' ? 9000 : audience, total: audience, complete: row.status !== 'queued' }, rate_per_minute: row.status === 'queued' ? 23.4 : null, machines: { opened: Math.round(counts.opened * 0.7), clicked: Math.round(counts.clicked / 2) }, ...byDomain(counts),
    funnel: [['audience', audience], ...['attempted', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'suppressed', 'failed', 'canceled'].map((kind) => [kind, counts[kind]])].map(([kind, count]) => ({ kind, count })) };
}

function change(row, body) {
  if (row.status !== 'draft') return wrong('Only drafts can be changed.');
  const refusal = stale('draft', row, body);
  if (refusal) return refusal;
  if (body.from !== undefined && !body.from.includes('@')) return { status: 422, json: { statusCode: 422, name: 'validation_error', message: 'Invalid `from` field: give an address.' } };
  Object.assign(row, body, { revision: row.revision + 1 });
  for (const [list, kind] of [[SEGMENTS, 'segment'], [TOPICS, 'topic']]) row[`${kind}_name`] = list.find(({ id }) => id === row[`${kind}_id`])?.name ?? null;
  return { json: { object: 'broadcast', id: row.id, revision: row.revision } };
}

/** @type {Record<string, (row: any, call: any) => any>} */
const PARTS = {
  'GET ': (row) => ({ json: apiOf(row) }),
  'PATCH ': (row, { body }) => change(row, body),
  'DELETE ': (row) => { rows.splice(rows.indexOf(row), 1); return { json: { object: 'broadcast', id: row.id, deleted: true } }; },
  'GET content': (row) => ({ json: contentOf(row) }),
  'PUT content': (row, { body }) => {
    if (row.status !== 'draft') return wrong('Only drafts can be changed.');
    const refusal = stale('draft', row, body);
    if (refusal) return refusal;
    row.revision += 1;
    contents.set(row.id, typeof body.source === 'string' ? { source: body.source, html: htmlOf(body.source), text: body.source } : { source: null, html: body.html ?? null, text: body.text ?? null });
    return { json: contentOf(row) };
  },
  'GET preview': (row, { query }) => ({ html: `<!doctype html><html lang="en"><title>${row.subject}</title><meta name="color-scheme" content="light dark">${merged(contents.get(row.id).html, query.contact)}</html>` }),
  'GET rendered': (row, { query }) => ({ json: { object: 'broadcast_preview', id: row.id, contact: { id: null, email: 'ada@example.net', first_name: 'Ada', last_name: 'Lovelace' }, from: row.from, subject: merged(row.subject, query.contact), preview_text: row.preview_text && merged(row.preview_text, query.contact), html: null, text: null } }),
  'POST check': (row, { body }) => ({ json: { object: 'broadcast_check', id: row.id, audience: { total: 12_480, unsubscribed: 1204, opted_out: row.topic_id ? 310 : 0, suppressed: 88, will_receive: row.topic_id ? 10_878 : 11_188, complete: true },
    findings: findings(row, contents.get(row.id), body?.links), html_bytes: contentOf(row).html_bytes, html_bytes_max: 102_400, links: body?.links ? summary(linksOf(contents.get(row.id))) : null, finishes_at: ago(-3 * H), warning: { code: 'paced', days: 1, message: 'This broadcast is more than the room of the next hour. It goes out in steps over 3 hours.' } } }),
  'POST test': () => ({ json: { object: 'email', id: uuid('7e57', 0) } }),
  'POST send': (row, { body }) => {
    Object.assign(row, { status: body.scheduled_at ? 'scheduled' : 'queued', scheduled_at: body.scheduled_at ?? null, started_at: body.scheduled_at ? null : new Date().toISOString(), audience: 10_878, counts: { ...none, queued: 10_878 }, finishes_at: ago(-3 * H) });
    return { json: { id: row.id, finishes_at: row.finishes_at, estimated: true } };
  },
  'POST cancel': (row) => {
    if (row.status !== 'queued' && row.status !== 'scheduled') return wrong('Only queued or scheduled broadcasts can be canceled');
    const stopped = report(row).remaining;
    Object.assign(row, { status: 'canceled', counts: { ...row.counts, queued: 0, canceled: stopped } });
    return { json: { object: 'broadcast', id: row.id, canceled_remaining: stopped } };
  },
  'POST duplicate': (row) => {
    const copy = { ...row, id: crypto.randomUUID(), revision: 0, name: `${row.name ?? row.subject} (copy)`, status: 'draft', created_at: new Date().toISOString(), scheduled_at: null, sent_at: null, started_at: null, finishes_at: null, audience: 0, counts: none };
    rows.unshift(copy);
    contents.set(copy.id, contents.get(row.id));
    return { json: { object: 'broadcast', id: copy.id } };
  },
  'GET report': (row) => ({ json: report(row) }),
  // For checks: changes what the report has.
  'PUT report': (row, { body: { counts, ...more } }) => { Object.assign(row, more, { counts: { ...row.counts, ...counts } }); return { json: report(row) }; },
  'GET clicked-links': (row, { query, state }) => page(row.counts.clicked > 0 ? ['https://acme.com/views', 'https://acme.com/releases/4.0/all-of-the-smaller-things-that-you-have-asked-for-since-last-summer'].map((url, n) => ({ id: uuid('11c4', n), url, clicks: Math.round(row.counts.clicked * [1.06, 0.232][n]), unique_clicks: Math.round(row.counts.clicked * [0.927, 0.199][n]) })) : [], query, state),
  'GET recipients': (row, { query, state }) => {
    const n = row.counts[query.type === 'sent' ? 'attempted' : query.type] ?? 0;
    const all = Array.from({ length: n }, (_, i) => ({ id: uuid('4ec0', i), contact_id: uuid('c017', i), email: i === 1 ? CONTACTS[3].email : `person-${i}@example.net`, ...(query.type === 'bounced' && { bounce_type: ['permanent', 'transient', 'undetermined'][i % 3] }),
      ...(['opened', 'clicked'].includes(query.type) && { count: 1 + (i % 3) }), ...(query.type === 'clicked' && { clicked_links: [{ url: DEAD, clicks: 1 + (i % 3) }] }) }));
    return page(all.filter(({ email }) => !query.email || email === query.email), query, state);
  },
};

export function broadcasts({ method, path, query, body, state }) {
  if (path === '/segments') return page(SEGMENTS, query, state);
  if (path === '/topics') return page(TOPICS, query, state);
  if (path === '/contacts') return page(CONTACTS, query, state);
  if (path === '/contact-properties') return page(PROPERTIES, query, state);
  if (path === '/broadcasts' && method === 'POST') {
    const row = { ...rows[0], id: crypto.randomUUID(), revision: 0, name: body.name ?? null, from: body.from, subject: body.subject, reply_to: null, preview_text: null, status: 'draft', created_at: new Date().toISOString(), segment_id: null, segment_name: null, topic_id: null, topic_name: null, audience: 0, counts: none };
    rows.unshift(row);
    contents.set(row.id, { source: null, html: null, text: null });
    return { status: 201, json: { object: 'broadcast', id: row.id, finishes_at: null, estimated: true } };
  }
  if (path === '/broadcasts') return page(rows.map(listed), query, state);
  const [, id, part = ''] = /^\/broadcasts\/([^/]+)(?:\/([\w-]+))?$/.exec(path) ?? [];
  if (!id) return null;
  const row = rows.find((one) => one.id === id);
  if (!row) return missing('Broadcast');
  return PARTS[`${method} ${part}`]?.(row, { query, body, state }) ?? null;
}

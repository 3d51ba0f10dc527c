// Route table: address below /dashboard -> module of the page. One line each.
import { listReads } from '../lib/list.js';
import { emailReads } from './parts/email-reads.js';

/** @type {import('../lib/router.js').PageRoute[]} */
export const PAGES = [
  { path: '/', load: () => import('./overview.js'), title: 'Overview' },
  { path: '/emails', load: () => import('./emails.js'), title: 'Emails', reads: listReads('/emails') },
  { path: '/emails/:id', load: () => import('./email.js'), title: 'Email', reads: emailReads },
  { path: '/captured', load: () => import('./captured.js'), title: 'Captured' },
  { path: '/captured/:id', load: () => import('./captured-one.js'), title: 'Captured email', reads: (id) => [[`/captured/${id}`]] },
  { path: '/broadcasts', load: () => import('./broadcasts.js'), title: 'Broadcasts' },
  { path: '/broadcasts/:id', load: () => import('./broadcast.js'), title: 'Broadcast' },
  { path: '/broadcasts/:id/edit', load: () => import('./composer.js'), title: 'Broadcast', full: true },
  { path: '/templates', load: () => import('./templates.js'), title: 'Templates' },
  { path: '/templates/:id', load: () => import('./template.js'), title: 'Template', full: true },
  { path: '/connect', load: () => import('./connect.js'), title: 'Connect' },
  { path: '/metrics', load: () => import('./metrics.js'), title: 'Metrics' },
  { path: '/metrics/:tab', load: () => import('./metrics.js'), title: 'Metrics' },
  { path: '/queue', load: () => import('./queue.js'), title: 'Queue' },
  { path: '/suppressions', load: () => import('./suppressions.js'), title: 'Suppressions' },
  { path: '/domains', load: () => import('./domains.js'), title: 'Domains' },
  { path: '/domains/:id', load: () => import('./domain.js'), title: 'Domain' },
  { path: '/webhooks', load: () => import('./webhooks.js'), title: 'Webhooks' },
  { path: '/webhooks/:id', load: () => import('./webhook.js'), title: 'Webhook' },
  { path: '/api-keys', load: () => import('./api-keys.js'), title: 'API keys' },
  { path: '/logs', load: () => import('./logs.js'), title: 'Logs' },
  { path: '/logs/audit', load: () => import('./audit.js'), title: 'Audit' },
  { path: '/logs/:id', load: () => import('./logs.js'), title: 'Request' },
  { path: '/health', load: () => import('./health.js'), title: 'Health' },
  { path: '/sessions', load: () => import('./sessions.js'), title: 'Sessions' },
  { path: '/kit', load: () => import('./kit.js'), title: 'Components' },
];

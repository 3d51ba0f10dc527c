// The pages of numbers and of the audit log, in the form of `PAGES`. `pages.mjs` looks at each in its states.
import { uuid } from '../fake/lists.mjs';

const LIST = ['empty', 'nothing', 'one', 'hundred'];
const VERIFIED = uuid('d0d0', 1), BROADCAST = uuid('b0ad', 3), ENTRY = uuid('a0d1', 2);
const today = new Date().toISOString().slice(0, 10);

/** @type {[string, string, string, string | null, string[]?][]} */
export const REPORTS = [
  ['metrics', '/metrics', '.as-table', '/emails/metrics', ['empty']],
  ['metrics-hours', `/metrics?from=${today}&to=${today}`, '.as-table', '/emails/metrics'],
  ['metrics-weeks', '/metrics?from=2026-03-01&to=2026-11-22', '.as-table', '/emails/metrics'],
  ['metrics-filtered', `/metrics?domain=${VERIFIED}`, '.note', '/emails/metrics'],
  ['metrics-engagement', '/metrics/engagement', '.as-table', '/emails/metrics', ['empty']],
  ['metrics-broadcast', `/metrics/engagement?days=30&broadcast=${BROADCAST}`, '.as-table', '/emails/metrics'],
  ['metrics-deliverability', '/metrics/deliverability', '.as-table', '/deliverability', ['warning', 'paused', 'observed', 'region', 'few']],
  // A role without access sees the reason instead of the rows.
  ['audit', '/logs/audit', 'a.cell, .empty', '/audit', LIST],
  ['audit-entry', `/logs/audit?entry=${ENTRY}`, '.drawer .code, .empty', '/audit'],
];

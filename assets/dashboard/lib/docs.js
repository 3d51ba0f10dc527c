// The documents of this version, which the server has at /docs.

/** Chapters that pages lead to: document and heading. */
export const DOCS = {
  audit: 'DASHBOARD#the-audit-log', broadcasts: 'DASHBOARD#broadcasts-in-the-dashboard', templates: 'DASHBOARD#templates-in-the-dashboard',
  captured: 'DASHBOARD#captured-mail', clients: 'CLIENTS#point-a-client-at-ringmail', delivery: 'OPERATING#1-choose-a-delivery-mode', deliverability: 'DASHBOARD#deliverability-in-the-dashboard', domains: 'API#domains', keys: 'API#keys-and-permissions', logs: 'API#the-request-log', metrics: 'DASHBOARD#metrics-in-the-dashboard', production: 'OPERATING#go-into-production',
  queue: 'DASHBOARD#data-of-the-pages', sending: 'API#sending', sessions: 'DASHBOARD#sessions', simulated: 'API#simulated-recipients', suppressions: 'API#suppressions', tracking: 'DASHBOARD#tracking-in-the-dashboard', webhooks: 'API#webhooks',
};

/** @typedef {keyof typeof DOCS} DocName */

/** The address of a chapter. @param {DocName} name */
export function docsUrl(name) {
  return `/docs/${DOCS[name]}`;
}

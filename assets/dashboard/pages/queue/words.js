// The state of a site in words.
import { parseTime, spanInWords } from '../../lib/time.js';

/**
 * @typedef {object} Site
 * @property {string} site the name of the site, or `domain:` and a domain whose site is not known
 * @property {number} waiting
 * @property {string[]} [domains]
 * @property {string} oldest_at
 * @property {string} state
 * @property {string} reason
 * @property {string | null} until
 * @property {number} sessions
 * @property {number | null} rate messages a second
 * @property {string | null} [last_reply]
 * @property {string | null} [delisting] the page where the provider takes a server off its list
 * @property {boolean} [paused]
 */

/** Word and look of each state. @type {Record<string, [string, import('../../components/pill.js').PillLook]>} */
const STATES = {
  scheduled: ['Scheduled', { hollow: true }], retry: ['Retries', { tone: 'amber' }], session: ['Sending', { tone: 'green' }],
  lookup: ['Looked up', {}], lookup_failed: ['Not found', { tone: 'amber', fill: true }], hosts_paused: ['Not reachable', { tone: 'red', fill: true }],
  site_paused: ['Suspended', { tone: 'red', fill: true }], rate_limited: ['Slowed', { tone: 'amber', fill: true }], warm_up: ['Warming up', { tone: 'amber', fill: true }],
  slowed: ['Broadcasts slowed', { tone: 'amber', fill: true }],
  held: ['Paused by you', { hollow: true }], queue_held: ['Held', { hollow: true }], stopped: ['Stopped', { hollow: true }],
};
const SLOW = new Set(['lookup_failed', 'hosts_paused', 'site_paused', 'rate_limited', 'warm_up', 'slowed']);

/** @param {Site} site */
export function isPaused(site) {
  return site.paused === true || site.state === 'held';
}

/** Whether another server, the DNS or a limit delays the email of a site. @param {Site} site */
export function isSlow(site) {
  return !isPaused(site) && SLOW.has(site.state);
}

/** @param {Site} site @returns {[string, import('../../components/pill.js').PillLook]} */
export function stateOf(site) {
  return (isPaused(site) ? STATES.held : STATES[site.state]) ?? [site.state, {}];
}

/** The name without its kind. @param {string} site */
export function siteName(site) {
  return site.replace(/^domain:/, '');
}

/** The heading of the page in one sentence. @param {Site[]} sites */
export function queueSentence(sites) {
  const slow = sites.filter(isSlow), paused = sites.filter(isPaused);
  if (sites.length === 0) return 'Nothing waits.';
  const names = (/** @type {Site[]} */ some) => (some.length > 2 ? `${some.slice(0, 2).map((one) => siteName(one.site)).join(', ')} and ${some.length - 2} more` : some.map((one) => siteName(one.site)).join(' and '));
  const parts = [slow.length > 0 && `${names(slow)} ${slow.length === 1 ? 'keeps' : 'keep'} email waiting.`, paused.length > 0 && `${names(paused)} ${paused.length === 1 ? 'is' : 'are'} paused.`].filter(Boolean);
  return parts.length > 0 ? parts.join(' ') : 'Emails for all sites leave as they should.';
}

/** The next step of the server. @param {Site} site @param {number} now */
export function doing(site, now) {
  const until = parseTime(site.until);
  const next = until !== null && until > now ? ` The next attempt follows in ${spanInWords(until - now)}.` : '';
  if (isPaused(site)) return 'Nothing is sent to it until you resume it. Emails stay in the queue.';
  switch (site.state) {
    case 'site_paused': return `It sends nothing more there for now, so that the block does not become longer, and then tests with one email.${next}`;
    case 'hosts_paused': return `It tests from time to time whether the mail servers can be reached again.${next}`;
    case 'rate_limited': return `It sends as fast as the site takes emails, and raises the pace while they are accepted.${next}`;
    case 'warm_up': return `A new address sends a little more each day, so that providers come to trust it.${next}`;
    case 'slowed': return 'It sends one message a second of all broadcasts of the team, until fewer of its emails bounce or are reported as spam.';
    case 'lookup_failed': return `It looks the mail servers up again.${next}`;
    case 'retry': return `It tries again with growing pauses, for up to two days.${next}`;
    case 'scheduled': return 'It waits until the time that was asked for.';
    case 'stopped': case 'queue_held': return 'It accepts email and delivers none now.';
    default: return `It sends, with ${site.sessions === 1 ? 'one connection' : `${site.sessions} connections`}.${next}`;
  }
}

/** Advice for the user. @param {Site} site @returns {string[]} */
export function advice(site) {
  if (isPaused(site)) return ['Resume the site when its emails may leave.'];
  switch (site.state) {
    case 'site_paused': return ['Look whether many of your recipients complain or do not exist.', 'Ask the provider, with the text above.', 'Send less to this site until it trusts the address.'];
    case 'hosts_paused': return ['Look at Health: outgoing connections to port 25 may be blocked.', 'If only this site is away, wait: it is tried again.'];
    case 'rate_limited': return ['Wait: nothing is lost.', 'Spread large sends over more hours.'];
    case 'warm_up': return ['Wait: the limit grows each day.'];
    case 'slowed': return ['Remove the addresses that bounce from your lists.', 'Cancel the broadcast if it is the cause.'];
    case 'lookup_failed': return ['Look whether the domain is spelled as it should be.', 'Look at Health: the DNS servers of this machine may fail.'];
    case 'queue_held': return ['Start the server without --hold.'];
    case 'stopped': return ['Start the server.'];
    default: return ['Wait: the emails leave by themselves.', 'Try now if you have removed the cause.'];
  }
}

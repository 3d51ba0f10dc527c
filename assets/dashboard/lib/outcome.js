// The outcome of an email as text: the verdict above its page, and its timeline.
import { isSimulated } from './address.js';
import { parseTime, plural, span, spanInWords } from './time.js';

/** @typedef {import('../types/api.d.ts').EmailResponse} Email */
/** @typedef {import('../types/api.d.ts').EmailAttempt} Attempt */
/** @typedef {import('../types/api.d.ts').EmailWaiting} Waiting */
/** @typedef {import('../types/api.d.ts').EventResponse} EmailEvent */
/** @typedef {{ lead: string, rest: string }} Verdict */

const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth'];

/** `third attempt`, `12th attempt`. @param {number} number */
function ordinal(number) {
  return ORDINALS[number - 1] ?? `${number}th`;
}

/** The text of a reply without its codes. @param {string | null | undefined} reply */
export function replyText(reply) {
  return (reply ?? '').replace(/^\d{3}[ -](\d\.\d{1,3}\.\d{1,3} )?/, '');
}

/** The codes of a reply: `451 4.7.1`. @param {string | null | undefined} reply */
export function replyCode(reply) {
  return /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3})?/.exec(reply ?? '')?.[0].replace('-', ' ') ?? '';
}

/** The captured message that a reply of the built-in mailbox names. @param {string | null | undefined} reply */
export function capturedId(reply) {
  return /kept as ([0-9a-f-]{36})/.exec(reply ?? '')?.[1] ?? null;
}

/** The rest of the verdict about an address such as `bounced@resend.dev`. */
const SIMULATED = 'The recipient is simulated: nothing left the server, and no address joined the suppression list.';

/** A sentence: capital and full stop. @param {string} text */
function sentence(text) {
  const trimmed = text.trim();
  if (!trimmed) return '';
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

/**
 * The verdict: one sentence by outcome, then what else is known.
 * @param {Email} email
 * @param {Attempt[]} attempts newest first
 * @param {Waiting[]} waiting
 * @param {number} now
 * @returns {Verdict}
 */
export function verdict(email, attempts, waiting, now) {
  const events = (/** @type {string} */ type) => email.events.filter((event) => event.type === `email.${type}`);
  const last = (/** @type {string} */ type) => events(type).at(-1);
  const start = parseTime(email.created_at) ?? now;
  const statuses = new Set(email.recipients.map((one) => one.last_event));
  if (email.recipients.length > 1 && statuses.size > 1) return mixed(email);
  const [queued] = waiting;
  switch (email.last_event) {
    case 'scheduled': {
      const due = parseTime(email.scheduled_at);
      return { lead: due === null ? 'Scheduled.' : due > now ? `Scheduled: it is sent in ${spanInWords(due - now)}.` : 'Scheduled: it is due now.', rest: 'It can be changed or canceled until then.' };
    }
    case 'canceled': return { lead: 'Canceled before it was sent.', rest: '' };
    case 'suppressed': return { lead: 'Not sent: the address is suppressed.', rest: email.to.every(isSimulated) ? SIMULATED : 'Ringmail sends nothing to addresses that bounced, complained or unsubscribed, until somebody removes them from the list.' };
    case 'failed': return { lead: sentence(`Failed: ${lower(last('failed')?.failed?.reason ?? 'it could not be sent')}`), rest: join(guidance(last('failed')), 'The address is not suppressed: the next email to it is tried.') };
    case 'bounced': return bounced(email, last('bounced'));
    case 'queued': case 'sent': case 'delivery_delayed': {
      if (!queued) return { lead: email.last_event === 'delivery_delayed' ? 'Delayed: the last attempt was refused for now.' : 'In the queue. The first attempt follows.', rest: '' };
      const until = parseTime(queued.until);
      return { lead: sentence(`Waits: ${lower(queued.reason)}`), rest: join(until !== null && until > now ? `The next attempt follows in ${spanInWords(until - now)}.` : '', queued.state === 'retry' ? guidance(last('delivery_delayed')) : '') };
    }
  }
  const delivered = last('delivered');
  const captured = capturedId(delivered?.reply) !== null;
  const at = parseTime(delivered?.created_at);
  const took = at === null ? '' : `, ${span(at - start)} after it was accepted`;
  const number = attempts.find((attempt) => Math.abs((parseTime(attempt.created_at) ?? 0) - (at ?? 0)) < 5000)?.number ?? 1;
  const lead = captured ? 'Captured: it is in the built-in mailbox, and nothing left this machine.' : `Delivered${number > 1 ? ` on the ${ordinal(number)} attempt` : ''}${took}.`;
  return { lead, rest: join(delays(events('delivery_delayed')), opens(email, at), complaint(email, last('complained'))) };
}

/** Several recipients with different outcomes. @param {Email} email @returns {Verdict} */
function mixed(email) {
  const WORDS = /** @type {Record<string, string>} */ ({ delivered: 'delivered', opened: 'delivered', clicked: 'delivered', complained: 'delivered', bounced: 'bounced', failed: 'failed', suppressed: 'suppressed', delivery_delayed: 'delayed', canceled: 'canceled' });
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const one of email.recipients) {
    const word = WORDS[one.last_event] ?? 'in the queue';
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const delivered = counts.get('delivered') ?? 0;
  counts.delete('delivered');
  const others = [...counts].map(([word, n]) => `${n} ${word}`).join(', ');
  return { lead: `Delivered to ${delivered} of ${plural(email.recipients.length, 'recipient')}${others ? `: ${others}` : ''}.`, rest: '' };
}

/** @param {Email} email @param {EmailEvent | undefined} event @returns {Verdict} */
function bounced(email, event) {
  const cause = event?.bounce?.message || replyText(event?.reply) || 'the server of the recipient refused it';
  const permanent = event?.bounce?.type !== 'Transient';
  if (email.to.every(isSimulated)) return { lead: sentence(`Bounced: ${lower(cause)}`), rest: SIMULATED };
  return { lead: sentence(`Bounced: ${lower(cause)}`), rest: join(guidance(event), permanent ? 'The address is on the suppression list now, so that your bounce rate stays low.' : 'The address is not suppressed: the next email to it is tried.') };
}

/** The meaning of an event, and the next step. @param {EmailEvent | undefined} event */
function guidance(event) {
  const one = event?.guidance;
  return one ? `${one.explanation} ${one.action}` : '';
}

/** Joins sentences. @param {string[]} sentences */
function join(...sentences) {
  return sentences.filter(Boolean).join(' ');
}

/** @param {EmailEvent[]} events */
function delays(events) {
  if (events.length === 0) return '';
  const grey = events.every((event) => /greylist/i.test(event.reply ?? ''));
  const number = events.length === 1 ? 'The delay was' : events.length === 2 ? 'Both delays were' : `All ${events.length} delays were`;
  return grey ? `The server greylists senders it does not know; ${lower(number)} temporary.` : `${number} temporary.`;
}

/** @param {Email} email @param {number | null} delivered */
function opens(email, delivered) {
  const opened = email.events.find((event) => event.type === 'email.opened');
  const clicks = email.events.filter((event) => event.type === 'email.clicked').length;
  const at = parseTime(opened?.created_at);
  const clicked = clicks === 0 ? '' : clicks === 1 ? 'clicked once' : `clicked ${clicks} times`;
  if (at === null) return clicked && `A person ${clicked}.`;
  const later = delivered === null ? '' : ` ${spanInWords(at - delivered)} later`;
  return `A person opened it${later}${clicked && ` and ${clicked}`}.`;
}

/** @param {Email} email @param {EmailEvent | undefined} event */
function complaint(email, event) {
  if (!event || email.last_event !== 'complained') return '';
  return join(sentence(event.guidance?.title ?? 'The recipient reported it as spam'), email.to.every(isSimulated) ? SIMULATED : 'The address is on the suppression list now.');
}

/** Starts in lower case, but keeps names and abbreviations. @param {string} text */
function lower(text) {
  return /^[A-Z][a-z]/.test(text) && !/^(Gmail|Yahoo|Microsoft|Ringmail)/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/**
 * @typedef {object} Step
 * @property {string} id
 * @property {string} word
 * @property {'gray' | 'green' | 'amber' | 'red' | 'blue' | 'violet' | 'machine'} tone
 * @property {number} at
 * @property {EmailEvent | null} event
 * @property {Attempt | null} attempt
 */

/** Word and tone of each event. @type {Record<string, [string, Step['tone']]>} */
const STEPS = {
  'email.scheduled': ['Scheduled', 'gray'], 'email.sent': ['First attempt', 'gray'], 'email.delivered': ['Delivered', 'green'], 'email.delivery_delayed': ['Delayed', 'amber'],
  'email.bounced': ['Bounced', 'red'], 'email.complained': ['Complained', 'amber'], 'email.opened': ['Opened', 'blue'], 'email.clicked': ['Clicked', 'violet'],
  'email.prefetched': ['Prefetched', 'machine'], 'email.failed': ['Failed', 'red'], 'email.canceled': ['Canceled', 'gray'], 'email.suppressed': ['Suppressed', 'red'],
};
/** Events that an attempt causes. */
const OF_ATTEMPT = new Set(['email.delivered', 'email.delivery_delayed', 'email.bounced', 'email.failed']);
const SAME_MS = 5000;

/**
 * The timeline, oldest first: each event with the attempt that caused it.
 * @param {Email} email
 * @param {Attempt[]} attempts
 * @returns {Step[]}
 */
export function timeline(email, attempts) {
  const left = new Set(attempts);
  /** @type {Step[]} */
  const steps = [{ id: 'accepted', word: 'Accepted', tone: 'gray', at: parseTime(email.created_at) ?? 0, event: null, attempt: null }];
  for (const [i, event] of email.events.entries()) {
    const at = parseTime(event.created_at) ?? 0;
    const near = [...left].filter((one) => OF_ATTEMPT.has(event.type) && Math.abs((parseTime(one.created_at) ?? 0) - at) < SAME_MS && one.to.some((to) => event.to.includes(to)))
      .sort((a, b) => Math.abs((parseTime(a.created_at) ?? 0) - at) - Math.abs((parseTime(b.created_at) ?? 0) - at));
    const attempt = near[0] ?? null;
    if (attempt) left.delete(attempt);
    // "Sent" marks the start of the first attempt; the attempt itself says the same.
    if (event.type === 'email.sent' && attempts.length > 0) continue;
    const [word, tone] = STEPS[event.type] ?? [event.type, 'gray'];
    steps.push({ id: `event-${i}`, word, tone, at, event, attempt });
  }
  for (const attempt of left) steps.push({ id: attempt.id, word: `Attempt ${attempt.number}`, tone: 'gray', at: parseTime(attempt.created_at) ?? 0, event: null, attempt });
  return steps.sort((a, b) => a.at - b.at);
}

// The timeline of an email: each event, with the SMTP conversation of its attempt.
import { h, useState } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { isSimulated } from '../../lib/address.js';
import { icon } from '../../lib/icons.js';
import { capturedId, replyCode, replyText, timeline } from '../../lib/outcome.js';
import { link } from '../../lib/router.js';
import { plural, span } from '../../lib/time.js';
import { Time } from '../../components/time.js';

/** @typedef {import('../../lib/outcome.js').Step} Step */

/** @param {{ email: import('../../lib/outcome.js').Email, attempts: import('../../lib/outcome.js').Attempt[], waiting: import('../../lib/outcome.js').Waiting[], accepted?: import('../../lib/h.js').Children }} props */
export function Timeline({ email, attempts, waiting, accepted }) {
  const steps = timeline(email, attempts);
  const start = steps[0]?.at ?? 0;
  const final = steps.filter((step) => step.attempt).at(-1);
  return t.section({ class: 'card', 'aria-labelledby': 'h-timeline' },
    t.header(null, t.h2({ id: 'h-timeline' }, 'What happened'), t.span({ class: 'meta' }, 'UTC'), t.span(null)),
    t.ol({ class: 'tl', 'aria-label': 'Timeline' },
      steps.map((step) => t.li({ key: step.id, class: step.tone === 'gray' ? undefined : `is-${step.tone}` },
        t.div({ class: 'tl-head' }, t.b(null, step.word), step.at > start && t.span({ class: 'off' }, `+${span(step.at - start)}`), h(Time, { at: new Date(step.at).toISOString(), as: 'clock' })),
        step.id === 'accepted' ? accepted : h(Detail, { step, several: email.recipients.length > 1 }),
        step.attempt && h(Conversation, { attempt: step.attempt, open: step === final }))),
      waiting.map((one) => t.li({ key: one.to.join(), class: 'is-machine' },
        t.div({ class: 'tl-head' }, t.b(null, 'Next attempt'), one.until && t.span({ class: 'off' }, h(Time, { at: one.until }))),
        t.p(null, email.recipients.length > 1 && `${one.to.join(', ')}: `, one.reason)))));
}

/** The text of an event. @param {{ step: Step, several: boolean }} props */
function Detail({ step: { event, attempt }, several }) {
  const to = several && event && t.span({ class: 't3' }, event.to.join(', '), ': ');
  const server = attempt?.host && `${attempt.host}${attempt.address ? ` [${attempt.address.replace(/:\d+$/, '')}]` : ''}`;
  if (!event) return attempt && t.p(null, server ? `To ${server}: ` : '', attempt.result, '.');
  const kept = capturedId(event.reply);
  switch (event.type) {
    case 'email.delivered':
      if (kept) return t.p(null, to, 'Kept in the built-in mailbox. ', link({ class: 'link', to: `/captured/${kept}` }, 'Open the captured email'));
      return t.p(null, to, attempt ? `Attempt ${attempt.number}: accepted by ${attempt.host ?? 'the server'}, ${attempt.tls ? attempt.tls.version.replace('TLSv', 'TLS ') : 'not encrypted'}.` : replyText(event.reply),
        attempt?.tls_downgraded && t.span({ class: 'amber' }, ' The server offered encryption within the last 7 days, and not now.'));
    case 'email.opened': return fragment(t.p(null, to, 'By a person', event.open?.reason === 'click' ? ', known from a click' : event.open && `, in ${client(event.open.userAgent)}`, '.'), event.open && origin(event.open));
    case 'email.clicked': return fragment(t.p({ class: 'wrap-any' }, to, event.click && target(event.click.link)), event.click && origin(event.click));
    case 'email.prefetched': {
      const hit = event.click ?? event.open, reason = hit?.reason ?? '';
      return fragment(t.p(null, to, `${MACHINES[reason] ?? (reason || 'Loaded by software')}. Not counted as ${event.click ? 'clicked' : 'opened'}.`), event.click && t.p({ class: 'wrap-any' }, target(event.click.link)), hit && origin(hit));
    }
    case 'email.failed': return t.p(null, to, event.failed?.reason);
    case 'email.complained': return t.p(null, to, 'The recipient reported the email', event.complaint_feedback_type && ` as ${event.complaint_feedback_type}`, event.to.every(isSimulated) ? '.' : '. The address joined the suppression list.');
    case 'email.suppressed': if (event.to.every(isSimulated)) return t.p(null, to, 'The address is a simulated one.');
      return t.p(null, to, 'The address is on the suppression list. ', link({ class: 'link', to: `/suppressions?q=${encodeURIComponent(event.to[0] ?? '')}` }, 'See why'));
    case 'email.bounced': return fragment(t.p(null, to, attempt && server && `Attempt ${attempt.number} to ${server}: `, t.b(null, replyCode(event.reply)), ' ', replyText(event.reply) || event.bounce?.message),
      event.bounce?.type === 'Permanent' && !event.to.every(isSimulated) && t.p({ class: 't3' }, 'The address joined the suppression list. ', link({ class: 'link', to: `/suppressions?q=${encodeURIComponent(event.to[0] ?? '')}` }, 'See the list')));
    default: return event.reply || attempt ? t.p(null, to, attempt && server && `Attempt ${attempt.number} to ${server}: `, t.b(null, replyCode(event.reply)), ' ', replyText(event.reply)) : to && t.p(null, to);
  }
}

/** Reasons by which a load counts as one of software, in words. @type {Record<string, string>} */
const MACHINES = {
  apple_mpp: 'Loaded by Apple Mail Privacy Protection, which loads every image', gmail_prefetch: 'Loaded by Gmail before anybody opened it', scanner: 'Loaded by a security scanner, a preview, or another program',
  before_delivery: 'Loaded before the email was delivered', timing: 'Loaded within seconds of the delivery', burst: 'Several links were followed within a quarter of a second', browser: 'Followed by a program that poses as a browser', prefetch: 'Loaded ahead by a browser',
};

/** Address and program of a load. @param {{ ipAddress: string, userAgent: string }} hit */
function origin({ ipAddress, userAgent }) {
  const parts = [ipAddress, userAgent].filter(Boolean);
  return parts.length > 0 && t.p({ class: 'meta wrap-any' }, parts.join(' · '));
}

/** @param {string} url */
function target(url) {
  return /^https?:/i.test(url) ? t.a({ class: 'link', href: url, title: url, rel: 'noreferrer noopener', target: '_blank' }, short(url)) : short(url);
}

/** A link without its protocol, and not too long. @param {string} url */
function short(url) {
  const text = url.replace(/^https?:\/\//, '');
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** @param {string} agent */
function client(agent) {
  const system = /iPhone|iPad/.test(agent) ? 'iOS' : /Macintosh|Mac OS/.test(agent) ? 'macOS' : /Android/.test(agent) ? 'Android' : /Windows/.test(agent) ? 'Windows' : /Linux/.test(agent) ? 'Linux' : null;
  return system ? `an app for ${system}` : 'an unknown app';
}

/** Lines shown of a long conversation, until the button shows all. */
const LINES_MAX = 60;

/** @param {{ attempt: import('../../lib/outcome.js').Attempt, open: boolean }} props */
function Conversation({ attempt, open }) {
  const [all, setAll] = useState(false);
  const lines = attempt.transcript.split('\n').filter(Boolean);
  const bad = (/** @type {string} */ line) => /^S: [45]\d\d/.test(line);
  const final = lines.findLastIndex((line) => /^S: 2\d\d/.test(line) && /queued|ok|accept|kept/i.test(line));
  const shown = all ? lines : lines.slice(0, LINES_MAX);
  return t.details({ class: 'smtp', open },
    t.summary(null, icon('right'), `Conversation, ${plural(lines.length, 'line')}`),
    t.ol(null, shown.map((line, i) => {
      const [who, sign] = line.startsWith('S:') ? ['server', '←'] : line.startsWith('C:') ? ['Ringmail', '→'] : ['remark', '·'];
      return t.li({ key: i, class: bad(line) ? 'is-bad' : i === final && attempt.result.includes('delivered') && !/^0 delivered/.test(attempt.result) ? 'is-ok' : who === 'server' ? 'is-in' : undefined },
        t.span(null, t.span({ 'aria-hidden': 'true' }, sign), t.span({ class: 'sr' }, `${who}: `)), t.span(null, line.replace(/^(S:|C:|--) ?/, '')));
    }), shown.length < lines.length && t.li({ key: 'more' }, t.span(null), t.button({ class: 'link', type: 'button', onClick: () => setAll(true) }, `Show all ${lines.length} lines`))),
    attempt.tls && t.p({ class: 'meta' }, `${attempt.tls.version.replace('TLSv', 'TLS ')}, ${attempt.tls.cipher}, certificate ${attempt.tls.verified ? 'verified' : 'not verified'}.`),
    attempt.possible_duplicate && t.p({ class: 'meta' }, 'An earlier attempt may have delivered it too.'));
}


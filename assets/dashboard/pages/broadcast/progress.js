// The progress of a broadcast, and its bounces and complaints while the team is near the pause of sending.
import { h } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { deliverability, isBeyond, windowOf } from '../../lib/guardrail.js';
import { link } from '../../lib/router.js';
import { now } from '../../lib/state.js';
import { count, parseTime, percent, plural } from '../../lib/time.js';
import { note } from '../../components/empty.js';
import { Time } from '../../components/time.js';
import { onMoment, when } from './words.js';

/** @typedef {import('../../types/broadcasts.d.ts').BroadcastReport} BroadcastReport */

const DAY_MS = 86_400_000;

/** @param {{ report: BroadcastReport }} props */
export function Progress({ report }) {
  const { status, counts, audience, finishes_at, rate_per_minute, fan_out } = report;
  if (status === 'failed') return t.div({ class: 'verdict' }, note('red', t.p(null, t.b(null, 'This broadcast could not start. '), 'Its domain may have been deleted or is not verified any longer. Duplicate the broadcast to send it again.')));
  if (status === 'scheduled') return t.div({ class: 'verdict' }, note('plain', t.p(null, t.b(null, `It starts ${onMoment(parseTime(report.scheduled_at) ?? Date.now())}`), `, for about ${plural(audience, 'contact')}.`, finishes_at && [' It is done about ', when(finishes_at), '.'])));
  const whole = Math.max(audience, counts.attempted);
  return t.section({ class: 'card send-card', 'aria-label': 'Progress' },
    t.div({ class: 'row between wrap' }, t.p({ class: 't1' }, t.b({ class: 'stat-lg' }, count(counts.attempted)), t.span({ class: 't2' }, ` of ${count(audience)} sent`)),
      t.p({ class: 't2' }, status === 'queued' ? [finishes_at ? ['Done about ', t.b({ key: 'at' }, when(finishes_at))] : 'Starting', rate_per_minute ? `, ${plural(Math.round(rate_per_minute), 'email')} a minute` : '']
        : status === 'canceled' ? `Canceled: ${plural(counts.canceled, 'email')} not sent` : ['Finished ', h(Time, { key: 'at', at: report.sent_at })])),
    t.progress({ class: 'progress', max: Math.max(1, whole), value: counts.attempted, 'aria-label': 'Sent' }),
    status === 'queued' && !fan_out.complete && t.p({ class: 'meta' }, `${count(fan_out.queued)} of about ${plural(fan_out.total, 'contact')} are queued. The others follow.`),
    nearPause(report));
}

/**
 * Returns a note for each rate of the team that has reached its pause or its warning, if the broadcast has such emails. A limit does not
 * count emails that are older than its days.
 * @param {BroadcastReport} report
 */
function nearPause({ id, status, counts, started_at, sent_at }) {
  const guardrail = deliverability.value?.guardrail;
  if (!guardrail) return null;
  const age_ms = status === 'queued' ? 0 : now.value - (parseTime(sent_at ?? started_at) ?? 0);
  return /** @type {const} */ ([['bounced', 'bounce', 'hard bounces', guardrail.bounce], ['complained', 'complaint', 'complaints', guardrail.complaint]]).map(([type, one, many, { warning, pause }]) => {
    const limit = [pause, warning].find(isBeyond);
    if (!limit || counts[type] === 0 || age_ms >= limit.window_days * DAY_MS) return null;
    const effect = guardrail.enforced === false ? `The limit is ${percent(limit.limit * 100)}` : guardrail.status === 'paused' ? 'Sending is paused' : `Sending pauses at ${percent(pause.limit * 100)} over ${windowOf(pause.window_days)}`;
    return note('amber', t.p(null, `This broadcast has ${plural(counts[type], one)}. The ${many} of the team are at ${percent(limit.rate * 100)} over ${windowOf(limit.window_days)}. ${effect}. `,
      link({ class: 'link', to: `/broadcasts/${id}?type=${type}#h-recipients` }, 'See the addresses')));
  });
}

// The progress of a broadcast.
import { h } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { count, parseTime, plural } from '../../lib/time.js';
import { note } from '../../components/empty.js';
import { Time } from '../../components/time.js';
import { onMoment, when } from './words.js';

/** @typedef {import('../../types/broadcasts.d.ts').BroadcastReport} BroadcastReport */

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
    status === 'queued' && !fan_out.complete && t.p({ class: 'meta' }, `${count(fan_out.queued)} of about ${plural(fan_out.total, 'contact')} are queued. The others follow.`));
}

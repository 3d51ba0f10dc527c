// The last look before a broadcast is sent: how many receive it, when it is done, and what the check has found.
import { h, useEffect, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { ApiError, api } from '../../lib/api.js';
import { icon } from '../../lib/icons.js';
import { parseTime, plural } from '../../lib/time.js';
import { Dialog, Notice } from '../../components/dialog.js';
import { errorNote, note } from '../../components/empty.js';
import { Radio, TextField } from '../../components/field.js';
import { messageOf, momentOf, onMoment, reachOf, when } from './words.js';

/** @typedef {import('../../types/broadcasts.d.ts').BroadcastCheck} BroadcastCheck */
/** @typedef {import('../../types/api.d.ts').AcceptedBroadcast} BroadcastSent */

/** Recipients above which their number is typed to confirm. */
const TYPED_ABOVE = 1000;

/** Lines to show if the check has no finding of these kinds. @type {[string[], string][]} */
const IN_ORDER = [
  [['sender_unverified', 'sender_alignment'], 'The sender is verified and aligned'],
  [['unsubscribe_missing'], 'The message has an unsubscribe link'],
  [['fallback_missing', 'field_unknown'], 'Every merge field has a value or a fallback'],
];

/** Now, rounded up to the next full hour, as the field of a time has it. */
function nextHour() {
  const at = new Date(Math.ceil((Date.now() + 60_000) / 3_600_000) * 3_600_000);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** @param {{ id: string, title: string, onClose: () => void, done: (sent: BroadcastSent) => void }} props */
export function Review({ id, title, onClose, done }) {
  const [check, setCheck] = useState(/** @type {BroadcastCheck | null} */ (null));
  const [error, setError] = useState(/** @type {ApiError | null} */ (null));
  const [isLater, setLater] = useState(false), [time, setTime] = useState(nextHour), [typed, setTyped] = useState('');
  useEffect(() => { api.post(`/broadcasts/${id}/check`, {}).then(setCheck, setError); }, [id]);
  const number = check?.audience.will_receive ?? 0, isTyped = check !== null && number > TYPED_ABOVE;
  const at = isLater ? parseTime(new Date(time).getTime() ? new Date(time).toISOString() : null) : null;

  const submit = async () => {
    if (!check) throw error ?? new ApiError(0, 'error', 'The recipients are not counted yet. Try again in a moment.', null);
    const broken = check.findings.find((finding) => finding.severity === 'error');
    if (broken) throw new ApiError(422, 'validation_error', broken.message, null);
    if (isLater && at === null) throw new ApiError(422, 'validation_error', 'Give the day and the time of the start.', null);
    if (isTyped && typed.replace(/\D/g, '') !== String(number)) throw new ApiError(422, 'validation_error', `Type the number of recipients: ${number}`, null);
    done(await api.post(`/broadcasts/${id}/send`, at === null ? {} : { scheduled_at: new Date(at).toISOString() }));
  };
  return h(Dialog, { title: check ? `Send to ${reachOf(check.audience)}?` : 'Send this broadcast?', action: isLater ? 'Schedule broadcast' : 'Send broadcast', cancel: 'Keep editing', fields: true, onClose, submit },
    t.fieldset({ class: 'field' }, t.legend({ class: 'label' }, 'When'),
      h(Radio, { name: 'when', label: 'Now', checked: !isLater, onChange: () => setLater(false) }), h(Radio, { name: 'when', label: 'Later', checked: isLater, onChange: () => setLater(true) }),
      isLater && h(TextField, { label: 'Start', hideLabel: true, type: 'datetime-local', value: time, onInput: setTime, hint: at === null ? 'In the time zone of this computer.' : `In the time zone of this computer. That is ${momentOf(at)}.` })),
    t.p({ 'aria-live': 'polite' }, t.b(null, `“${title}”`), at === null ? ' goes out at once. ' : ` goes out ${onMoment(at)}. `, !isLater && check?.finishes_at && ['It is done about ', when(check.finishes_at), '. '], 'You can cancel it until the last email has left.'),
    !isLater && check?.warning && note('amber', t.p(null, check.warning.message)),
    error ? errorNote(error) : h(Result, { check }),
    isTyped && h(TextField, { label: 'Type the number of recipients to confirm', value: typed, onInput: setTyped, placeholder: String(number) }));
}

/** The findings in short. @param {{ check: BroadcastCheck | null }} props */
function Result({ check }) {
  if (!check) return t.div({ class: 'card pad stack-sm', 'aria-busy': 'true' }, t.span({ class: 'sk sk-60' }), t.span({ class: 'sk sk-80' }));
  const kinds = new Set(check.findings.map((finding) => finding.kind));
  /** One line for the findings of the same kind. @type {Map<string, import('../../types/broadcasts.d.ts').Finding[]>} */
  const grouped = new Map();
  for (const finding of check.findings) grouped.set(finding.kind, [...(grouped.get(finding.kind) ?? []), finding]);
  return t.ul({ class: 'list card', 'aria-label': 'Check' },
    [...grouped.values()].map((some) => t.li({ key: some[0]?.kind }, t.div({ class: 'check-row' }, icon(some[0]?.severity === 'error' ? 'stop' : 'warn', some[0]?.severity === 'error' ? 'red' : 'amber'),
      t.span(null, some[0] && messageOf(some[0], check.audience), some.length > 1 && ` And ${plural(some.length - 1, 'more place')}.`)))),
    IN_ORDER.filter(([wanted]) => !wanted.some((kind) => kinds.has(kind))).map(([, text]) => t.li({ key: text }, t.div({ class: 'check-row' }, icon('check', 'green'), t.span(null, text)))));
}

/** After a send that takes longer than the room now. @param {{ sent: BroadcastSent, onClose: () => void }} props */
export function SentNotice({ sent, onClose }) {
  return h(Notice, { title: 'The broadcast is on its way', onClose },
    t.p(null, sent.warning?.message), sent.finishes_at && t.p(null, 'The last email goes out about ', when(sent.finishes_at), '.'));
}

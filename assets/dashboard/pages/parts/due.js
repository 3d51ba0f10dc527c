// A time that is planned: `in 4m`, and `now` once it is reached.
import { h } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { now } from '../../lib/state.js';
import { exact, parseTime } from '../../lib/time.js';
import { Time } from '../../components/time.js';

/** @param {{ at: string | null | undefined }} props */
export function Due({ at }) {
  const ms = parseTime(at);
  if (ms === null) return null;
  return ms > now.value ? h(Time, { at }) : t.time({ dateTime: new Date(ms).toISOString(), title: exact(ms) }, 'now');
}

// Time: relative on the surface, UTC seconds in the title and for machines.
import { t } from '../lib/h.js';
import { now } from '../lib/state.js';
import { clock, exact, parseTime, relative } from '../lib/time.js';

/**
 * @param {{ at: string | null | undefined, as?: 'relative' | 'clock' | 'exact', none?: string }} props
 *   `none` stands for a missing time.
 */
export function Time({ at, as = 'relative', none = '–' }) {
  const ms = parseTime(at);
  if (ms === null) return t.span({ class: 't3' }, none);
  const text = as === 'clock' ? clock(ms) : as === 'exact' ? exact(ms) : relative(ms, Math.max(now.value, Date.now()));
  return t.time({ dateTime: new Date(ms).toISOString(), title: exact(ms) }, text);
}

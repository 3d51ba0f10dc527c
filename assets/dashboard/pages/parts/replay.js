// Replays of several webhook deliveries.
import { ApiError, api } from '../../lib/api.js';
import { plural } from '../../lib/time.js';
import { toast } from '../../components/toast.js';

/**
 * Replays deliveries and shows how many. A refused one, such as one whose content was removed, does not stop the others.
 * Throws the refusal if all are refused.
 * @param {string[]} paths of the deliveries
 */
export async function replayAll(paths) {
  const refusals = /** @type {ApiError[]} */ ([]);
  for (const path of paths) {
    try {
      await api.post(`${path}/replay`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 422) throw error;
      refusals.push(error);
    }
  }
  const sent = paths.length - refusals.length;
  if (sent === 0 && refusals[0]) throw refusals[0];
  toast(`Sends ${plural(sent, 'event')} again${refusals.length > 0 ? `, ${refusals.length} refused` : ''}`);
}

// The first requests of the page of an email, which begin when its link is pressed.
import { useLoad } from '../../lib/load.js';

/**
 * The email, its attempts, and the request that made it, which is null if no key sent the email.
 * @param {string} id
 * @returns {[import('../../lib/router.js').Read, import('../../lib/router.js').Read, import('../../lib/router.js').Read]}
 */
export function emailReads(id) {
  return [[`/emails/${id}`], [`/emails/${id}/attempts`, { limit: 100 }], [`/emails/${id}/request`]];
}

/**
 * The answers to `emailReads`.
 * @param {string} id
 */
export function useEmail(id) {
  const [emailRead, attemptsRead, requestRead] = emailReads(id);
  return {
    email: /** @type {import('../../lib/load.js').Loaded<import('../../lib/outcome.js').Email>} */ (useLoad(...emailRead)),
    attempts: /** @type {import('../../lib/load.js').Loaded<import('../../types/api.d.ts').EmailAttempts>} */ (useLoad(...attemptsRead)),
    request: /** @type {import('../../lib/load.js').Loaded<import('../../types/api.d.ts').Log | null>} */ (useLoad(...requestRead)),
  };
}

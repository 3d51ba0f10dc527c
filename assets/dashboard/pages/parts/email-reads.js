// The first requests of the page of an email, which begin when its link is pressed.

/**
 * The email, its attempts, and the request that made it, which is null if no key sent the email.
 * @param {string} id
 * @returns {[import('../../lib/router.js').Read, import('../../lib/router.js').Read, import('../../lib/router.js').Read]}
 */
export function emailReads(id) {
  return [[`/emails/${id}`], [`/emails/${id}/attempts`, { limit: 100 }], [`/emails/${id}/request`]];
}

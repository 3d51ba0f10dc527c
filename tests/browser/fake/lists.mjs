// Lists of the fake server: cursors as the API has them.
export const NOW = Date.now();
export const S = 1000, M = 60 * S, H = 60 * M, D = 24 * H;
/** @param {number} ms */
export const ago = (ms) => new Date(NOW - ms).toISOString();
/** @param {string} kind four hex digits @param {number} n */
export const uuid = (kind, n) => `0199${(0xc000 - n).toString(16)}-${kind}-7f53-9a3e-d2c81b7e${String(n).padStart(4, '0')}`;

/** An address of 254 characters, the longest that the API accepts. */
export const LONGEST = `${'purchase-ledger+invoices.2026.q4.emea.'.padEnd(64, 'a')}@${'accounts-payable'.padEnd(63, 'e')}.${'northern-region'.padEnd(63, 'n')}.${'subsidiary'.padEnd(49, 'y')}.example.net`;

/**
 * The page of a list that the query asks for.
 * @param {any[]} rows newest first
 * @param {Record<string, string>} query
 * @param {string} state `empty` and `one` shorten the list
 */
export function page(rows, query, state) {
  const all = state === 'empty' ? [] : state === 'one' ? rows.slice(0, 1) : rows;
  const limit = Number(query.limit ?? 20);
  const at = (/** @type {string} */ one) => all.findIndex((row) => row.id === one);
  const from = query.after ? at(query.after) + 1 : query.before ? Math.max(0, at(query.before) - limit) : 0;
  const end = query.before ? at(query.before) : from + limit;
  return { json: { object: 'list', has_more: query.before ? from > 0 : end < all.length, data: all.slice(from, end) } };
}

/**
 * The refusal of a change that is based on another revision than the stored one; null for any other change.
 * @param {string} thing
 * @param {{ revision: number }} row
 * @param {any} body
 */
export function stale(thing, row, body) {
  const isStale = typeof body.revision === 'number' && body.revision !== row.revision;
  return isStale ? { status: 409, json: { statusCode: 409, name: 'stale_revision', message: `This ${thing} was changed in another window. Load it again before you continue.` } } : null;
}

/** @param {string} thing */
export function missing(thing) {
  return { status: 404, json: { statusCode: 404, name: 'not_found', message: `${thing} not found.` } };
}

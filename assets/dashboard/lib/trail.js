// The rows of the list that was left, so that a page can step to the newer and the older one.

/** @type {{ path: string, ids: string[] }} */
let trail = { path: '', ids: [] };

/** @param {string} path @param {string[]} ids newest first */
export function leaveTrail(path, ids) {
  trail = { path, ids };
}

/**
 * The neighbours of a row in the list that was left; null where the list does not say.
 * @param {string} path
 * @param {string} id
 */
export function neighbours(path, id) {
  const at = trail.path === path ? trail.ids.indexOf(id) : -1;
  return { newer: at > 0 ? trail.ids[at - 1] ?? null : null, older: at >= 0 ? trail.ids[at + 1] ?? null : null, known: at >= 0 };
}

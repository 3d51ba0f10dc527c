// Deletion with an undo: the rows are hidden at once, and deleted when their toast is gone.
import { signal } from '../../vendor/preact.js';
import { ApiError, api } from '../../lib/api.js';
import { forget } from '../../lib/load.js';
import { attempt } from '../../lib/problem.js';
import { toast } from '../../components/toast.js';

/** Ids of the rows that are deleted, or will be. @type {import('../../vendor/preact.js').Signal<ReadonlySet<string>>} */
export const hidden = signal(/** @type {ReadonlySet<string>} */ (new Set()));

/** @param {string} path @param {string} id */
async function remove(path, id) {
  try {
    await api.del(`${path}/${id}`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
}

/**
 * @param {string} text the toast
 * @param {string} path of the list in the API
 * @param {string[]} ids
 * @param {() => void} [undone] called after an undo
 */
export function deleteWithUndo(text, path, ids, undone) {
  const show = (/** @type {string[]} */ some) => { hidden.value = new Set([...hidden.value].filter((id) => !some.includes(id))); };
  hidden.value = new Set([...hidden.value, ...ids]);
  const commit = async () => {
    // All at once: the page may be going away.
    const results = await Promise.allSettled(ids.map((id) => remove(path, id)));
    forget(path);
    show(ids.filter((_, i) => results[i]?.status === 'rejected'));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  };
  toast(text, { undo: () => { show(ids); undone?.(); }, commit: () => { void attempt(commit()); } });
}

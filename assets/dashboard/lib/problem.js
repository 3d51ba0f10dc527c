// Errors of actions that have no field and no dialog of their own. The shell shows the problem in a dialog.
import { signal } from '../vendor/preact.js';
import { ApiError } from './api.js';

/** @type {import('../vendor/preact.js').Signal<ApiError | null>} */
export const problem = signal(/** @type {ApiError | null} */ (null));

/** Waits for an action and shows its error. @param {unknown} action a promise, or anything else */
export async function attempt(action) {
  try {
    await action;
  } catch (error) {
    problem.value = error instanceof ApiError ? error : new ApiError(0, 'error', String(error), null);
  }
}

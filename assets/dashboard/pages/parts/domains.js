// The newest domains of the team, for choices, names and examples.
import { useLoad } from '../../lib/load.js';

/**
 * @param {boolean} [wanted] false loads nothing
 * @returns {{ domains: import('../../types/api.d.ts').Domain[] | undefined, verified: string | undefined, error: import('../../lib/api.js').ApiError | null, reload: () => Promise<void> }} `verified` is the name of the newest one from which emails can be sent
 */
export function useDomains(wanted = true) {
  const list = /** @type {import('../../lib/load.js').Loaded<import('../../types/api.d.ts').ListOfDomain>} */ (useLoad(wanted ? '/domains' : null, { limit: 100 }));
  const domains = list.data?.data;
  return { domains, verified: domains?.find(({ status }) => status === 'verified')?.name, error: list.error, reload: list.reload };
}

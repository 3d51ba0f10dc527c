// Names of API keys by id.
import { useMemo } from '../../vendor/preact.js';
import { useLoad } from '../../lib/load.js';
import { shortId } from '../../components/id.js';

/**
 * @param {boolean} [wanted] false loads nothing
 * @returns {{ names: Map<string, string>, nameOf: (id: string) => string }} `nameOf` of an unknown key is its short id
 */
export function useKeyNames(wanted = true) {
  const keys = /** @type {import('../../lib/load.js').Loaded<import('../../types/api.d.ts').ListOfApiKeyResponse>} */ (useLoad(wanted ? '/api-keys' : null, { limit: 100 }));
  const names = useMemo(() => new Map((keys.data?.data ?? []).map((key) => [key.id, key.name])), [keys.data]);
  return { names, nameOf: (id) => names.get(id) ?? shortId(id) };
}

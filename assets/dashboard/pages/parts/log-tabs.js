// The tabs of the logs; the audit log is for admins.
import { allows } from '../../lib/state.js';
import { pageTabs } from '../../components/tabs.js';

/** @param {'requests' | 'audit'} current */
export function logTabs(current) {
  return allows('admin') && pageTabs('Kinds of logs', [{ to: '/logs', label: 'API requests', current: current === 'requests' }, { to: '/logs/audit', label: 'Audit', current: current === 'audit' }]);
}

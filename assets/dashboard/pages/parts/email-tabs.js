// The tabs of the kinds of email.
import { pageTabs } from '../../components/tabs.js';

/** @param {'sent' | 'scheduled' | 'captured'} current */
export function emailTabs(current) {
  return pageTabs('Kinds of email', [
    { to: '/emails', label: 'Sent', current: current === 'sent' },
    { to: '/emails?status=scheduled', label: 'Scheduled', current: current === 'scheduled' },
    { to: '/captured', label: 'Captured', current: current === 'captured' },
  ]);
}

// Drawer: reading beside a list, with nothing to lose on Esc.
import { h } from '../vendor/preact.js';
import { t } from '../lib/h.js';
import { icon } from '../lib/icons.js';
import { Modal } from './dialog.js';

/** @param {{ title: string, onClose: () => void, actions?: import('../lib/h.js').Children, children?: import('../lib/h.js').Children }} props */
export function Drawer({ title, onClose, actions, children }) {
  return h(Modal, { label: title, class: 'drawer', onClose },
    t.header(null, t.h2({ class: 'trunc' }, title), actions,
      t.button({ type: 'button', class: 'btn btn-ghost btn-icon btn-sm', 'aria-label': 'Close', title: 'Close', 'data-safe': '', onClick: onClose }, icon('x'))),
    t.div({ class: 'pad stack' }, children));
}

// The content that a broadcast is sent with.
import { h, useState } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { Modal } from '../../components/dialog.js';
import { icon } from '../../lib/icons.js';
import { PreviewColumn } from './preview-column.js';

/** @param {{ id: string, onClose: () => void }} props */
export function ContentOf({ id, onClose }) {
  const [contact, setContact] = useState('');
  return h(Modal, { label: 'Content', class: 'drawer drawer-wide', onClose },
    t.header(null, t.h2(null, 'Content'), t.button({ type: 'button', class: 'btn btn-ghost btn-icon btn-sm', 'aria-label': 'Close', title: 'Close', 'data-safe': '', onClick: onClose }, icon('x'))),
    t.div({ class: 'c-prev' }, h(PreviewColumn, { id, contact, setContact, version: 0, bytes: null })));
}

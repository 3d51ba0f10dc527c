// Dialog: one decision, or at most four fields. Never a dialog on a dialog. A dialog with fields does
// not close by a click outside. The first field has the focus, or the safe button.
import { useEffect, useRef, useState } from '../vendor/preact.js';
import { fragment, t } from '../lib/h.js';
import { h } from '../vendor/preact.js';
import { ApiError } from '../lib/api.js';
import { Button } from './button.js';
import { errorNote } from './empty.js';

/**
 * The native dialog, open as long as it is rendered.
 * @param {{ label: string, class: string, onClose: () => void, modal?: boolean, outside?: boolean, children?: import('../lib/h.js').Children }} props
 */
export function Modal({ label, class: className, onClose, outside = true, children }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const element = ref.current;
    element?.showModal();
    const field = element?.querySelector('[autofocus], input:not([type="hidden"]), select, textarea, [data-safe]');
    if (field instanceof HTMLElement) field.focus();
    return () => element?.close();
  }, []);
  return t.dialog({ ref, class: className, 'aria-label': label, onCancel: (event) => { event.preventDefault(); onClose(); },
    onClick: (event) => { if (outside && event.target === event.currentTarget) onClose(); } }, children);
}

/**
 * A dialog with a form. `submit` returns when the change is done; an `ApiError` stays in the dialog.
 * @param {{ title: string, action: string, danger?: boolean, cancel?: string, onClose: () => void, submit: () => Promise<unknown> | void, fields?: boolean, children?: import('../lib/h.js').Children }} props
 */
export function Dialog({ title, action, danger = false, cancel = 'Cancel', onClose, submit, fields = false, children }) {
  const [error, setError] = useState(/** @type {ApiError | null} */ (null));
  const [busy, setBusy] = useState(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await submit();
    } catch (thrown) {
      setError(thrown instanceof ApiError ? thrown : new ApiError(0, 'error', String(thrown), null));
    }
    setBusy(false);
  };
  return h(Modal, { label: title, class: 'dialog', onClose, outside: !fields },
    t.form({ ref: form, onSubmit: send, noValidate: true, onKeyDown: (event) => { if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) form.current?.requestSubmit(); } },
      t.header(null, t.h2(null, title)),
      t.div({ class: 'dialog-body' }, children, error && errorNote(error)),
      t.footer(null,
        t.button({ type: 'button', class: 'btn', 'data-safe': '', onClick: onClose }, cancel),
        h(Button, { type: 'submit', kind: danger ? 'danger-solid' : 'primary', busy }, action))));
}

/**
 * A dialog that shows something, with one way out.
 * @param {{ title: string, wide?: boolean, onClose: () => void, children?: import('../lib/h.js').Children }} props
 */
export function Notice({ title, wide, onClose, children }) {
  return h(Modal, { label: title, class: wide ? 'dialog dialog-wide' : 'dialog', onClose },
    t.header(null, t.h2(null, title)), t.div({ class: 'dialog-body' }, children),
    t.footer(null, t.button({ type: 'button', class: 'btn', 'data-safe': '', onClick: onClose }, 'Close')));
}

/**
 * A dialog's opener and the dialog: `const ask = useDialog((close) => h(Dialog, …))`.
 * @param {(close: () => void) => import('../lib/h.js').Children} body
 * @returns {{ open: () => void, view: import('../lib/h.js').Children }}
 */
export function useDialog(body) {
  const [shown, setShown] = useState(false);
  return { open: () => setShown(true), view: shown ? fragment(body(() => setShown(false))) : null };
}

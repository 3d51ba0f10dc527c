// Another time for a scheduled email.
import { h, useState } from '../../vendor/preact.js';
import { api } from '../../lib/api.js';
import { TextField } from '../../components/field.js';
import { Dialog } from '../../components/dialog.js';
import { toast } from '../../components/toast.js';

/** @param {{ id: string, at: string | null, onClose: () => void, done: () => unknown }} props */
export function Reschedule({ id, at, onClose, done }) {
  const [when, setWhen] = useState(at ?? '');
  const submit = async () => {
    await api.patch(`/emails/${id}`, { scheduled_at: when });
    onClose();
    await done();
    toast('The email has another time');
  };
  return h(Dialog, { title: 'Change the time of this email', action: 'Change time', fields: true, onClose, submit },
    h(TextField, { label: 'Send at', value: when, onInput: setWhen, hint: 'A time such as 2026-11-23T08:00:00Z, or words such as “in 2 hours” and “tomorrow at 9am UTC”.' }));
}

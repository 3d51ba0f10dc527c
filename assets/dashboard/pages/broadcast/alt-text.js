// The dialog that asks for the alternative text of an image.
import { h, useState } from '../../vendor/preact.js';
import { ApiError } from '../../lib/api.js';
import { Dialog } from '../../components/dialog.js';
import { TextField } from '../../components/field.js';

/** @param {{ onClose: () => void, add: (words: string) => boolean, added: () => void }} props `add` returns false if the image has another place now */
export function AltText({ onClose, add, added }) {
  const [words, setWords] = useState('');
  const submit = () => {
    if (words.trim() === '') throw new ApiError(422, 'validation_error', 'Describe the image in a few words.', null);
    if (!add(words.trim())) throw new ApiError(409, 'error', 'The content has changed since the check. Close this dialog and try again.', null);
    added();
  };
  return h(Dialog, { title: 'Add alternative text', action: 'Add text', fields: true, onClose, submit },
    h(TextField, { label: 'Alternative text', value: words, onInput: setWords, spellcheck: true, hint: 'Mail programs show it while images are off, and screen readers read it aloud.' }));
}

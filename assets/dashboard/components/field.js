// Field: label, control, then hint or error. The error names the next step and is read with the control.
import { useId } from '../vendor/preact.js';
import { cls, t } from '../lib/h.js';
import { icon } from '../lib/icons.js';

/**
 * @typedef {object} FieldProps
 * @property {string} label
 * @property {string} value
 * @property {(value: string) => void} [onInput]
 * @property {import('../lib/h.js').Children} [hint]
 * @property {string | null} [error]
 * @property {string} [name]
 * @property {string | false} [disabled] the reason, shown as the hint
 * @property {boolean} [required]
 * @property {boolean} [hideLabel]
 */

/**
 * @param {FieldProps} props
 * @param {(common: { id: string, name?: string, disabled: boolean, required?: boolean, 'aria-invalid'?: 'true', 'aria-describedby'?: string }) => import('../lib/h.js').Node} control
 */
function useField({ label, hint, error, name, disabled, required, hideLabel }, control) {
  const id = useId();
  const note = error || disabled || hint;
  const common = { id, name, disabled: Boolean(disabled), required, 'aria-invalid': error ? /** @type {const} */ ('true') : undefined, 'aria-describedby': note ? `${id}-note` : undefined };
  return t.div({ class: 'field' }, t.label({ for: id, class: cls(hideLabel && 'sr') }, label), control(common),
    note && (error ? t.p({ class: 'error', id: `${id}-note` }, icon('stop'), error) : t.p({ class: 'hint', id: `${id}-note` }, note)));
}

/** @param {FieldProps & { type?: 'text' | 'email' | 'url' | 'number' | 'search' | 'date' | 'datetime-local', placeholder?: string, autocomplete?: string, autofocus?: boolean, spellcheck?: boolean }} props */
export function TextField(props) {
  const { value, onInput, type = 'text', placeholder, autocomplete = 'off', autofocus, spellcheck = false } = props;
  return useField(props, (common) => t.input({ ...common, class: 'input', type: /** @type {'text'} */ (type), value, placeholder, autocomplete, autofocus, spellcheck, onInput: (event) => onInput?.(event.currentTarget.value) }));
}

/** @param {FieldProps & { rows?: number, placeholder?: string }} props */
export function TextArea(props) {
  const { value, onInput, rows = 4, placeholder } = props;
  return useField(props, (common) => t.textarea({ ...common, class: 'input', rows, placeholder, value, onInput: (event) => onInput?.(event.currentTarget.value) }));
}

/** @param {FieldProps & { options: (string | [value: string, text: string])[] }} props */
export function SelectField(props) {
  const { value, onInput, options } = props;
  return useField(props, (common) => t.select({ ...common, class: 'select', value, onChange: (event) => onInput?.(event.currentTarget.value) },
    options.map((option) => {
      const [key, text] = typeof option === 'string' ? [option, option] : option;
      return t.option({ key, value: key, selected: key === value }, text);
    })));
}

/**
 * A checkbox: it acts with the form. `mixed` shows that some are on.
 * @param {{ label: import('../lib/h.js').Children, checked: boolean, mixed?: boolean, disabled?: boolean, hideLabel?: boolean, class?: string, onChange?: (checked: boolean, event: MouseEvent) => void }} props
 */
export function Checkbox({ label, checked, mixed = false, disabled, hideLabel, class: more, onChange }) {
  return t.label({ class: cls('check', more) },
    t.input({ type: 'checkbox', checked, disabled, indeterminate: mixed, 'aria-label': hideLabel ? String(label) : undefined,
      onClick: (event) => onChange?.(event.currentTarget.checked, event) }), !hideLabel && label);
}

/** @param {{ label: string, name: string, checked: boolean, onChange?: () => void, hint?: string }} props */
export function Radio({ label, name, checked, onChange, hint }) {
  return t.label({ class: 'check' }, t.input({ type: 'radio', name, checked, onChange }), t.span(null, label, hint && t.small(null, hint)));
}

/** A switch: it acts at once. @param {{ label: string, checked: boolean, disabled?: boolean, onChange?: (on: boolean) => void }} props */
export function Switch({ label, checked, disabled, onChange }) {
  return t.label({ class: 'switch t2' },
    t.input({ type: 'checkbox', role: 'switch', checked, disabled, onChange: (event) => onChange?.(event.currentTarget.checked) }), label);
}

/**
 * A choice of two to four, such as the width of a preview.
 * @template {string} Value
 * @param {{ label: string, value: Value, options: [Value, string, import('../lib/icons.js').IconName?][], onChange: (value: Value) => void, small?: boolean, class?: string }} props
 */
export function Segmented({ label, value, options, onChange, small, class: more }) {
  return t.div({ class: cls('seg', small && 'seg-sm', more), role: 'group', 'aria-label': label },
    options.map(([key, text, name]) => t.button({ key, type: 'button', 'aria-pressed': key === value, onClick: () => onChange(key) }, name && icon(name, 'i-sm'), text)));
}

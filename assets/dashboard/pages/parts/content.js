// The content of a message: preview, text, HTML, headers, raw, attachments. Emails and captured messages share it.
import { h, useEffect, useState } from '../../vendor/preact.js';
import { fragment, t } from '../../lib/h.js';
import { api, apiUrl } from '../../lib/api.js';
import { icon } from '../../lib/icons.js';
import { attempt } from '../../lib/problem.js';
import { query, setQuery } from '../../lib/router.js';
import { store, stored } from '../../lib/state.js';
import { bytes } from '../../lib/time.js';
import { Copy } from '../../components/copy.js';
import { failed } from '../../components/empty.js';
import { Segmented, Switch } from '../../components/field.js';
import { Tabs } from '../../components/tabs.js';

/** @typedef {{ id: string, filename: string, size: number, content_type: string, href: string | null, get?: () => Promise<void> }} Attachment */
/**
 * @typedef {object} ContentProps
 * @property {string} path of the message in the API: `/emails/…`, `/captured/…`
 * @property {boolean} hasHtml
 * @property {string | null} text
 * @property {string | null} html its source, if the page has it
 * @property {[string, string][] | null} headers null: they are read from the raw message
 * @property {Attachment[]} attachments
 * @property {boolean} [removed] retention has deleted the content
 */

/** Characters of the raw message that the page shows. */
const RAW_MAX = 200_000;

/** @param {ContentProps} props */
export function Content({ path, hasHtml, text, html, headers, attachments, removed = false }) {
  const tabs = [
    { id: 'preview', label: 'Preview' }, ...(text !== null ? [{ id: 'text', label: 'Text' }] : []), ...(html !== null ? [{ id: 'html', label: 'HTML' }] : []),
    { id: 'headers', label: 'Headers' }, { id: 'raw', label: 'Raw' }, ...(attachments.length > 0 ? [{ id: 'attachments', label: 'Attachments', count: attachments.length }] : []),
  ];
  const asked = query.value.tab ?? 'preview';
  const tab = tabs.some((one) => one.id === asked) ? asked : 'preview';
  if (removed) return t.section({ class: 'card', 'aria-label': 'Content' }, t.div({ class: 'empty' }, t.h2(null, 'The content was removed'), t.p(null, 'Retention deletes the content of emails after some days. The timeline stays.')));
  return t.section({ class: 'card', 'aria-label': 'Content' },
    h(Tabs, { label: 'Content', tabs, selected: tab, onSelect: (/** @type {string} */ id) => setQuery({ tab: id === 'preview' ? null : id }, { replace: true }) },
      tab === 'preview' ? (hasHtml ? h(Preview, { path }) : t.pre({ class: 'raw raw-wrap', tabIndex: 0 }, text || 'The email has no text.'))
        : tab === 'text' ? source(text ?? '', 'Copy the text', true)
          : tab === 'html' ? source(html ?? '', 'Copy the HTML')
            : tab === 'attachments' ? h(Attachments, { attachments })
              : tab === 'headers' && headers ? headerList(headers)
                : h(Raw, { path, only: tab === 'headers' })));
}

/**
 * @param {string} text
 * @param {string} label
 * @param {boolean} [wrap]
 */
function source(text, label, wrap = false) {
  return t.div({ class: 'source' }, t.pre({ class: wrap ? 'raw raw-wrap' : 'raw', tabIndex: 0 }, text), h(Copy, { text, label }));
}

/**
 * The rendered HTML, in a frame without scripts and with a policy of its own. Dark is the email's own dark style, by
 * the colour scheme of the frame. Forced is the inversion that some mail clients do, by the server.
 * @param {{ path: string, query?: import('../../lib/api.js').Query }} props `query` has further parameters of the frame
 */
export function Preview({ path, query: further = {} }) {
  const [width, setWidth] = useState(stored('preview.width', '600'));
  const [scheme, setScheme] = useState(stored('preview.scheme', 'light'));
  const [images, setImages] = useState(false);
  return fragment(
    t.div({ class: 'preview-bar' },
      h(Segmented, { label: 'Width', class: 'seg-width', small: true, value: width, onChange: (/** @type {string} */ value) => { setWidth(value); store('preview.width', value); }, options: [['600', '600', 'desktop'], ['375', '375', 'phone']] }),
      h(Segmented, { label: 'Colours', small: true, value: scheme, onChange: (/** @type {string} */ value) => { setScheme(value); store('preview.scheme', value); }, options: [['light', 'Light', 'sun'], ['dark', 'Dark', 'moon'], ['forced', 'Forced', 'contrast']] }),
      t.span({ class: 'grow' }), h(Switch, { label: 'Images', checked: images, onChange: setImages })),
    t.div({ class: 'preview-stage', role: 'group', 'aria-label': 'The email as it looks', tabIndex: 0, 'data-width': width, 'data-scheme': scheme },
      // Lazy, so that the page is drawn before the browser starts a document for the frame.
      t.iframe({ loading: 'lazy', src: apiUrl(`${path}/preview`, { ...further, images: images ? 1 : 0, dark: scheme === 'forced' ? 1 : 0 }), sandbox: '', title: 'The email as it looks', referrerpolicy: 'no-referrer' })));
}

/** The raw message, or only its headers. @param {{ path: string, only: boolean }} props */
function Raw({ path, only }) {
  const [raw, setRaw] = useState(/** @type {string | null} */ (null));
  const [error, setError] = useState(/** @type {import('../../lib/api.js').ApiError | null} */ (null));
  const load = () => {
    setError(null);
    api.get(`${path}/raw`).then((text) => setRaw(String(text)), setError);
  };
  useEffect(load, [path]);
  if (error) return t.div({ class: 'pad' }, failed(error, load, 'The message'));
  if (raw === null) return t.pre({ class: 'raw', 'aria-busy': 'true' }, t.span({ class: 'sk sk-60' }));
  if (only) return headerList(parseHeaders(raw));
  return fragment(source(raw.slice(0, RAW_MAX), 'Copy the raw message'),
    raw.length > RAW_MAX && t.p({ class: 'pad t3' }, `The first ${bytes(RAW_MAX)} of ${bytes(raw.length)}. `, t.a({ class: 'link', href: apiUrl(`${path}/raw`), download: '' }, 'Download all')));
}

/**
 * The headers of a raw message, unfolded.
 * @param {string} raw
 * @returns {[string, string][]}
 */
function parseHeaders(raw) {
  const [head = ''] = raw.split(/\r?\n\r?\n/, 1);
  return head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/).map((line) => {
    const at = line.indexOf(':');
    return /** @type {[string, string]} */ ([line.slice(0, at), line.slice(at + 1).trim()]);
  });
}

/** @param {[string, string][]} headers */
function headerList(headers) {
  return t.dl({ class: 'kv' }, headers.map(([name, value], i) => fragment(t.dt({ key: `n${i}` }, name), t.dd({ key: `v${i}` }, value))));
}

/** @param {{ attachments: Attachment[] }} props */
function Attachments({ attachments }) {
  return t.ul({ class: 'list' }, attachments.map((one) => {
    const row = [icon('clip'), t.span({ class: 'grow trunc t1', key: 'n' }, one.filename), t.span({ class: 't3 hide-sm', key: 't' }, one.content_type), t.span({ class: 'num', key: 's' }, bytes(one.size)), icon('download')];
    return t.li({ key: one.id }, one.href ? t.a({ class: 'item', href: one.href, download: one.filename }, row) : t.button({ type: 'button', class: 'item item-button', onClick: () => { void attempt(one.get?.()); } }, row));
  }));
}

// The menu that puts a block or a merge field at the cursor of an editor.
import { h } from '../../vendor/preact.js';
import { t } from '../../lib/h.js';
import { icon } from '../../lib/icons.js';
import { useLoad } from '../../lib/load.js';
import { Menu, menuItem } from '../../components/menu.js';

/** A column. The layout of the Markdown puts columns of this class below each other on a narrow screen. @param {string} padding @param {string} name */
const column = (padding, name) => `<td class="rm-column" width="50%" style="padding:${padding};vertical-align:top">\n<p>${name} column</p>\n</td>\n`;

/** Blocks by language. @type {Record<import('../../components/editor.js').EditorLanguage, [string, string][]>} */
const BLOCKS = {
  markdown: [['Heading', '\n## Heading\n\n'], ['Button', '\n[[button: Read more](https://example.com/)]\n\n'], ['Link', '[text](https://example.com/)'], ['Image', '![What the image shows](https://example.com/image.png)\n'], ['Two columns', '\n[[columns]]\n\nFirst column\n\n[[column]]\n\nSecond column\n\n[[end]]\n\n']],
  html: [['Button', '<p><a href="https://example.com/" style="display:inline-block;padding:10px 18px;border-radius:6px;background:#16181d;color:#ffffff;text-decoration:none">Read more</a></p>\n'], ['Link', '<a href="https://example.com/">text</a>'], ['Image', '<img src="https://example.com/image.png" alt="What the image shows" width="560">\n'],
    ['Two columns', `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>\n${column('0 12px 0 0', 'First')}${column('0 0 0 12px', 'Second')}</tr></table>\n`]],
};
const FIELDS = /** @type {[string, string][]} */ ([['First name', '{{{FIRST_NAME|there}}}'], ['Last name', '{{{LAST_NAME}}}'], ['Email', '{{{EMAIL}}}']]);

/** @param {{ language: import('../../components/editor.js').EditorLanguage, insert: (text: string) => void, unsubscribe?: boolean }} props */
export function InsertMenu({ language, insert, unsubscribe = false }) {
  const properties = /** @type {import('../../lib/load.js').Loaded<{ data: import('../../types/api.d.ts').ContactProperty[] }>} */ (useLoad(unsubscribe ? '/contact-properties' : null, { limit: 20 }));
  const item = ([name, text] = ['', '']) => menuItem(null, name, () => { requestAnimationFrame(() => insert(text)); });
  const link = language === 'markdown' ? '[Unsubscribe]({{{UNSUBSCRIBE_URL}}})' : '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>';
  return h(Menu, { class: 'btn btn-ghost btn-sm', end: true, button: [icon('plus'), 'Insert'], children: [
    t.p({ key: 'blocks' }, 'Blocks'), ...BLOCKS[language].map(item),
    ...(unsubscribe ? [t.p({ key: 'fields' }, 'Merge fields'), ...FIELDS.map(item), ...(properties.data?.data ?? []).map(({ key }) => item([key, `{{{${key}}}}`])), item(['Unsubscribe link', link])] : []),
  ] });
}

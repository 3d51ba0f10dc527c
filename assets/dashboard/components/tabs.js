// Tabs: one stop in the tab order, arrow keys move. `pageTabs` are links between pages.
import { useId } from '../vendor/preact.js';
import { cls, t } from '../lib/h.js';
import { link } from '../lib/router.js';

/** @typedef {{ id: string, label: string, count?: number, narrow?: boolean }} Tab `narrow`: the tab is shown only on a window without room for its panel beside the others */

/**
 * The tabs, and one panel below them with the children.
 * @param {{ label: string, tabs: Tab[], selected: string, onSelect: (id: string) => void, end?: import('../lib/h.js').Children, panel?: string, children?: import('../lib/h.js').Children }} props
 *   `end` is at the end of the line of the tabs, `panel` is a class
 */
export function Tabs({ label, tabs, selected, onSelect, end, panel, children }) {
  const id = useId();
  const move = (/** @type {KeyboardEvent & { currentTarget: HTMLElement }} */ event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const buttons = /** @type {HTMLElement[]} */ ([...event.currentTarget.querySelectorAll('[data-tab]')]).filter((button) => button.offsetParent !== null);
    const at = buttons.findIndex((button) => button.dataset.tab === selected);
    const next = buttons[(at + by + buttons.length) % buttons.length];
    if (!next) return;
    onSelect(next.dataset.tab ?? '');
    next.focus();
  };
  const list = t.div({ class: cls('tabs', end !== undefined && 'tabs-in'), role: 'tablist', 'aria-label': label, onKeyDown: move }, tabs.map((tab) => t.button({
    key: tab.id, role: 'tab', class: cls(tab.narrow && 'only-narrow'), type: 'button', id: `${id}-${tab.id}`, 'data-tab': tab.id, 'aria-controls': `${id}-panel`,
    'aria-selected': tab.id === selected, tabIndex: tab.id === selected ? 0 : -1, onClick: () => onSelect(tab.id),
  }, tab.label, tab.count ? t.span({ class: 'count' }, tab.count) : null)));
  return [
    end === undefined ? list : t.div({ class: 'c-bar' }, list, t.span({ class: 'grow' }), end),
    t.div({ role: 'tabpanel', class: panel, id: `${id}-panel`, 'aria-labelledby': `${id}-${selected}`, tabIndex: 0 }, children),
  ];
}

/**
 * Links that look like tabs.
 * @param {string} label
 * @param {{ to: string, label: string, count?: number, current: boolean }[]} tabs
 */
export function pageTabs(label, tabs) {
  return t.nav({ class: 'tabs tabs-page', 'aria-label': label },
    tabs.map((tab) => link({ key: tab.to, to: tab.to, 'aria-current': tab.current ? 'page' : undefined }, tab.label, tab.count ? t.span({ class: 'count' }, tab.count) : null)));
}

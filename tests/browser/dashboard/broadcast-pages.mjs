// The pages of broadcasts and templates, in the form of `PAGES`. `pages.mjs` looks at each in its states.
import { uuid } from '../fake/lists.mjs';

const LIST = ['empty', 'nothing', 'one', 'hundred'];
const [DRAFT, SENDING, SCHEDULED, SENT, CANCELED, FAILED, HTML] = Array.from({ length: 7 }, (_, n) => uuid('b0ad', n));
const TEMPLATE = uuid('7e41', 0);

/** @type {[string, string, string, string | null, string[]?][]} */
export const BROADCASTS = [
  ['broadcasts', '/broadcasts', 'a.cell', '/broadcasts', LIST],
  ['broadcast-create', '/broadcasts?create=1', '.dialog', null],
  ['composer', `/broadcasts/${DRAFT}/edit`, '.cm-content', `/broadcasts/${DRAFT}`],
  ['composer-html', `/broadcasts/${HTML}/edit`, '.cm-content', `/broadcasts/${HTML}/content`],
  ['broadcast', `/broadcasts/${SENDING}`, '.fnl', `/broadcasts/${SENDING}/report`, ['warning', 'paused', 'observed']],
  ['broadcast-sent-to', `/broadcasts/${SENDING}?type=sent`, 'a.cell[href*="/emails/"]', `/broadcasts/${SENDING}/recipients`],
  ['broadcast-bounced', `/broadcasts/${SENDING}?type=bounced`, '.fnl', `/broadcasts/${SENDING}/recipients`],
  ['broadcast-scheduled', `/broadcasts/${SCHEDULED}`, '.verdict', `/broadcasts/${SCHEDULED}/report`],
  ['broadcast-sent', `/broadcasts/${SENT}`, '.fnl', `/broadcasts/${SENT}/report`],
  ['broadcast-canceled', `/broadcasts/${CANCELED}`, '.fnl', `/broadcasts/${CANCELED}/report`],
  ['broadcast-failed', `/broadcasts/${FAILED}`, '.verdict', `/broadcasts/${FAILED}/report`],
  ['templates', '/templates', 'a.cell', '/templates', LIST],
  ['template-create', '/templates?create=1', '.dialog', null],
  ['template', `/templates/${TEMPLATE}`, '.cm-content', `/templates/${TEMPLATE}`],
];

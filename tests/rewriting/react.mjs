// The emails of the corpus that React Email renders: each layout in three variants. Prints them as JSON.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const modules = createRequire(join(process.env.CORPUS_MODULES, '/'));
const { createElement: h } = modules('react');
const email = modules('@react-email/components');
const { version } = JSON.parse(readFileSync(join(process.env.CORPUS_MODULES, 'node_modules/@react-email/components/package.json'), 'utf8'));
const { Body, Button, CodeBlock, CodeInline, Column, Container, Font, Head, Heading, Hr, Html, Img, Link, Markdown, Preview, Row, Section, Tailwind, Text } = email;

const PICTURE = 'data:image/gif;base64,R0lGODlhAQABAIAAAJmZzAAAACwAAAAAAQABAAACAkQBADs=';
const LOREM = 'The invoice of this month is ready. You find it in your account, and it is paid automatically within fourteen days.';
const url = (path) => `https://app.example.com/${path}`;

const VARIANTS = {
  light: { body: { backgroundColor: '#f6f9fc', fontFamily: 'Arial, sans-serif' }, box: { backgroundColor: '#ffffff', padding: '24px', margin: '0 auto', maxWidth: '560px' }, button: { backgroundColor: '#5469d4', color: '#ffffff', padding: '12px 20px' } },
  tight: { body: { margin: 0, padding: 0 }, box: { width: '100%', maxWidth: '100%' }, button: { border: '1px solid #333333', color: '#333333', padding: '4px 8px', borderRadius: '2px' } },
  night: { body: { backgroundColor: '#0b0d12', color: '#dfe4f0', minHeight: '100vh' }, box: { padding: '40px 16px', border: '1px solid #333a4d', borderRadius: '12px' }, button: { backgroundColor: '#dfe4f0', color: '#0b0d12', padding: '16px 32px', borderRadius: '999px' } },
};

const say = (text, style) => h(Text, { style }, ...[text].flat());
const link = (path, label, more = {}) => h(Link, { href: url(path), ...more }, label);
const list = (count, item) => Array.from({ length: count }, (_, at) => item(at));
const picture = (width = 120) => h(Img, { src: PICTURE, alt: 'A picture', width, height: 60 });

/** The content of each layout. */
const LAYOUTS = {
  welcome: ({ button }) => [h(Heading, { key: 1 }, 'Welcome'), say(LOREM), h(Button, { key: 2, href: url('start'), style: button }, 'Start')],
  'magic-link': () => [h(Heading, { key: 1, as: 'h2' }, 'Sign in'), link('login?token=4f1d&next=%2Fhome', 'Click here to sign in', { target: '_self' }), say('Or use this code:'), h('code', { key: 2 }, 'sparo-ndigo-amurt')],
  receipt: () => [h(Section, { key: 1 }, list(4, (at) => h(Row, { key: at }, h(Column, null, link(`item/${at}`, `Item ${at}`)), h(Column, { align: 'right' }, `$${at * 3}.90`)))), h(Hr, { key: 2 }), say('Total $17.40')],
  columns: () => h(Row, null, list(3, (at) => h(Column, { key: at, style: { width: '33%' } }, picture(90), link(`product/${at}`, `Product ${at}`)))),
  'image-links': () => list(3, (at) => h(Link, { key: at, href: url(`banner/${at}`) }, picture(300))),
  markdown: () => h(Markdown, null, '# News\n\nA [link](https://app.example.com/md) and **bold** text.\n\n- one\n- [two](https://app.example.com/two?x=1&y=2)\n\n> A quotation\n\n| a | b |\n|---|---|\n| 1 | 2 |\n'),
  'code-block': () => [say('Run this:'), h(CodeBlock, { key: 1, code: 'const answer = await fetch("https://api.example.com/v1");\nconsole.log(answer.status);', language: 'javascript', theme: email.dracula, lineNumbers: true })],
  'code-inline': () => say(['Set ', h(CodeInline, { key: 1 }, 'RETRIES=3'), ' and read ', link('docs', 'the documentation'), '.']),
  tailwind: ({ button }) => h(Tailwind, null, h(Section, { className: 'rounded border border-solid p-4 text-center' }, h(Heading, { className: 'm-0 text-2xl' }, 'Tailwind'), h(Button, { href: url('tw'), className: 'rounded bg-black px-5 py-3 text-white', style: button }, 'Open'), h(Link, { href: url('tw/2'), className: 'block text-sm sm:text-lg' }, 'Second'))),
  'many-links': () => h('ul', null, list(60, (at) => h('li', { key: at }, link(`many/${at}`, `Link ${at}`)))),
  'unsafe-schemes': () => [link('plain', 'Web'), h(Link, { key: 1, href: 'mailto:help@example.com?subject=Hi' }, 'Mail'), h(Link, { key: 2, href: 'tel:+15555550100' }, 'Call'), h(Link, { key: 3, href: '#top' }, 'Top'), h(Link, { key: 4, href: '/relative' }, 'Relative'), h(Link, { key: 5, href: 'sms:+15555550100' }, 'Text')],
  unicode: () => [h(Heading, { key: 1 }, 'Grüße, 你好, שלום'), say('🎉 Zażółć gęślą jaźń'), h(Link, { key: 2, href: 'https://app.example.com/ünïcode/路径?q=ä' }, 'Ünïcode')],
  digest: () => list(5, (at) => h(Section, { key: at }, h(Row, null, h(Column, { style: { width: '60px' } }, picture(48)), h(Column, null, link(`digest/${at}`, h('b', null, `Story ${at}`)), say(LOREM)))), h(Hr, null)),
  invitation: ({ button }) => [say(['Grace invites you to ', h('strong', { key: 1 }, 'Acme'), '.']), h(Button, { key: 2, href: url('invite/77'), style: button }, 'Join'), say(['or copy ', link('invite/77', url('invite/77'))])],
  'password-reset': ({ button }) => [say('Someone asked for a new password.'), h(Button, { key: 1, href: url('reset?t=a%20b'), style: { ...button, display: 'block', textAlign: 'center' } }, 'Reset'), say('The link is valid for one hour.', { fontSize: '12px', color: '#8898aa' })],
};

const rendered = [];
for (const [layout, content] of Object.entries(LAYOUTS)) {
  for (const [name, variant] of Object.entries(VARIANTS)) {
    const head = h(Head, null, h('title', null, 'Acme'), name === 'light' ? h(Font, { fontFamily: 'Roboto', fallbackFontFamily: 'Verdana', fontWeight: 400, fontStyle: 'normal' }) : null);
    const tree = h(Html, { lang: 'en', dir: layout === 'unicode' && name === 'night' ? 'rtl' : 'ltr' }, head, h(Preview, null, 'A preview of the email'), h(Body, { style: variant.body }, h(Container, { style: variant.box }, ...[content(variant)].flat())));
    const html = await email.render(tree, { pretty: name === 'tight' });
    rendered.push({ file: `react-${layout}-${name}.html`, origin: `own template, @react-email/components@${version}`, licence: 'MIT', html });
  }
}
process.stdout.write(JSON.stringify(rendered));

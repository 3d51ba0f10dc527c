// The emails of the corpus that MJML renders: each layout in three themes. Prints them as JSON.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const modules = createRequire(join(process.env.CORPUS_MODULES, '/'));
const render = modules('mjml').default ?? modules('mjml');
const { version } = modules('mjml/package.json');

const PICTURE = 'data:image/gif;base64,R0lGODlhAQABAIAAAJmZzAAAACwAAAAAAQABAAACAkQBADs=';

const THEMES = {
  plain: { body: '#ffffff', box: '#ffffff', ink: '#222222', accent: '#2255aa', font: 'Arial, sans-serif', radius: '3px', pad: '20px' },
  warm: { body: '#f4efe6', box: '#fffaf2', ink: '#40342a', accent: '#b0482f', font: 'Georgia, serif', radius: '0', pad: '12px 28px' },
  dark: { body: '#10131a', box: '#1b2130', ink: '#e8ecf5', accent: '#7fb3ff', font: 'Verdana, Geneva, sans-serif', radius: '24px', pad: '32px' },
};

const text = (html, more = '') => `<mj-text ${more}>${html}</mj-text>`;
const button = (href, label, more = '') => `<mj-button href="${href}" ${more}>${label}</mj-button>`;
const image = (more = '') => `<mj-image src="${PICTURE}" alt="A picture" width="200px" height="80px" ${more}/>`;
const column = (inner, more = '') => `<mj-column ${more}>${inner}</mj-column>`;
const section = (inner, more = '') => `<mj-section ${more}>${inner}</mj-section>`;
const link = (path, label) => `<a href="https://shop.example.com/${path}">${label}</a>`;
const footer = section(column(text(`You receive this email because you are a customer. ${link('preferences', 'Preferences')} · <a href="mailto:help@example.com">Help</a> · <a href="tel:+15555550100">Call</a>`, 'font-size="11px" align="center"')));
const LOREM = 'The order of yesterday is on its way and arrives between Tuesday and Thursday. We send a second email when the parcel leaves the depot.';

/** The sections of each layout. */
const LAYOUTS = {
  receipt: () => section(column(text('<h1>Your receipt</h1>') + `<mj-table><tr><td>Two chairs</td><td align="right">€ 198.00</td></tr><tr><td>${link('item/7?a=1&amp;b=2', 'One lamp')}</td><td align="right">€ 31.50</td></tr></mj-table>` + '<mj-divider/>' + button('https://shop.example.com/orders/17', 'See the order'))),
  two_columns: () => section(column(text(LOREM)) + column(image('href="https://shop.example.com/picture"'))),
  three_columns: () => section([1, 2, 3].map((number) => column(image() + text(link(`p/${number}`, `Product ${number}`)), 'width="33.33%"')).join('')),
  hero_fixed: (theme) => `<mj-hero mode="fixed-height" height="260px" background-width="600px" background-height="260px" background-url="${PICTURE}" background-color="${theme.accent}">${text('<h1>Summer</h1>', 'color="#ffffff" align="center"')}${button('https://shop.example.com/summer', 'Look')}</mj-hero>`,
  hero_fluid: (theme) => `<mj-hero mode="fluid-height" background-width="600px" background-height="400px" background-url="${PICTURE}" background-color="${theme.accent}" padding="60px 0">${text('Fluid', 'color="#ffffff"')}</mj-hero>`,
  navigation: () => section(column(`<mj-navbar base-url="https://shop.example.com" hamburger="hamburger">${['new', 'sale', 'help'].map((path) => `<mj-navbar-link href="/${path}">${path}</mj-navbar-link>`).join('')}</mj-navbar>`)) + section(column(text(LOREM))),
  social: () => section(column(text(LOREM) + `<mj-social mode="horizontal">${['facebook', 'twitter', 'linkedin'].map((name) => `<mj-social-element name="${name}" src="${PICTURE}" href="https://social.example.com/${name}">${name}</mj-social-element>`).join('')}</mj-social>`)),
  accordion: () => section(column(`<mj-accordion>${[1, 2].map((number) => `<mj-accordion-element icon-wrapped-url="${PICTURE}" icon-unwrapped-url="${PICTURE}"><mj-accordion-title>Question ${number}</mj-accordion-title><mj-accordion-text>${LOREM} ${link(`faq/${number}`, 'More')}</mj-accordion-text></mj-accordion-element>`).join('')}</mj-accordion>`)),
  carousel: () => section(column(`<mj-carousel left-icon="${PICTURE}" right-icon="${PICTURE}">${[1, 2, 3].map((number) => `<mj-carousel-image src="${PICTURE}" href="https://shop.example.com/slide/${number}"/>`).join('')}</mj-carousel>`)),
  group: () => section(`<mj-group>${column(text('Left'), 'width="30%"')}${column(text(link('right', 'Right')), 'width="70%"')}</mj-group>`),
  wrapper: (theme) => `<mj-wrapper border="2px solid ${theme.accent}" padding="20px">${section(column(text(LOREM)))}${section(column(button('https://shop.example.com/inside', 'Inside')))}</mj-wrapper>`,
  full_width: (theme) => section(column(text(`Full width ${link('wide', 'wide')}`)), `full-width="full-width" background-color="${theme.accent}"`),
  background: () => section(column(text(LOREM)), `background-url="${PICTURE}" background-size="cover" background-repeat="no-repeat" full-width="full-width"`),
  vertical_align: () => section(column(text('Top'), 'vertical-align="top"') + column(`<mj-spacer height="120px"/>`) + column(button('https://shop.example.com/bottom', 'Bottom'), 'vertical-align="bottom"')),
  raw: () => `<mj-raw><!-- raw --></mj-raw>${section(column(`<mj-raw><p class="raw"><a href="https://shop.example.com/raw?x=1&y=2">raw &amp; ready</a></p></mj-raw>`))}`,
  rtl: () => section(column(text(`<p dir="rtl">مرحبا ${link('ar', 'متجر')}</p>`, 'align="right"')) + column(image()), 'direction="rtl"'),
  long_list: () => section(column(text(`<ul>${Array.from({ length: 40 }, (_, at) => `<li>${link(`list/${at}`, `Entry ${at}`)}</li>`).join('')}</ul>`))),
  nested_tables: () => section(column(`<mj-table cellpadding="4">${Array.from({ length: 6 }, (_, at) => `<tr><td><table width="100%"><tr><td>${link(`cell/${at}`, `Cell ${at}`)}</td><td>${at * 7}</td></tr></table></td></tr>`).join('')}</mj-table>`)),
  code: () => section(column(text('<p>Your code is</p><p style="font-size:32px;letter-spacing:8px">481 920</p><p>It is valid for ten minutes.</p>', 'align="center"'))),
  invitation: () => section(column(text(`<p>Ada invites you to <b>Acme</b>.</p><p>${link('join/3f9c', 'https://shop.example.com/join/3f9c')}</p>`) + button('https://shop.example.com/join/3f9c', 'Accept', 'width="240px"'))),
  newsletter: () => ['First', 'Second', 'Third'].map((title) => section(column(image('padding="0"'), 'width="35%"') + column(text(`<h2>${title}</h2><p>${LOREM}</p>${link(`news/${title}`, 'Read on')}`), 'width="65%"'))).join('<mj-section padding="0"><mj-column><mj-divider border-width="1px"/></mj-column></mj-section>'),
  conditional: () => `<mj-raw><!--[if mso]><table width="600"><tr><td><a href="https://shop.example.com/outlook">Outlook</a></td></tr></table><![endif]--></mj-raw>${section(column(text(LOREM)))}`,
  breakpoints: () => section(column(text('Narrow'), 'width="25%" css-class="last"') + column(text(link('wide', 'Wide')), 'width="75%"')),
  inline_style: () => section(column(text(`<p class="notice">${LOREM}</p><a class="notice" href="https://shop.example.com/styled">Styled</a>`))),
};

const document_of = (theme, inner) => `<mjml><mj-head><mj-title>Acme</mj-title><mj-preview>A preview of the email</mj-preview><mj-breakpoint width="480px"/>
<mj-attributes><mj-all font-family="${theme.font}"/><mj-text color="${theme.ink}" font-size="15px" line-height="22px"/><mj-section background-color="${theme.box}" padding="${theme.pad}"/><mj-button background-color="${theme.accent}" border-radius="${theme.radius}"/></mj-attributes>
<mj-style>a { color: ${theme.accent} } .last a:last-child { font-weight: bold } @media (prefers-color-scheme: dark) { .notice { color: #ffffff !important } }</mj-style>
<mj-style inline="inline">.notice { border-left: 4px solid ${theme.accent}; padding-left: 8px }</mj-style></mj-head>
<mj-body background-color="${theme.body}" width="600px">${inner}${footer}</mj-body></mjml>`;

/** Returns html with numbers instead of the random names that MJML gives to carousels and menus. */
function withFixedNames(html) {
  const names = [...new Set(html.match(/\b[0-9a-f]{16}\b/g) ?? [])];
  return names.reduce((text, name, at) => text.replaceAll(name, String(at + 1).padStart(16, '0')), html);
}

const rendered = [];
for (const [layout, sections] of Object.entries(LAYOUTS)) {
  for (const [name, theme] of Object.entries(THEMES)) {
    const { html, errors } = await render(document_of(theme, sections(theme)), { validationLevel: 'soft', fonts: {} });
    if (errors?.length > 0) throw new Error(`${layout}: ${errors.map((error) => error.formattedMessage ?? error.message).join('; ')}`);
    rendered.push({ file: `mjml-${layout.replaceAll('_', '-')}-${name}.html`, origin: `own template, mjml@${version}`, licence: 'MIT', html: withFixedNames(html) });
  }
}
process.stdout.write(JSON.stringify(rendered));

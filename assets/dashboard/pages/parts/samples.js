// The setting and the program of each SDK. tests/clients/samples runs these texts, so this file imports nothing.

/**
 * `variable` has the address, `seen` are the names that `GET /connect` gives the SDK, and `code` sends an email.
 * `slash`: the address ends with one, because the SDK adds its paths without it.
 * @typedef {{ id: string, label: string, seen: string[], variable: string | null, slash?: boolean, code: (from: string, base: string, key: string) => string }} Sdk
 */

/** The settings of an SDK, for a shell. curl has the whole request. @param {Sdk} sdk @param {string} base @param {string} key @param {string} [from] */
export function settingOf({ variable, slash, code }, base, key, from = 'hello@example.com') {
  return variable === null ? code(from, base, key) : `${variable}=${slash ? `${base.replace(/\/$/, '')}/` : base} RESEND_API_KEY=${key}`;
}

/** The same settings, each on a line. @param {Sdk} sdk @param {string} base @param {string} key */
export const exportsOf = (sdk, base, key) => `export ${settingOf(sdk, base, key).replace(' ', '\nexport ')}`;

const URL_NAME = 'RESEND_BASE_URL';

/** @type {Sdk[]} */
export const SDKS = [
  { id: 'node', label: 'Node.js', seen: ['node'], variable: URL_NAME, code: (from) => `import { Resend } from 'resend';
const { data, error } = await new Resend().emails.send({
  from: '${from}',
  to: 'you@example.com',
  subject: 'Hello',
  text: 'It works.',
});` },
  { id: 'python', label: 'Python', seen: ['python'], variable: 'RESEND_API_URL', code: (from) => `import resend
resend.Emails.send({
  'from': '${from}',
  'to': 'you@example.com',
  'subject': 'Hello',
  'text': 'It works.',
})` },
  { id: 'go', label: 'Go', seen: ['go'], variable: URL_NAME, code: (from) => `client := resend.NewClient(os.Getenv("RESEND_API_KEY"))
client.Emails.Send(&resend.SendEmailRequest{
  From:    "${from}",
  To:      []string{"you@example.com"},
  Subject: "Hello",
  Text:    "It works.",
})` },
  { id: 'php', label: 'PHP', seen: ['php', 'laravel'], variable: URL_NAME, code: (from) => `$resend = Resend::client(getenv('RESEND_API_KEY'));
$resend->emails->send([
  'from' => '${from}',
  'to' => ['you@example.com'],
  'subject' => 'Hello',
  'text' => 'It works.',
]);` },
  { id: 'ruby', label: 'Ruby', seen: ['ruby'], variable: URL_NAME, slash: true, code: (from) => `require "resend"
Resend.api_key = ENV["RESEND_API_KEY"]
Resend::Emails.send({
  from: "${from}",
  to: ["you@example.com"],
  subject: "Hello",
  text: "It works."
})` },
  { id: 'rust', label: 'Rust', seen: ['rust'], variable: URL_NAME, code: (from) => `let resend = resend_rs::Resend::default();
let email = CreateEmailBaseOptions::new(
  "${from}", ["you@example.com"], "Hello",
).with_text("It works.");
resend.emails.send(email).await?;` },
  { id: 'curl', label: 'curl', seen: ['curl'], variable: null, code: (from, base, key) => `curl ${base}/emails \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{
    "from": "${from}",
    "to": "you@example.com",
    "subject": "Hello",
    "text": "It works."
  }'` },
];

/** Further clients, with their whole setting. @type {{ label: string, seen: string[], setting: (base: string, key: string, from: string) => string }[]} */
export const OTHERS = [
  { label: '.NET', seen: ['dotnet'], setting: (base, key) => `options.ApiUrl = "${base}"; options.ApiToken = "${key}";` },
  { label: 'Command line', seen: ['resend-cli'], setting: (base, key, from) => `RESEND_BASE_URL=${base} RESEND_API_KEY=${key} resend emails send --from ${from} --to you@example.com --subject Hello --text 'It works.'` },
  { label: 'MCP server', seen: ['resend-mcp'], setting: (base, key) => `"env": { "RESEND_API_KEY": "${key}", "RESEND_BASE_URL": "${base}" }` },
  { label: 'django-anymail', seen: ['anymail'], setting: (base, key) => `ANYMAIL = {"RESEND_API_KEY": "${key}", "RESEND_API_URL": "${base}"}` },
];

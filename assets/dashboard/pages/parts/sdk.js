// How a program sends through this server: the setting of each SDK, with this address and key.

/**
 * `variable` has the address, and `seen` are the names that `GET /connect` gives the SDK.
 * @typedef {{ id: string, label: string, seen: string[], variable: string | null, slash?: boolean, code: (base: string, key: string) => string }} Sdk
 */

/** The address as the SDK wants it: one adds its paths without a slash. @param {Pick<Sdk, 'slash'>} sdk @param {string} base */
function addressFor({ slash }, base) {
  return slash ? `${base.replace(/\/$/, '')}/` : base;
}

/** The settings of an SDK, for a shell. @param {Sdk} sdk @param {string} base @param {string} key */
export function settingOf(sdk, base, key) {
  return sdk.variable === null ? `curl ${base}/emails -H 'Authorization: Bearer ${key}'` : `${sdk.variable}=${addressFor(sdk, base)} RESEND_API_KEY=${key}`;
}

/** @param {string} name @param {string} base @param {string} key */
function env(name, base, key) {
  return `export ${name}='${base}'\nexport RESEND_API_KEY='${key}'\n\n`;
}

const URL_NAME = 'RESEND_BASE_URL';

/** @type {Sdk[]} */
export const SDKS = [
  { id: 'node', label: 'Node.js', seen: ['node'], variable: URL_NAME, code: (base, key) => `${env(URL_NAME, base, key)}import { Resend } from 'resend';
const { data, error } = await new Resend().emails.send({
  from: 'hello@example.com',
  to: 'you@example.com',
  subject: 'Hello',
  text: 'It works.',
});` },
  { id: 'python', label: 'Python', seen: ['python'], variable: 'RESEND_API_URL', code: (base, key) => `${env('RESEND_API_URL', base, key)}import resend
resend.Emails.send({
  'from': 'hello@example.com',
  'to': 'you@example.com',
  'subject': 'Hello',
  'text': 'It works.',
})` },
  { id: 'go', label: 'Go', seen: ['go'], variable: URL_NAME, code: (base, key) => `${env(URL_NAME, base, key)}client := resend.NewClient(os.Getenv("RESEND_API_KEY"))
client.Emails.Send(&resend.SendEmailRequest{
  From:    "hello@example.com",
  To:      []string{"you@example.com"},
  Subject: "Hello",
  Text:    "It works.",
})` },
  { id: 'php', label: 'PHP', seen: ['php', 'laravel'], variable: URL_NAME, code: (base, key) => `${env(URL_NAME, base, key)}$resend = Resend::client(getenv('RESEND_API_KEY'));
$resend->emails->send([
  'from' => 'hello@example.com',
  'to' => ['you@example.com'],
  'subject' => 'Hello',
  'text' => 'It works.',
]);` },
  { id: 'ruby', label: 'Ruby', seen: ['ruby'], variable: URL_NAME, slash: true, code: (base, key) => `${env(URL_NAME, addressFor({ slash: true }, base), key)}require "resend"
Resend.api_key = ENV["RESEND_API_KEY"]
Resend::Emails.send({
  from: "hello@example.com",
  to: ["you@example.com"],
  subject: "Hello",
  text: "It works."
})` },
  { id: 'rust', label: 'Rust', seen: ['rust'], variable: URL_NAME, code: (base, key) => `${env(URL_NAME, base, key)}let resend = resend_rs::Resend::default();
let email = CreateEmailBaseOptions::new(
  "hello@example.com", ["you@example.com"], "Hello",
).with_text("It works.");
resend.emails.send(email).await?;` },
  { id: 'curl', label: 'curl', seen: ['curl'], variable: null, code: (base, key) => `curl ${base}/emails \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{
    "from": "hello@example.com",
    "to": "you@example.com",
    "subject": "Hello",
    "text": "It works."
  }'` },
];

/** Further clients, with their whole setting. @type {{ label: string, seen: string[], setting: (base: string, key: string) => string }[]} */
export const OTHERS = [
  { label: '.NET', seen: ['dotnet'], setting: (base, key) => `options.ApiUrl = "${base}"; options.ApiToken = "${key}";` },
  { label: 'Command line', seen: ['resend-cli'], setting: (base, key) => `RESEND_BASE_URL=${base} RESEND_API_KEY=${key} resend emails list` },
  { label: 'MCP server', seen: ['resend-mcp'], setting: (base, key) => `"env": { "RESEND_API_KEY": "${key}", "RESEND_BASE_URL": "${base}" }` },
  { label: 'django-anymail', seen: ['anymail'], setting: (base, key) => `ANYMAIL = {"RESEND_API_KEY": "${key}", "RESEND_API_URL": "${base}"}` },
];

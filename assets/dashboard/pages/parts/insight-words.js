// Deliverability in words: the band of a score, the checks of the content of an email, and what to do after a failure.
import { pill } from '../../components/pill.js';

/** @type {Record<string, [name: string, advice: string]>} */
const CHECKS = {
  dmarc_record: ['DMARC record', 'Publish a DMARC record for the domain of the sender. The page of the domain shows it.'],
  auth_alignment: ['Signed by the sender', 'Sign with the domain of the From address, so that mailbox providers can connect the two.'],
  list_unsubscribe: ['Unsubscribe headers', 'Send it as a broadcast or with a topic: Ringmail then adds both headers, and mail programs show an unsubscribe button.'],
  link_domains_match: ['Links to your own domain', 'Lead at least one link to the domain of the sender. Mail whose links all lead elsewhere looks forged.'],
  no_shorteners: ['No link shorteners', 'Write out the addresses. Shorteners hide the target, and share the reputation of everybody who uses them.'],
  body_size: ['Size of the HTML', 'Make the HTML smaller than 102,400 bytes. Gmail cuts the rest off, with the unsubscribe link.'],
  plain_text: ['Text part', 'Add a text part with the same message. Some readers and many filters look at nothing else.'],
  visible_unsubscribe: ['Visible unsubscribe link', 'Show an unsubscribe link near the end of the message, before Gmail cuts it off.'],
  phishing_links: ['Honest links', 'Let the text of each link match its target: no bare IP address, no other domain, and no https before an http link.'],
  no_reply_from: ['Sender that can be answered', 'Use an address that somebody reads. Answers are a good sign to mailbox providers.'],
  svg_images: ['No SVG images', 'Use PNG or JPEG. Most mail programs show no SVG, and filters distrust it.'],
  attachments_marketing: ['No attachments', 'Link to the file. Attachments to many recipients often count as spam.'],
  image_text_ratio: ['Text beside images', 'Say in words what the images show: at least 100 visible characters.'],
  tracking_unbranded: ['Own tracking host', 'Set a tracking subdomain for the domain and publish its record, so that links stay on your own domain.'],
  root_domain_send: ['Subdomain as the sender', 'Send marketing from a subdomain, such as news.example.com. It keeps the reputation of the main domain apart.'],
  insecure_links: ['Links with https', 'Change each http link to https.'],
  subject_lint: ['Calm subject', 'Write the subject without capitals throughout and without rows of ! or ?.'],
  image_alt_text: ['Alternative texts', 'Give each image an alternative text for people who do not see it.'],
  images_offsite: ['Images on your own domain', 'Serve images from the domain of the sender.'],
  bimi_ready: ['BIMI', 'With a DMARC policy of quarantine or reject, a BIMI record shows your logo in the inbox.'],
  reply_to_present: ['Reply-To', 'Add a Reply-To address if answers belong to another mailbox.'],
};

/** The name of a check. @param {string} check */
export function checkName(check) {
  return CHECKS[check]?.[0] ?? check.replaceAll('_', ' ');
}

/** The next step after a failure of a check. @param {string} check */
export function checkAdvice(check) {
  return CHECKS[check]?.[1] ?? '';
}

/** Word and look of each band. @type {Record<string, [string, import('../../components/pill.js').PillLook]>} */
const BANDS = { excellent: ['Excellent', { tone: 'green' }], good: ['Good', { tone: 'green' }], needs_attention: ['Needs attention', { tone: 'amber', fill: true }], at_risk: ['At risk', { tone: 'red', fill: true }] };

/** The pill of the band of a score. @param {string | null} band */
export function bandPill(band) {
  const [word, look] = BANDS[band ?? ''] ?? ['No score', { hollow: true }];
  return pill(word, look);
}

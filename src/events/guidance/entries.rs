//! The texts of guidance.

use super::Guidance;
use super::GuidanceCategory::{self, Content, Policy, Provider, Recipient, Reputation, Transient, Unknown};

const fn entry(
    category: GuidanceCategory,
    title: &'static str,
    explanation: &'static str,
    action: &'static str,
) -> Guidance {
    Guidance { category, title, explanation, action }
}

pub(super) static APPLE_PRIVATE_RELAY: Guidance = entry(
    Provider,
    "Apple's private relay refused the email",
    "The address forwards to a user of Sign in with Apple. Apple forwards mail only of senders that the developer of the app has registered.",
    "Register the domain of the sender in the Apple developer account, and make sure that SPF passes for it.",
);
pub(super) static ICLOUD: Guidance = entry(
    Provider,
    "iCloud refuses the sender",
    "iCloud refused the message because of a policy or of the reputation of the sender.",
    "Check the DNS records of the domain and send only to people who asked for it. If the refusals continue, write to Apple's postmaster: https://support.apple.com/en-us/102322.",
);
pub(super) static GMAIL_AUTHENTICATION: Guidance = entry(
    Provider,
    "Gmail could not authenticate the sender",
    "Gmail accepts mail only if SPF or DKIM passes for the domain of the sender, and its DMARC policy allows the message.",
    "Verify the DNS records of the domain again. If a smarthost sends the mail, make sure that it does not change the message.",
);
pub(super) static MICROSOFT_BLOCK: Guidance = entry(
    Reputation,
    "Microsoft blocks the source address",
    "The IP address that sends the mail is on a blocklist of Microsoft, alone or with its network.",
    "Request the removal at https://sender.office.com/, and for Outlook.com at https://sendersupport.olc.protection.outlook.com/pm/.",
);

pub(super) static BLOCKED: Guidance = entry(
    Reputation,
    "The server refuses the source address",
    "The mail server of the recipient refuses mail of this server, for its reputation, its DNS records or a blocklist.",
    "Read the reply. If it names a blocklist or a page, ask the operator to follow it.",
);
pub(super) static REVERSE_DNS: Guidance = entry(
    Reputation,
    "The source address has no reverse DNS",
    "The name that belongs to the IP address of this server is missing, or does not lead back to the address.",
    "Ask the operator to set the PTR record at the hosting provider, and to check it with `ringmail doctor`.",
);

pub(super) static NO_MAILBOX: Guidance = entry(
    Recipient,
    "The mailbox does not exist",
    "The mail server of the recipient does not know the address.",
    "Look for a typing error in the address. If the address is right, remove it from your lists.",
);
pub(super) static NO_DOMAIN: Guidance = entry(
    Recipient,
    "The domain does not exist",
    "The domain of the address has no DNS records for mail.",
    "Look for a typing error after the @. If the address is right, remove it from your lists.",
);
pub(super) static DISABLED: Guidance = entry(
    Recipient,
    "The mailbox is disabled",
    "The mailbox exists, but it does not accept mail.",
    "Ask the recipient for another address, or remove the address from your lists.",
);
pub(super) static FULL: Guidance = entry(
    Recipient,
    "The mailbox is full",
    "The recipient has no space left for mail.",
    "Try again in a few days. A mailbox that stays full is not read any more: remove the address from your lists.",
);
pub(super) static NO_MAIL_SERVER: Guidance = entry(
    Recipient,
    "The domain has no mail server",
    "The mail servers of the domain could not be found in its DNS records.",
    "Look for a typing error after the @. If the address is right, ask the recipient for another address.",
);
pub(super) static NULL_MX: Guidance = entry(
    Recipient,
    "The domain accepts no mail",
    "The DNS records of the domain say that it has no mailboxes (RFC 7505).",
    "Look for a typing error after the @. If the address is right, remove it from your lists.",
);
pub(super) static TOO_LARGE: Guidance = entry(
    Content,
    "The message is too large",
    "The mail server of the recipient accepts only smaller messages.",
    "Send a smaller message, or a link instead of the attachments.",
);
pub(super) static CONTENT: Guidance = entry(
    Content,
    "The content was rejected",
    "A filter of the recipient's mail server found something in the message that it does not accept.",
    "Read the reply of the server, check the links and the wording, and send a test to another address of the same provider.",
);
pub(super) static ATTACHMENT: Guidance = entry(
    Content,
    "An attachment was rejected",
    "The mail server of the recipient does not accept an attachment of this kind.",
    "Send the file in another format, or a link to it.",
);
pub(super) static AUTHENTICATION: Guidance = entry(
    Policy,
    "The sender could not be authenticated",
    "SPF, DKIM or DMARC did not pass at the mail server of the recipient.",
    "Verify the DNS records of the domain again, and correct those that differ.",
);
pub(super) static POLICY: Guidance = entry(
    Policy,
    "A rule of the receiver refused the email",
    "The mail server of the recipient refused the message because of a rule about the sender, the content or the address.",
    "Read the reply of the server. If it names a blocklist or a page, follow it; otherwise ask the recipient to allow the sender.",
);
pub(super) static ADDRESS_NOT_SUPPORTED: Guidance = entry(
    Recipient,
    "The server does not support the address",
    "The address has letters outside ASCII before the @, and the mail server of the recipient does not offer SMTPUTF8.",
    "Ask the recipient for an address without such letters.",
);
pub(super) static GREYLISTED: Guidance = entry(
    Transient,
    "The server asks to try later",
    "Many servers defer the first message of a sender that they do not know, or too many messages in a short time.",
    "Wait: the message is tried again by itself.",
);
pub(super) static TRANSIENT: Guidance = entry(
    Transient,
    "The server refused the email for now",
    "The mail server of the recipient has a temporary problem.",
    "Wait for the next attempt. If the refusal continues for days, read the reply of the server.",
);
pub(super) static UNREACHABLE: Guidance = entry(
    Transient,
    "The server could not be reached",
    "No mail server of the recipient's domain answered, or the connection ended early.",
    "Wait if other mail is delivered. If no mail is, ask the operator to run `ringmail doctor`: outbound port 25 may be closed.",
);
pub(super) static NO_LOOKUP: Guidance = entry(
    Transient,
    "The domain could not be looked up",
    "No DNS server answered, so that the mail servers of the domain are not known.",
    "Wait if other mail is delivered. If no mail is, ask the operator to run `ringmail doctor` and to check the resolver.",
);
pub(super) static NO_TLS: Guidance = entry(
    Policy,
    "The connection cannot be encrypted",
    "Mail to this domain needs TLS, and the mail server of the recipient does not offer it or its TLS fails.",
    "Ask the operator whether the domain must stay on the list of `--require-tls`.",
);
pub(super) static HELD: Guidance = entry(
    Transient,
    "The email waits in the queue",
    "No attempt was made: mail for this destination is paused, slowed, or behind other mail.",
    "Read the reason of the wait, which names its end if that is known.",
);
pub(super) static EXPIRED: Guidance = entry(
    Transient,
    "The retries ended",
    "The mail server of the recipient refused every attempt for now, or never answered, until the delivery time expired (4.4.7).",
    "Read the last reply. If other mail to the same provider arrives, send the message again.",
);
pub(super) static UNROUTABLE: Guidance = entry(
    Recipient,
    "The domain has no usable mail server",
    "The mail servers of the domain are this server, or have private addresses, to which nothing is sent.",
    "Look for a typing error after the @. For a domain of your own network, set a route.",
);
pub(super) static CONTENT_REMOVED: Guidance = entry(
    Content,
    "The content was deleted",
    "The content was deleted by retention or by request before the message could be delivered.",
    "Send the email again. If retention deletes mail that waits, raise the time that it keeps content.",
);
pub(super) static DOMAIN_REMOVED: Guidance = entry(
    Policy,
    "The domain of the sender was deleted",
    "The domain of the sender was deleted before the message could be delivered, so that it cannot be signed.",
    "Add the domain again, verify it, and send the email again.",
);
pub(super) static INVALID_MESSAGE: Guidance = entry(
    Content,
    "The message cannot be composed",
    "A stored field of the email is not valid in a message.",
    "Correct the field that the reason names, and send the email again.",
);
pub(super) static DROPPED: Guidance = entry(
    Policy,
    "The operator gave up the email",
    "The email was deleted from the queue with `ringmail queue drop`.",
    "Ask the operator of the server for the reason.",
);
pub(super) static SUPPRESSED_ELSEWHERE: Guidance = entry(
    Recipient,
    "The relay suppresses the address",
    "The service that relays the mail has the address on its own suppression list.",
    "Remove the address from the list of that service if the recipient wants the mail.",
);
pub(super) static PERMANENT: Guidance = entry(
    Recipient,
    "The address was refused permanently",
    "The mail server of the recipient accepts no mail for the address.",
    "Remove the address from your lists, or ask the recipient for another one.",
);
pub(super) static UNKNOWN: Guidance = entry(
    Unknown,
    "The reason is not known",
    "The reply of the server does not say why it refused the message.",
    "Read the reply and the SMTP conversation of the attempt. If it happens again, ask the recipient.",
);

pub(super) static COMPLAINT_ABUSE: Guidance = entry(
    Reputation,
    "The recipient reported the email as spam",
    "Providers lower the reputation of a sender whose mail is reported.",
    "Send only to people who asked for it, and make the unsubscribe link easy to find.",
);
pub(super) static COMPLAINT_AUTHENTICATION: Guidance = entry(
    Policy,
    "The report says that authentication failed",
    "A receiver reported that SPF, DKIM or DMARC did not pass for the message.",
    "Verify the DNS records of the domain again. If you did not send the message, another sender used your domain.",
);
pub(super) static COMPLAINT_FRAUD: Guidance = entry(
    Reputation,
    "The recipient reported the email as fraud",
    "The message looks like phishing to its recipient.",
    "Check who sent it. Use links to your own domain only, and say in the message why the recipient gets it.",
);
pub(super) static COMPLAINT_NOT_SPAM: Guidance = entry(
    Reputation,
    "The recipient reported that the email is no spam",
    "The message was in the spam folder, and its recipient moved it out.",
    "If the recipient wants further mail, remove the address from the suppression list.",
);
pub(super) static COMPLAINT_VIRUS: Guidance = entry(
    Content,
    "The report says that the email has a virus",
    "A receiver found malware in the message, or in a page that it links to.",
    "Check the attachments and the linked pages, and revoke the API key if you did not send the message.",
);
pub(super) static COMPLAINT_OTHER: Guidance = entry(
    Unknown,
    "The email was reported",
    "The recipient or a provider reported the message for a reason without a known name.",
    "Read the report, and send only to people who asked for it.",
);

"""Composed messages in the maildirs of the mail servers: unchanged, signed and within the limits of RFC 5322."""

import base64
import email as email_parser
import email.policy as email_policy
import re

from server import DOMAIN
from signatures import check_both_signatures, published_keys
from world import INTERNATIONAL, PLAIN

from cases import case, case_of_each_server, equal

LONG_LINE = "word " * 900
DOTS = ".\n..\n.leading\n.\r\n\n.\nQUIT\nafter the single dots\n"
BINARY = bytes(range(256)) * 40


def delivered(world, server, **fields):
    """Sends an email to a mail server in direct mode. Returns the message from its maildir, raw and parsed."""
    to = world.recipient(server.address)
    sent = world.direct.send([to], **fields)
    world.direct.wait_for(sent, "delivered")
    message = server.wait_for_message(to)
    check_both_signatures(message.content, published_keys(world.direct, DOMAIN))
    check_wire_form(message.content)
    equal(len(server.messages(to)), 1, "messages in the maildir")
    return message, email_parser.message_from_bytes(message.content, policy=email_policy.default)


def check_wire_form(content):
    """Asserts RFC 5322 §2.1.1 and §2.3: lines of at most 998 octets, CRLF line ends, ASCII only."""
    assert max(len(line) for line in content.split(b"\r\n")) <= 998, "a line has more than 998 octets"
    assert not re.search(rb"\r(?!\n)", content), "the message contains a bare CR"
    content.decode("ascii")
    head = content.split(b"\r\n\r\n", 1)[0].lower()
    for name in (b"date", b"message-id", b"mime-version", b"from", b"to", b"subject"):
        equal(len(re.findall(rb"(?m)^" + name + rb":", head)), 1, f"headers named {name.decode()}")
    assert not re.search(rb"(?m)^bcc:", head), "the message has a Bcc header"


def text_of(message, kind):
    part = message.get_body((kind,))
    text = part.get_content().replace("\r\n", "\n")
    # RFC 2046 §5.1.1: the line break before a boundary is part of the boundary.
    return text if text.endswith("\n") else text + "\n"


@case_of_each_server
def a_plain_message_arrives_signed(world, server):
    message, parsed = delivered(world, server, subject="Plain", text="Hello.\n")

    equal(text_of(parsed, "plain"), "Hello.\n", "text")
    equal(parsed["subject"], "Plain", "subject")
    assert re.fullmatch(r"<[^@<>]+@" + re.escape(DOMAIN) + ">", parsed["message-id"]), parsed["message-id"]
    assert message.sender.endswith("." + DOMAIN) or message.sender.endswith("@" + DOMAIN), message.sender


@case_of_each_server
def a_multipart_message_arrives_signed(world, server):
    _, parsed = delivered(world, server, subject="Both", text="Hello.\n", html="<p>Hello.</p>\n")

    equal(parsed.get_content_type(), "multipart/alternative", "type")
    equal(text_of(parsed, "plain"), "Hello.\n", "text")
    equal(text_of(parsed, "html"), "<p>Hello.</p>\n", "html")


@case_of_each_server
def text_is_derived_from_html(world, server):
    _, parsed = delivered(world, server, subject="Html only", html="<h1>Title</h1><p>One <b>word</b>.</p>")

    assert "One" in text_of(parsed, "plain") and "<" not in text_of(parsed, "plain")


@case_of_each_server
def an_attachment_arrives_byte_for_byte(world, server):
    attachments = [
        {"filename": "bytes.bin", "content": base64.b64encode(BINARY).decode()},
        {
            "filename": "résumé.txt",
            "content": base64.b64encode("Grüße".encode()).decode(),
            "content_type": "text/plain",
        },
    ]

    _, parsed = delivered(world, server, subject="Attached", text="See attachment.\n", attachments=attachments)

    found = {part.get_filename(): part.get_payload(decode=True) for part in parsed.iter_attachments()}
    equal(found, {"bytes.bin": BINARY, "résumé.txt": "Grüße".encode()}, "attachments")


@case_of_each_server
def long_lines_are_folded_and_unfold_to_the_same_text(world, server):
    _, parsed = delivered(world, server, subject="Long " * 60, text=LONG_LINE + "\nend\n", html=f"<p>{LONG_LINE}</p>")

    equal(text_of(parsed, "plain"), LONG_LINE + "\nend\n", "text")
    equal(parsed["subject"].split(), ["Long"] * 60, "subject")


@case_of_each_server
def utf8_text_subject_and_names_arrive(world, server):
    text = "Grüße aus Köln — 東京で、Ελλάδα 🎉\n"

    _, parsed = delivered(world, server, **{"from": f"Jürgen Müller <jm@{DOMAIN}>", "subject": text.strip(), "text": text})

    equal(text_of(parsed, "plain"), text, "text")
    equal(parsed["subject"], text.strip(), "subject")
    equal(parsed["from"].addresses[0].display_name, "Jürgen Müller", "sender")


@case
def an_address_in_utf8_is_sent_raw_only_to_a_server_with_smtputf8(world):
    raw, plain = world.site(INTERNATIONAL), world.site(PLAIN)
    there, here, both = f"用户@{raw}", f"用户@{plain}", f"ann@{plain}"

    email = world.direct.send([there, here], cc=[both])

    outcome = {there: "delivered", here: "failed", both: "delivered"}
    read = world.direct.wait_for_recipients(email, outcome)
    [failed] = [event for event in read["events"] if event["type"] == "email.failed"]
    equal((failed["to"], failed["failed"]["reason"]), ([here], "address_not_supported"), "the failure")
    [international] = world.faults.accepted(there)
    assert {"SMTPUTF8", "BODY=8BITMIME"} <= set(international.mail_options), international.mail_options
    assert there.encode() in international.content, "the address is not in UTF-8"
    [ascii_only] = world.faults.accepted(both)
    equal([option for option in ascii_only.mail_options if not option.startswith("SIZE=")], [], "parameters of MAIL")
    check_wire_form(ascii_only.content)
    parsed = email_parser.message_from_bytes(ascii_only.content, policy=email_policy.default)
    equal([group.display_name for group in parsed["to"].groups], [there, here], "groups in To")
    equal(parsed["to"].addresses, (), "addresses in To")
    equal([address.addr_spec for address in parsed["cc"].addresses], [both], "addresses in Cc")
    for one in (international, ascii_only):
        check_both_signatures(one.content, published_keys(world.direct, DOMAIN))


@case_of_each_server
def lines_with_a_single_dot_do_not_end_the_message(world, server):
    _, parsed = delivered(world, server, subject="Dots", text=DOTS)

    equal(text_of(parsed, "plain"), DOTS.replace("\r\n", "\n"), "text")


@case_of_each_server
def trailing_whitespace_does_not_break_the_signature(world, server):
    delivered(world, server, subject="Tail", text="text\n  \n\t\n \n", html="<p>x</p>\n   \n")


@case_of_each_server
def an_allowed_header_arrives_once(world, server):
    _, parsed = delivered(world, server, subject="Headers", headers={"X-Entity-Ref-ID": "42", "Organization": "Example"})

    equal(parsed.get_all("X-Entity-Ref-ID"), ["42"], "X-Entity-Ref-ID")
    equal(parsed.get_all("Organization"), ["Example"], "Organization")


@case_of_each_server
def an_unsubscribe_pair_is_signed(world, server):
    pair = {
        "List-Unsubscribe": "<https://example.com/u/1>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }

    message, parsed = delivered(world, server, subject="List", headers=pair)

    equal(parsed["List-Unsubscribe"], pair["List-Unsubscribe"], "List-Unsubscribe")
    # RFC 8058 §4: both headers must be covered by a signature.
    signed = re.findall(rb"(?is)^DKIM-Signature:.*?h=([^;]+);", message.content)
    assert b"list-unsubscribe-post" in signed[0].lower().replace(b"\r\n", b"").replace(b" ", b"").split(b":")

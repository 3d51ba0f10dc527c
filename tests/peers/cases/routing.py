"""Routing from a domain to a host: MX order, implicit MX, null MX, aliases, failing lookups."""

from names import MX
from server import Refused
from world import NO_LISTENER, PLAIN, SECOND

from cases import case, equal


def delivered_at(world, to, seconds=60):
    """Sends one email. Returns the address of the peer that accepted it."""
    email = world.direct.send([to])
    world.direct.wait_for(email, "delivered", seconds)
    accepted = world.faults.accepted(to)
    equal(len(accepted), 1, "messages at the peers")
    return accepted[0].address


@case
def the_lowest_preference_is_tried_first(world):
    domain = f"{world.unique()}.test"
    world.names.mail_host(domain, SECOND, preference=20, host=f"b.{domain}")
    world.names.mail_host(domain, PLAIN, preference=10, host=f"a.{domain}")

    equal(delivered_at(world, f"ann@{domain}"), PLAIN, "the host")


@case
def an_unreachable_first_host_is_followed_by_the_second(world):
    domain = f"{world.unique()}.test"
    world.names.mail_host(domain, NO_LISTENER, preference=10, host=f"a.{domain}")
    world.names.mail_host(domain, SECOND, preference=20, host=f"b.{domain}")

    equal(delivered_at(world, f"ann@{domain}"), SECOND, "the host")


@case
def an_mx_name_without_an_address_is_followed_by_the_next(world):
    domain = f"{world.unique()}.test"
    world.names.add(domain, MX(f"gone.{domain}.", 10))
    world.names.mail_host(domain, SECOND, preference=20, host=f"b.{domain}")

    equal(delivered_at(world, f"ann@{domain}"), SECOND, "the host")


@case
def a_domain_without_mx_is_its_own_mail_host(world):
    # RFC 5321 §5.1: implicit MX.
    domain = f"{world.unique()}.test"
    world.names.host(domain, PLAIN)

    equal(delivered_at(world, f"ann@{domain}"), PLAIN, "the host")


@case
def an_unresolvable_mx_does_not_fall_back_to_the_address_record(world):
    # RFC 5321 §5.1: if a domain has MX records, its own address is not a mail host.
    domain = f"{world.unique()}.test"
    world.names.add(domain, MX(f"gone.{domain}.", 10))
    world.names.host(domain, PLAIN)
    to = f"ann@{domain}"

    email = world.direct.send([to])

    world.direct.wait_for(email, ["delivery_delayed", "bounced", "failed"])
    equal(world.faults.received(to), [], "messages at the address record")


@case
def a_null_mx_bounces_without_an_address_lookup(world):
    domain = f"{world.unique()}.test"
    world.names.refuse_mail(domain)
    world.names.host(domain, PLAIN)
    to = f"ann@{domain}"

    email = world.direct.send([to])

    world.direct.wait_for(email, "bounced")
    equal(world.faults.received(to), [], "messages at the address record")
    assert "A" not in world.names.questions(domain), "the address was looked up"


@case
def an_unknown_domain_bounces_and_is_suppressed_after_a_second_lookup(world):
    domain = f"{world.unique()}-nowhere.test"
    to = f"ann@{domain}"

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.direct.wait_for(email, "bounced")
    assert world.names.questions(domain).count("MX") >= 2, "the domain was looked up once"
    assert is_suppressed(world, to), "the address is not suppressed"


@case
def a_domain_that_exists_at_the_second_lookup_gets_its_email(world):
    domain = f"{world.unique()}-back.test"
    to = f"ann@{domain}"

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.names.mail_host(domain, PLAIN)
    world.direct.wait_for(email, "delivered")
    equal(len(world.faults.accepted(to)), 1, "messages at the peer")


@case
def an_mx_name_without_an_address_bounces_after_a_second_lookup(world):
    domain = f"{world.unique()}.test"
    world.names.add(domain, MX(f"gone.{domain}.", 10))
    to = f"ann@{domain}"

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.direct.wait_for(email, "bounced")
    assert is_suppressed(world, to), "the address is not suppressed"


@case
def an_mx_name_that_has_an_address_at_the_second_lookup_gets_its_email(world):
    domain = f"{world.unique()}.test"
    world.names.add(domain, MX(f"late.{domain}.", 10))
    to = f"ann@{domain}"

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.names.host(f"late.{domain}", PLAIN)
    world.direct.wait_for(email, "delivered")


@case
def a_domain_whose_host_is_the_sending_server_fails_without_suppressing(world):
    domain = f"{world.unique()}.test"
    world.names.add(domain, MX(f"{world.direct.delivery.hostname}.", 10))
    to = f"ann@{domain}"

    email = world.direct.send([to])

    assert "is this server" in failure(world, email), "the reason does not name the loop"
    assert not is_suppressed(world, to), "the address is suppressed"


@case
def a_domain_with_a_private_address_fails_without_suppressing(world):
    domain = f"{world.unique()}.test"
    world.names.mail_host(domain, "10.0.0.1")
    to = f"ann@{domain}"

    email = world.direct.send([to])

    assert "private or reserved" in failure(world, email), "the reason does not name the addresses"
    assert not is_suppressed(world, to), "the address is suppressed"


def is_suppressed(world, address):
    """Returns whether a new email to an address is refused because of a suppression."""
    try:
        world.direct.send([address])
    except Refused as refusal:
        equal((refusal.status, refusal.body["name"]), (422, "all_recipients_suppressed"), "the refusal")
        return True
    return False


def failure(world, email):
    """Waits until an email fails as unroutable. Returns the diagnostic text of the event."""
    read = world.direct.wait_for(email, "failed")
    [event] = [event for event in read["events"] if event["type"] == "email.failed"]
    equal(event["failed"]["reason"], "unroutable", "the reason")
    return str(event)


@case
def a_failing_name_server_delays_the_email(world):
    domain = world.site(PLAIN)
    world.names.fail(domain)
    to = f"ann@{domain}"

    email = world.direct.send([to])

    world.direct.wait_for(email, "delivery_delayed")
    world.names.recover(domain)
    world.direct.wait_for(email, "delivered", seconds=60)
    equal(len(world.faults.accepted(to)), 1, "messages at the peer")


@case
def an_mx_that_is_an_alias_is_followed(world):
    # RFC 5321 §5.1 forbids an alias here, but it is common.
    domain = f"{world.unique()}.test"
    world.names.add(domain, MX(f"alias.{domain}.", 10))
    world.names.alias(f"alias.{domain}", f"real.{domain}")
    world.names.host(f"real.{domain}", PLAIN)

    equal(delivered_at(world, f"ann@{domain}"), PLAIN, "the host")


@case
def a_domain_that_is_an_alias_is_followed(world):
    target, domain = world.site(PLAIN), f"{world.unique()}.test"
    world.names.alias(domain, target)

    equal(delivered_at(world, f"ann@{domain}"), PLAIN, "the host")

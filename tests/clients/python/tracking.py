"""Opens and clicks of a broadcast: the pixel and the link of the message, requested as a browser does."""

import re

import requests
import resend

from check import UUID, assert_equal, assert_matches

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0"
LINK = "https://shop.example/{{{FIRST_NAME|you}}}?order=42&item=1"
HTML = f'<p><a href="{LINK.replace("&", "&amp;")}">Your order</a></p>'


def run(suite):
    ada, bob = (f"python-{suite.label}-{name}@tracked.example.net" for name in ("ada", "bob"))
    segment = suite.data("segments.create", {"name": "Python tracked"})["id"]
    suite.data("contacts.create", {"email": ada, "first_name": "Ada", "segments": [{"id": segment}]})
    suite.data("contacts.create", {"email": bob, "segments": [{"id": segment}]})
    domain = next(row["id"] for row in suite.data("domains.list")["data"] if row["name"] == "example.com")
    suite.data("domains.update", {"id": domain, "open_tracking": True, "click_tracking": True})
    try:
        opened_and_clicked(suite, segment, ada, bob)
    finally:
        suite.data("domains.update", {"id": domain, "open_tracking": False, "click_tracking": False})


def opened_and_clicked(suite, segment, ada, bob):
    draft = {"segment_id": segment, "from": "sender@example.com", "subject": "Tracked", "html": HTML, "send": True}
    broadcast = suite.data("broadcasts.create", draft)["id"]

    def rows(kind):
        return suite.data("broadcasts.recipients", broadcast, {"type": kind})["data"]

    def both(kind):
        found = suite.until(lambda: rows(kind), lambda data: len(data) == 2)
        return {row["email"]: row for row in found}

    delivered = both("delivered")

    def opened():
        assert_equal((rows("opened"), rows("clicked")), ([], []))
        image = hit(tracked_url(ada, "o"))
        assert_equal((image.status_code, image.headers["Content-Type"]), (200, "image/gif"))
        (row,) = suite.until(lambda: rows("opened"), bool)
        assert_matches(UUID, row.pop("contact_id"))
        assert_equal(row, {"id": delivered[ada]["id"], "email": ada, "count": 1})
        assert_equal(rows("clicked"), [])

    def clicked():
        urls = {ada: "https://shop.example/Ada?order=42&item=1", bob: "https://shop.example/you?order=42&item=1"}
        for email, url in urls.items():
            redirect = hit(tracked_url(email, "c"))
            assert_equal((redirect.status_code, redirect.headers["Location"]), (302, url))
        found = both("clicked")
        for email, url in urls.items():
            links = [{"url": url, "clicks": 1}]
            assert_equal((found[email]["count"], found[email]["clicked_links"]), (1, links))
        assert_equal({email: row["count"] for email, row in both("opened").items()}, {ada: 1, bob: 1})

    def links():
        def read():
            return suite.data("broadcasts.clicked_links", broadcast)

        page = suite.until(read, lambda page: page["data"] and page["data"][0]["clicks"] == 2)
        assert_matches(UUID, page["data"][0].pop("id"))
        link = {"url": LINK, "clicks": 2, "unique_clicks": 2}
        assert_equal(page, {"object": "list", "has_more": False, "data": [link]})

    suite.check("broadcasts.recipients", "an open is counted for its recipient", opened)
    suite.check("broadcasts.recipients", "a click is counted with its link, and is an open", clicked)
    suite.check("broadcasts.clicked_links", "one link, with the clicks and the recipients of both", links)


def tracked_url(email, kind):
    """Returns the URL of the pixel ("o") or of the link ("c") in the message to a recipient."""
    (row,) = captured("", {"to": email, "subject": "Tracked", "wait": "60s"})["data"]
    return re.search(rf'"(http[^"]+/t/{kind}/[^"]+)"', captured(f"/{row['id']}")["html"])[1]


def captured(path, query=None):
    """Returns an answer of the built-in mailbox. The SDK has no method for it."""
    headers = {"Authorization": f"Bearer {resend.api_key}"}
    response = requests.get(f"{resend.api_url}/captured{path}", query, headers=headers, timeout=90)
    response.raise_for_status()
    return response.json()


def hit(url):
    """Requests a URL as a browser, and follows no redirect."""
    return requests.get(url, headers={"User-Agent": BROWSER}, allow_redirects=False, timeout=60)

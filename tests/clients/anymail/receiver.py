"""A Django site on loopback with the webhook views of Anymail. It stores the events that Anymail signals."""

import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

from anymail.signals import tracking
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import include, path

from check import api, until

TYPES = [
    f"email.{name}"
    for name in "scheduled sent delivered delivery_delayed bounced complained opened clicked failed".split()
]

urlpatterns = [path("anymail/", include("anymail.urls"))]


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


class Receiver:
    def __enter__(self):
        self.events = []
        self.statuses = []
        application = get_wsgi_application()

        def with_statuses(environment, start_response):
            def start(status, headers, *rest):
                self.statuses.append(int(status.split()[0]))
                return start_response(status, headers, *rest)

            return application(environment, start)

        tracking.connect(self._store)
        self.server = make_server("127.0.0.1", 0, with_statuses, handler_class=QuietHandler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        tracking.disconnect(self._store)
        self.server.shutdown()
        self.server.server_close()

    def _store(self, sender, event, esp_name, **_):
        self.events.append(event)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/anymail/resend/tracking/"

    def of(self, message_id):
        return [event for event in list(self.events) if event.message_id == message_id]

    def headers_of(self, message_id):
        """Returns the custom headers of an email, which are in its events and not in its resource."""
        event = until(lambda: self.of(message_id), bool)[0]
        return {header["name"]: header["value"] for header in event.esp_event["data"]["headers"]}


class Endpoint:
    """A webhook endpoint whose signing secret is in the settings of Anymail."""

    def __init__(self, url):
        made = api("POST", "/webhooks", {"endpoint": url, "events": TYPES})
        self.id = made["id"]
        self.secret = made["signing_secret"]

    def __enter__(self):
        settings.ANYMAIL["RESEND_SIGNING_SECRET"] = self.secret
        return self

    def __exit__(self, *_):
        api("DELETE", f"/webhooks/{self.id}")

    def oldest_attempts(self):
        """Returns the attempts of the oldest delivery that has not succeeded."""
        deliveries = api("GET", f"/webhooks/{self.id}/events")["data"]
        failing = [delivery for delivery in deliveries if delivery["status"] != "success"]
        return api("GET", f"/webhooks/{self.id}/events/{failing[-1]['id']}/attempts")["data"] if failing else []

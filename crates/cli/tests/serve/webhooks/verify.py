"""Checks what a webhook was sent with the library of Standard Webhooks."""

import json, sys
from standardwebhooks.webhooks import Webhook

webhook = Webhook(sys.argv[1])
for line in sys.stdin:
    sent = json.loads(line)
    event = webhook.verify(sent["body"], sent["headers"])
    assert event["id"] == sent["headers"]["webhook-id"], event
    print(event["type"])

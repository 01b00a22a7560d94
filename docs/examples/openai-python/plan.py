"""Plans a party: starts a run, shows what it asks, answers, prints the plan."""

import json
import os

from openai import OpenAI

url = os.environ.get("SIGNOFF_URL", "http://127.0.0.1:8484")
client = OpenAI(base_url=f"{url}/v1", api_key="none")
answers = iter(["The Glasshouse", "yes", "vegan"])

conversation = client.conversations.create()
said = "Plan a party for 30 people"
while True:
    response = client.responses.create(
        model="event_planner", conversation=conversation.id, input=said
    )
    asked = [item for item in response.output if item.type == "function_call"]
    if not asked:
        break
    print("?", json.loads(asked[0].arguments)["prompt"].splitlines()[0])
    said = next(answers)
    print(">", said)
print(response.output_text)
